"""Machine types on GKE: accelerator-optimised ones by name, general-purpose ones by their family's rule.

Sources, read 2026-11-20:

- vCPUs and memory: every type with a fixed name agrees with the Compute Engine API's listing of 2026-07-01
  (https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator/blob/master/tools/machinetypes.csv).
- Bundled local SSD: ``build/gcp.yml`` of the same project; A3 Edge, A3 Ultra and A4 are general knowledge.
- Only spot, only reserved:
  https://cloud.google.com/compute/docs/accelerator-optimized-machines#consumption_option_availability_by_machine_type
  as applied in https://github.com/dstackai/gpuhunt/pull/176 (A3 High below 8 GPUs, A4), and
  https://cloud.google.com/ai-hypercomputer/docs/consumption-models (A3 Ultra, A4: reservation, flex-start or spot).
- Custom types: most vCPUs and GiB per vCPU from https://cloud.google.com/compute/docs/machine-types (stored copy); the
  lower bounds and N2's steps are general knowledge.

A machine that Google added since is not known here, never guessed; nor are types with a fraction of a GPU (G4), bare
metal or added local SSD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from components.catalog.gke.gpus import N1_LIMITS
from components.catalog.model import Machine, Provisioning


def _row(type: str, vcpus: int, memory_gib: int, gpu: str, gpus: int, provisioning: Provisioning = "any") -> Machine:
    family = type.split("-")[0]
    return Machine(
        type=type,
        family=family,
        vcpus=vcpus,
        memory_gib=memory_gib,
        gpu=gpu,
        gpus=gpus,
        provisioning=provisioning,
    )


_ACCELERATOR_OPTIMISED: Final[Mapping[str, Machine]] = {
    machine.type: machine
    for machine in (
        _row("g2-standard-4", 4, 16, "nvidia-l4", 1),
        _row("g2-standard-8", 8, 32, "nvidia-l4", 1),
        _row("g2-standard-12", 12, 48, "nvidia-l4", 1),
        _row("g2-standard-16", 16, 64, "nvidia-l4", 1),
        _row("g2-standard-32", 32, 128, "nvidia-l4", 1),
        _row("g2-standard-24", 24, 96, "nvidia-l4", 2),
        _row("g2-standard-48", 48, 192, "nvidia-l4", 4),
        _row("g2-standard-96", 96, 384, "nvidia-l4", 8),
        _row("g4-standard-48", 48, 180, "nvidia-rtx-pro-6000", 1),
        _row("g4-standard-96", 96, 360, "nvidia-rtx-pro-6000", 2),
        _row("g4-standard-192", 192, 720, "nvidia-rtx-pro-6000", 4),
        _row("g4-standard-384", 384, 1440, "nvidia-rtx-pro-6000", 8),
        _row("a2-highgpu-1g", 12, 85, "nvidia-a100-40gb", 1),
        _row("a2-highgpu-2g", 24, 170, "nvidia-a100-40gb", 2),
        _row("a2-highgpu-4g", 48, 340, "nvidia-a100-40gb", 4),
        _row("a2-highgpu-8g", 96, 680, "nvidia-a100-40gb", 8),
        _row("a2-megagpu-16g", 96, 1360, "nvidia-a100-40gb", 16),
        _row("a2-ultragpu-1g", 12, 170, "nvidia-a100-80gb", 1),
        _row("a2-ultragpu-2g", 24, 340, "nvidia-a100-80gb", 2),
        _row("a2-ultragpu-4g", 48, 680, "nvidia-a100-80gb", 4),
        _row("a2-ultragpu-8g", 96, 1360, "nvidia-a100-80gb", 8),
        _row("a3-highgpu-1g", 26, 234, "nvidia-h100-80gb", 1, "spot-only"),
        _row("a3-highgpu-2g", 52, 468, "nvidia-h100-80gb", 2, "spot-only"),
        _row("a3-highgpu-4g", 104, 936, "nvidia-h100-80gb", 4, "spot-only"),
        _row("a3-highgpu-8g", 208, 1872, "nvidia-h100-80gb", 8),
        _row("a3-edgegpu-8g", 208, 1872, "nvidia-h100-80gb", 8),
        _row("a3-megagpu-8g", 208, 1872, "nvidia-h100-mega-80gb", 8),
        _row("a3-ultragpu-8g", 224, 2952, "nvidia-h200-141gb", 8, "spot-or-reservation"),
        _row("a4-highgpu-8g", 224, 3968, "nvidia-b200", 8, "spot-or-reservation"),
    )
}

_SHARED_CORE: Final[Mapping[str, Machine]] = {
    machine.type: machine
    for machine in (
        Machine(type="f1-micro", family="f1", vcpus=1, memory_gib=0.6, shared_core=True),
        Machine(type="g1-small", family="g1", vcpus=1, memory_gib=1.7, shared_core=True),
        Machine(type="e2-micro", family="e2", vcpus=2, memory_gib=1, shared_core=True),
        Machine(type="e2-small", family="e2", vcpus=2, memory_gib=2, shared_core=True),
        Machine(type="e2-medium", family="e2", vcpus=2, memory_gib=4, shared_core=True),
    )
}


@dataclass(frozen=True)
class _Shape:
    """``<family>-<kind>-<vcpus>``: GiB of memory per vCPU, and the vCPU counts that exist."""

    gib_per_vcpu: float
    vcpus: tuple[int, ...]


_N2 = (2, 4, 8, 16, 32, 48, 64, 80, 96)
_C3 = (4, 8, 22, 44, 88, 176)
_C3D = (4, 8, 16, 30, 60, 90, 180, 360)

# n2-highmem-128 and the c3d-highcpu sizes do not follow their family's ratio and are left out.
_SHAPES: Final[Mapping[str, _Shape]] = {
    "e2-standard": _Shape(4, (2, 4, 8, 16, 32)),
    "e2-highmem": _Shape(8, (2, 4, 8, 16)),
    "e2-highcpu": _Shape(1, (2, 4, 8, 16, 32)),
    "n1-standard": _Shape(3.75, (1, 2, 4, 8, 16, 32, 64, 96)),
    "n1-highmem": _Shape(6.5, (2, 4, 8, 16, 32, 64, 96)),
    "n1-highcpu": _Shape(0.9, (2, 4, 8, 16, 32, 64, 96)),
    "n2-standard": _Shape(4, (*_N2, 128)),
    "n2-highmem": _Shape(8, _N2),
    "n2-highcpu": _Shape(1, _N2),
    "n2d-standard": _Shape(4, (*_N2, 128, 224)),
    "n2d-highmem": _Shape(8, _N2),
    "n2d-highcpu": _Shape(1, (*_N2, 128, 224)),
    "n4-standard": _Shape(4, (2, 4, 8, 16, 32, 48, 64, 80)),
    "n4-highmem": _Shape(8, (2, 4, 8, 16, 32, 48, 64, 80)),
    "n4-highcpu": _Shape(2, (2, 4, 8, 16, 32, 48, 64, 80)),
    "c3-standard": _Shape(4, _C3),
    "c3-highmem": _Shape(8, _C3),
    "c3-highcpu": _Shape(2, _C3),
    "c3d-standard": _Shape(4, _C3D),
    "c3d-highmem": _Shape(8, _C3D),
}


@dataclass(frozen=True)
class _CustomRule:
    """Limits of ``custom-<vcpus>-<MiB>``: vCPUs in steps of 2 up to ``even_up_to``, then of 4; GiB per vCPU."""

    max_vcpus: int
    even_up_to: int
    one_vcpu: bool
    min_gib: float
    max_gib: float
    max_total_gib: int


_CUSTOM: Final[Mapping[str, _CustomRule]] = {
    "e2": _CustomRule(32, 32, False, 0.5, 8, 128),
    "n1": _CustomRule(96, 96, True, 0.9, 6.5, 624),
    "n2": _CustomRule(80, 32, False, 0.5, 8, 640),
}
_CUSTOM_NAME: Final = re.compile(r"(?:(?P<family>e2|n1|n2)-)?custom-(?P<vcpus>\d{1,3})-(?P<mib>\d{3,7})")
_FIXED_NAME: Final = re.compile(r"(?P<shape>[a-z0-9]+-[a-z]+)-(?P<vcpus>\d{1,3})")
_CUSTOM_STEP_MIB: Final = 256


def machine(type: str) -> Machine | None:
    """The machine type, custom ones (``e2-custom-2-10240``) included, or ``None`` if it is not known."""
    known = _ACCELERATOR_OPTIMISED.get(type) or _SHARED_CORE.get(type)
    return known or _by_shape(type) or _custom(type)


def machine_types() -> tuple[str, ...]:
    """Every type with a fixed name."""
    return (*_ACCELERATOR_OPTIMISED, *_SHARED_CORE, *_general_purpose())


def machines_for(gpu: str, count: int) -> tuple[Machine, ...]:
    """Machines with ``count`` GPUs: accelerator-optimised by size, or N1 with 4 vCPUs a GPU first, then by size."""
    built_in = [m for m in _ACCELERATOR_OPTIMISED.values() if m.gpu == gpu and m.gpus == count]
    if built_in:
        return tuple(built_in)
    limit = next((limit for limit in N1_LIMITS.get(gpu, ()) if limit.gpus == count), None)
    if limit is None:
        return ()
    n1 = (m for name in _general_purpose() if name.startswith("n1-") and (m := machine(name)))
    fitting = [m for m in n1 if m.vcpus <= limit.max_vcpus and m.memory_gib <= limit.max_memory_gib]
    preferred = f"n1-standard-{4 * count}"
    fitting.sort(key=lambda m: (m.type != preferred, m.vcpus, m.memory_gib))
    return tuple(replace(m, gpu=gpu, gpus=count) for m in fitting)


def with_gpus(type: str, gpu: str, count: int) -> Machine | None:
    """The named machine with ``count`` GPUs, custom N1 machines included; ``None`` if they don't go together."""
    named = machine(type)
    if named is None:
        return None
    if named.gpus:
        return named if (named.gpu, named.gpus) == (gpu, count) else None
    limit = next((limit for limit in N1_LIMITS.get(gpu, ()) if limit.gpus == count), None)
    if limit is None or named.family != "n1":
        return None
    fits = named.vcpus <= limit.max_vcpus and named.memory_gib <= limit.max_memory_gib
    return replace(named, gpu=gpu, gpus=count) if fits else None


