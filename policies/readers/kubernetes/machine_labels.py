"""Amazon's and Azure's machines as Karpenter labels them, and whether a NodePool's requirements admit one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from facts import catalog
from facts.catalog.gpu_machines import GpuMachine, gpu_machines
from facts.catalog.model import Machine
from facts.concepts.unknown import UNKNOWN, Maybe, at, both, items
from policies.readers.eks.facts import CLOUD as AMAZON

# Labels that say what an Amazon machine is, in Karpenter's and in EKS Auto Mode's domain.
_AMAZON: Final = re.compile(r"^(?:karpenter\.k8s\.aws|eks\.amazonaws\.com)/(instance-.+)$")
_AZURE: Final = re.compile(r"^karpenter\.azure\.com/(sku-.+)$")
FAMILY: Final = "instance-family"
GPU_MAKER, CHIP_MAKER = "nvidia", "aws"
"""The first words of the names of GPUs and of Amazon's own chips in the catalogue."""
_KINDS: Final = ("instance-gpu", "sku-gpu", "instance-accelerator")
NVIDIA: Final[Mapping[str, str]] = {"instance-gpu-manufacturer": "nvidia", "kubernetes.io/os": "linux"}
MODEL: Final = "instance-gpu-name"
TYPE: Final = "node.kubernetes.io/instance-type"

Candidate = Mapping[str, str]
"""One kind of GPU machine as Karpenter labels it; a label that is not listed may have any value."""


@cache
def amazon_machines(maker: str) -> tuple[tuple[Candidate, int], ...]:
    """Those with devices of a maker, the first word of their names."""
    machines = (each for each in gpu_machines(AMAZON).values() if each.gpu.startswith(f"{maker}-"))
    return tuple((_candidate(machine, maker), machine.gpus) for machine in machines)


def _candidate(machine: GpuMachine, maker: str) -> Candidate:
    kind = "instance-gpu" if maker == GPU_MAKER else "instance-accelerator"
    return {
        **_of_type(machine.type, machine.arch, catalog.of(AMAZON).machines.get(machine.type)),
        f"{kind}-count": str(machine.gpus),
        f"{kind}-manufacturer": maker,
        **({MODEL: machine.gpu.split("-")[1]} if maker == GPU_MAKER else {}),
    }


@cache
def amazon_family(family: str) -> tuple[Candidate, ...]:
    """The machines without GPUs of a family, as far as the catalogue knows them: without bare metal."""
    machines = catalog.of(AMAZON).machines.of_family(family)
    return tuple(_of_type(machine.type, machine.arch, machine) for machine in machines if not machine.gpus)


def _of_type(type: str, arch: str, known: Machine | None) -> Candidate:
    """https://karpenter.sh/docs/reference/instance-types/"""
    family, _, size = type.partition(".")
    digits = re.search(r"\d+", family)
    sizes = {"instance-cpu": known.vcpus, "instance-memory": round(known.memory_gib * 1024)} if known else {}
    return {
        TYPE: type,
        FAMILY: family,
        "instance-size": size,
        "instance-category": family[: digits.start()] if digits else family,
        "instance-generation": digits.group() if digits else "",
        "kubernetes.io/arch": arch,
        "kubernetes.io/os": "linux",
        **{label: str(size) for label, size in sizes.items()},
    }


def admits(requirements: Sequence[Any], machine: Candidate) -> Maybe[bool]:
    """Whether machines of this kind meet all requirements."""
    return both(_meets(requirement, machine) for requirement in requirements)


def short_label(key: Any) -> str:
    """A machine's label without the domain of Karpenter's providers."""
    label = _AMAZON.match(str(key)) or _AZURE.match(str(key))
    return label.group(1) if label else str(key)


def _meets(requirement: Any, machine: Candidate) -> Maybe[bool]:
    key, operator, values = at(requirement, "key"), at(requirement, "operator"), items(at(requirement, "values"))
    if key is UNKNOWN or operator is UNKNOWN or UNKNOWN in values:
        return UNKNOWN
    short = short_label(key)
    listed = [str(value) for value in values]
    if short in ("sku-name", TYPE) and machine.get("sku-name"):
        # All of Azure's GPU sizes are named Standard_N…; which one does not matter here.
        gpu_sizes = [value for value in listed if value.lower().startswith("standard_n")]
        return operator != "In" or bool(gpu_sizes)
    kind = next((each for each in _KINDS if short.startswith(each)), None)
    if kind is not None and not any(label.startswith(kind) for label in machine):
        return operator in ("DoesNotExist", "NotIn")
    if operator == "DoesNotExist":
        return short not in machine and kind is None
    if short not in machine or operator == "Exists":
        return True
    value = machine[short]
    if short == MODEL and operator == "In":
        return any(map(_is_model(value).fullmatch, listed))
    if operator == "In":
        return value in listed
    if operator == "NotIn":
        return value not in listed
    return _compares(operator, value, listed)


@cache
def _is_model(chip: str) -> re.Pattern[str]:
    """How Karpenter may call a GPU of which the catalogue's first word is ``chip``: Amazon's names of those of two
    words ("RTX PRO Server 6000") and of a superchip ("GB200") have several spellings."""
    return re.compile(rf"{chip}-.*" if chip == "rtx" else f"g?{chip[1:]}" if chip.startswith("gb") else chip)


def _compares(operator: Any, value: str, listed: Sequence[str]) -> Maybe[bool]:
    try:
        amount, bound = int(value), int(listed[0])
    except (ValueError, IndexError):
        return UNKNOWN
    answers = {"Gt": amount > bound, "Lt": amount < bound, "Gte": amount >= bound, "Lte": amount <= bound}
    return answers.get(str(operator), UNKNOWN)
