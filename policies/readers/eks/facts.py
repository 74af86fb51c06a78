"""What no resource of Amazon's carries, from the catalogue: how many GPUs (or AWS chips) a type has, and which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from facts.catalog.gpu_machines import gpu_machines, most_gpus
from facts.concepts.unknown import UNKNOWN, Maybe

CLOUD: Final = "eks"
LABEL_DOMAINS: Final = ("kubernetes.io", "k8s.io", "eks.amazonaws.com", "k8s.aws", "amazonaws.com")

_GPU_FAMILY: Final = re.compile(r"^(p\d|gr?\d)")
_AMD_FAMILIES: Final = ("g4ad",)
# Every other family there is: general purpose, compute, memory, storage, HPC, and accelerators that are no NVIDIA GPUs.
# https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-types.html
_OTHER_FAMILY: Final = re.compile(
    r"^(?:[acmrtdihxfz]\d+[a-z0-9]*(?:-[a-z0-9]+)*|cc\d|cr\d|hs\d|is4gen|im4gn|i[a-z]?\d[a-z0-9]*|hpc\d[a-z]*|u\d*[a-z0-9]*-[a-z0-9]+|"
    r"mac[a-z0-9-]*|trn\d[a-z0-9]*|inf\d[a-z0-9]*|dl\d[a-z0-9]*|vt\d[a-z0-9]*)$"
)
_GPU: Final = re.compile(r"(?:nvidia|aws)-(?P<chip>.+?)(?:-(?P<memory>\d+gb))?")


def gpus_of(instance_type: Maybe[str | None]) -> Maybe[int]:
    """NVIDIA GPUs of an instance type; 0 for types without and for ``None``.

    An unlisted type is never treated as a CPU machine: a type of a GPU family counts as the largest of its family or,
    of a new one, of all families, and a type of an unknown family is ``UNKNOWN``.
    """
    if instance_type is UNKNOWN:
        return UNKNOWN
    if instance_type is None:
        return 0
    known = gpu_machines(CLOUD).get(instance_type)
    if known is not None:
        return known.gpus
    if is_gpu_family(instance_type):
        return most_of(instance_type)
    return 0 if is_other_family(instance_type) else UNKNOWN


def most_of(pattern: str) -> int:
    """The most GPUs of an instance type, or a pattern, by its family; of a new one, by all families."""
    family = pattern.partition(".")[0].rstrip("*")
    return most_gpus(CLOUD, lambda name: name.partition(".")[0] == family)


def is_other_family(pattern: str) -> bool:
    """Whether an instance type, or a pattern such as ``m7i.*``, is of a family that certainly has no NVIDIA GPUs."""
    family = pattern.partition(".")[0].rstrip("*")
    return family in _AMD_FAMILIES or bool(_OTHER_FAMILY.match(family))


def model_of(instance_type: Maybe[str | None]) -> str | None:
    """The GPU model of an instance type, ``None`` where that is not known."""
    return None if instance_type is UNKNOWN else _models().get((instance_type or "").partition(".")[0])


def is_gpu_family(pattern: str) -> bool:
    """Whether an instance type, or a pattern such as ``g5.*``, is of a family with NVIDIA GPUs."""
    family = pattern.partition(".")[0].rstrip("*")
    return bool(_GPU_FAMILY.match(family)) and family not in _AMD_FAMILIES


@cache
def _models() -> Mapping[str, str]:
    """Instance family → the usual name of its GPU, with the memory if the chip exists with several sizes."""
    named = {name: _GPU.fullmatch(machine.gpu) for name, machine in gpu_machines(CLOUD).items()}
    variants = {(match["chip"], match["memory"]) for match in named.values() if match}
    models: dict[str, str] = {}
    for name, match in named.items():
        if match is None:
            continue
        chip, memory = match["chip"], match["memory"]
        several = len([one for one, _ in variants if one == chip]) > 1
        words = " ".join((chip, memory) if several and memory else (chip,)).upper().replace("-", " ")
        family = name.partition(".")[0]
        models[family] = f"part of an {words}" if gpu_machines(CLOUD)[name].part else words
    return models
