"""Facts about Amazon's machines that no resource carries: how many NVIDIA GPUs an instance type has.

Counts: https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html (read on 2026-11-21); a test holds them against
Amazon's ``DescribeInstanceTypes`` as moto keeps it, which has no P2, P3 and G3 any more (old programs name them) and no
p6e-gb200.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from policies.rules.model import UNKNOWN, Maybe

CLOUD: Final = "eks"

_G5_SIZES: Final = {"xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "16xlarge": 1} | {
    "12xlarge": 4,
    "24xlarge": 4,
    "48xlarge": 8,
}

GPUS: Final[Mapping[str, Mapping[str, int]]] = {
    "p2": {"xlarge": 1, "8xlarge": 8, "16xlarge": 16},
    "p3": {"2xlarge": 1, "8xlarge": 4, "16xlarge": 8},
    "p3dn": {"24xlarge": 8},
    "p4d": {"24xlarge": 8},
    "p4de": {"24xlarge": 8},
    "p5": {"4xlarge": 1, "48xlarge": 8},
    "p5e": {"48xlarge": 8},
    "p5en": {"48xlarge": 8},
    "p6-b200": {"48xlarge": 8},
    "p6-b300": {"48xlarge": 8},
    "p6e-gb200": {"36xlarge": 4},
    "g3s": {"xlarge": 1},
    "g3": {"4xlarge": 1, "8xlarge": 2, "16xlarge": 4},
    "g4dn": {"xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "12xlarge": 4, "16xlarge": 1, "metal": 8},
    "g5": _G5_SIZES,
    "g5g": {"xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "16xlarge": 2, "metal": 2},
    "g6": _G5_SIZES,
    "g6e": _G5_SIZES,
    "gr6": {"4xlarge": 1, "8xlarge": 1},
    # A part of one GPU, which Kubernetes sees as one.
    "g6f": {"large": 1, "xlarge": 1, "2xlarge": 1, "4xlarge": 1},
    "gr6f": {"4xlarge": 1},
    "g7": {"2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "12xlarge": 2, "24xlarge": 4, "48xlarge": 8},
    "g7e": {"2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "12xlarge": 2, "24xlarge": 4, "48xlarge": 8},
}
"""NVIDIA GPUs by instance family and size. AMD's g4ad and the trn, inf, dl and vt accelerators are not NVIDIA GPUs."""

MODELS: Final[Mapping[str, str]] = {
    "p2": "K80",
    "p3": "V100",
    "p3dn": "V100 32GB",
    "p4d": "A100 40GB",
    "p4de": "A100 80GB",
    "p5": "H100",
    "p5e": "H200",
    "p5en": "H200",
    "p6-b200": "B200",
    "p6-b300": "B300",
    "p6e-gb200": "GB200",
    "g3s": "M60",
    "g3": "M60",
    "g4dn": "T4",
    "g5": "A10G",
    "g5g": "T4G",
    "g6": "L4",
    "g6e": "L40S",
    "gr6": "L4",
    "g6f": "part of an L4",
    "gr6f": "part of an L4",
    "g7": "RTX PRO 4500",
    "g7e": "RTX PRO 6000",
}
"""The GPU of each family."""

_GPU_FAMILY: Final = re.compile(r"^(p\d|gr?\d)")
_AMD_FAMILIES: Final = ("g4ad",)
_INSTANCE_TYPE: Final = re.compile(r"^(?P<family>[a-z0-9-]+)\.(?P<size>[a-z0-9-]+)$")


def gpus_of(instance_type: Maybe[str | None]) -> Maybe[int]:
    """NVIDIA GPUs of an instance type; 0 for types without and for ``None``.

    ``UNKNOWN`` for a type of a GPU family that the table does not list yet: it is never taken for a CPU machine.
    """
    if instance_type is UNKNOWN:
        return UNKNOWN
    parts = _INSTANCE_TYPE.match(instance_type or "")
    if parts is None or parts["family"] in _AMD_FAMILIES:
        return 0
    if not _GPU_FAMILY.match(parts["family"]):
        return 0
    count = GPUS.get(parts["family"], {}).get(parts["size"])
    return UNKNOWN if count is None else count


def model_of(instance_type: Maybe[str | None]) -> str | None:
    """The GPU model of an instance type, ``None`` where that is not known."""
    return None if instance_type is UNKNOWN else MODELS.get((instance_type or "").partition(".")[0])


def is_gpu_family(pattern: str) -> bool:
    """Whether an instance type, or a pattern such as ``g5.*``, is of a family with NVIDIA GPUs."""
    family = pattern.partition(".")[0].rstrip("*")
    return bool(_GPU_FAMILY.match(family)) and family not in _AMD_FAMILIES
