"""VM sizes on AKS: those with GPUs by name, general-purpose ones by their family's rule.

Sources:

- vCPUs, memory and GPUs of sizes with GPUs: each series' page below
  https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/ and the list of AKS sizes that is made from
  Azure's API, https://aspire.dev/reference/api/csharp/aspire.hosting.azure.kubernetes/ (2026). Where they differ
  (ND96amsr_A100_v4: 1900 and 1800 GiB) the API's figure, as others list it, stands.
- Which of them AKS installs a driver on, ``supported-gpus.yaml`` of
  https://github.com/Azure/karpenter-provider-azure (2026-07).
- vCPUs and memory of the others: the same list of AKS sizes.

The fractions of an A10 (NV6ads to NV18ads_A10_v5: a sixth to a half) are left out: Kubernetes would count each as one
whole GPU. So are the RTX PRO 6000 sizes, sold in quarters, the GB200 and GB300 sizes, whose CPUs are Arm, and sizes
that differ only in their network (ND96is_H100_v5). A size that Azure added since is not known here, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from components.catalog.model import Machine


def _row(type: str, family: str, vcpus: int, memory_gib: int, gpu: str, gpus: int) -> Machine:
    return Machine(type=type, family=family, vcpus=vcpus, memory_gib=memory_gib, gpu=gpu, gpus=gpus)


_WITH_GPUS: Final[Mapping[str, Machine]] = {
    machine.type: machine
    for machine in (
        _row("Standard_NC4as_T4_v3", "NCasT4v3", 4, 28, "nvidia-t4", 1),
        _row("Standard_NC8as_T4_v3", "NCasT4v3", 8, 56, "nvidia-t4", 1),
        _row("Standard_NC16as_T4_v3", "NCasT4v3", 16, 110, "nvidia-t4", 1),
        _row("Standard_NC64as_T4_v3", "NCasT4v3", 64, 440, "nvidia-t4", 4),
        _row("Standard_NV36ads_A10_v5", "NVadsA10v5", 36, 440, "nvidia-a10", 1),
        _row("Standard_NV36adms_A10_v5", "NVadsA10v5", 36, 880, "nvidia-a10", 1),
        _row("Standard_NV72ads_A10_v5", "NVadsA10v5", 72, 880, "nvidia-a10", 2),
        _row("Standard_ND96asr_v4", "NDasrA100v4", 96, 900, "nvidia-a100-40gb", 8),
        _row("Standard_NC24ads_A100_v4", "NCadsA100v4", 24, 220, "nvidia-a100-80gb", 1),
        _row("Standard_NC48ads_A100_v4", "NCadsA100v4", 48, 440, "nvidia-a100-80gb", 2),
        _row("Standard_NC96ads_A100_v4", "NCadsA100v4", 96, 880, "nvidia-a100-80gb", 4),
        _row("Standard_ND96amsr_A100_v4", "NDmA100v4", 96, 1800, "nvidia-a100-80gb", 8),
        _row("Standard_NC40ads_H100_v5", "NCadsH100v5", 40, 320, "nvidia-h100-nvl-94gb", 1),
        _row("Standard_NC80adis_H100_v5", "NCadsH100v5", 80, 640, "nvidia-h100-nvl-94gb", 2),
        _row("Standard_ND96isr_H100_v5", "NDH100v5", 96, 1900, "nvidia-h100-80gb", 8),
        _row("Standard_ND96isr_H200_v5", "NDH200v5", 96, 1850, "nvidia-h200-141gb", 8),
    )
}

# Burstable: the vCPUs are lent, and AKS discourages them for system pods.
_BURSTABLE: Final[Mapping[str, Machine]] = {
    machine.type: machine
    for machine in (
        Machine(type=f"Standard_{size}", family="Bs", vcpus=vcpus, memory_gib=memory_gib, shared_core=True)
        for size, vcpus, memory_gib in (
            ("B2s", 2, 4),
            ("B2ms", 2, 8),
            ("B4ms", 4, 16),
            ("B8ms", 8, 32),
            ("B12ms", 12, 48),
            ("B16ms", 16, 64),
            ("B20ms", 20, 80),
        )
    )
}


@dataclass(frozen=True)
class _Shape:
    """``Standard_<letter><vcpus><features>_v<n>``: GiB of memory per vCPU, and the vCPU counts that exist."""

    family: str
    gib_per_vcpu: int
    vcpus: tuple[int, ...]


_D = (2, 4, 8, 16, 32, 48, 64, 96)
# E96 has 672 GiB, not its family's ratio, and is left out.
_E = (2, 4, 8, 16, 20, 32, 48, 64)

_SHAPES: Final[Mapping[tuple[str, str], _Shape]] = {
    ("D", "s_v5"): _Shape("Dsv5", 4, _D),
    ("D", "ds_v5"): _Shape("Ddsv5", 4, _D),
    ("D", "as_v5"): _Shape("Dasv5", 4, _D),
    ("D", "ads_v5"): _Shape("Dadsv5", 4, _D),
    ("E", "s_v5"): _Shape("Esv5", 8, _E),
    ("E", "as_v5"): _Shape("Easv5", 8, _E),
    ("F", "s_v2"): _Shape("Fsv2", 2, (2, 4, 8, 16, 32, 48, 64, 72)),
}
_NAME: Final = re.compile(r"Standard_(?P<letter>[DEF])(?P<vcpus>\d{1,3})(?P<rest>[a-z]+_v\d)")


def machine(type: str) -> Machine | None:
    """The VM size (``Standard_D4s_v5``), or ``None`` if it is not known."""
    return _WITH_GPUS.get(type) or _BURSTABLE.get(type) or _by_shape(type)


def machine_types() -> tuple[str, ...]:
    """Every size."""
    return (*_WITH_GPUS, *_BURSTABLE, *_general_purpose())


def machines_for(gpu: str, count: int) -> tuple[Machine, ...]:
    """Sizes with ``count`` GPUs, by size."""
    return tuple(m for m in _WITH_GPUS.values() if m.gpu == gpu and m.gpus == count)


def with_gpus(type: str, gpu: str, count: int) -> Machine | None:
    """The named size if it has ``count`` GPUs of that type."""
    named = _WITH_GPUS.get(type)
    return named if named and (named.gpu, named.gpus) == (gpu, count) else None


def gpu_counts(gpu: str) -> tuple[int, ...]:
    """GPUs per machine that exist, ascending."""
    return tuple(sorted({m.gpus for m in _WITH_GPUS.values() if m.gpu == gpu}))


def _general_purpose() -> Iterator[str]:
    return (f"Standard_{letter}{n}{rest}" for (letter, rest), shape in _SHAPES.items() for n in shape.vcpus)


def _by_shape(type: str) -> Machine | None:
    match = _NAME.fullmatch(type)
    shape = _SHAPES.get((match["letter"], match["rest"])) if match else None
    if match is None or shape is None or int(match["vcpus"]) not in shape.vcpus:
        return None
    vcpus = int(match["vcpus"])
    return Machine(type=type, family=shape.family, vcpus=vcpus, memory_gib=vcpus * shape.gib_per_vcpu)