def gpu_counts(gpu: str) -> tuple[int, ...]:
    """GPUs per machine that exist, ascending."""
    built_in = {m.gpus for m in _ACCELERATOR_OPTIMISED.values() if m.gpu == gpu}
    attachable = {limit.gpus for limit in N1_LIMITS.get(gpu, ())}
    return tuple(sorted(built_in | attachable))


def is_custom(type: str) -> bool:
    """Whether the type is a custom one, which costs more than the same predefined shape."""
    return _CUSTOM_NAME.fullmatch(type) is not None


def _general_purpose() -> Iterator[str]:
    return (f"{name}-{vcpus}" for name, shape in _SHAPES.items() for vcpus in shape.vcpus)


def _by_shape(type: str) -> Machine | None:
    match = _FIXED_NAME.fullmatch(type)
    shape = _SHAPES.get(match["shape"]) if match else None
    if match is None or shape is None or int(match["vcpus"]) not in shape.vcpus:
        return None
    vcpus = int(match["vcpus"])
    return Machine(type=type, family=type.split("-")[0], vcpus=vcpus, memory_gib=vcpus * shape.gib_per_vcpu)


def _custom(type: str) -> Machine | None:
    match = _CUSTOM_NAME.fullmatch(type)
    if match is None:
        return None
    family, vcpus, mib = match["family"] or "n1", int(match["vcpus"]), int(match["mib"])
    rule, gib = _CUSTOM[family], mib / 1024
    step = 2 if vcpus <= rule.even_up_to else 4
    countable = vcpus % step == 0 or (vcpus == 1 and rule.one_vcpu)
    if not 1 <= vcpus <= rule.max_vcpus or not countable or mib % _CUSTOM_STEP_MIB:
        return None
    if not vcpus * rule.min_gib <= gib <= min(vcpus * rule.max_gib, rule.max_total_gib):
        return None
    return Machine(type=type, family=family, vcpus=vcpus, memory_gib=gib)
