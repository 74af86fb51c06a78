"""What no resource of Azure's carries, from the catalogue: how many GPUs a size has.

Names: https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from facts import catalog
from facts.catalog.gpu_machines import gpu_machines, most_gpus
from facts.concepts.unknown import UNKNOWN, Maybe

CLOUD: Final = "aks"

# NC and NCC (compute), ND (deep learning), NV (visualisation) hold GPUs; NG is AMD's, NP holds FPGAs.
_GPU_FAMILY: Final = re.compile(r"^(?:standard|basic)_n(?:cc?|d|v)\d")
# MI25 (NVv4) and V710 (NV v5) are AMD's, for graphics: AKS supports MI300X alone.
# https://learn.microsoft.com/azure/aks/use-amd-gpus
# All other families: those without accelerators, FPGAs (NP), AMD's GPUs (NG) and media cards (NM).
_OTHER_FAMILY: Final = re.compile(r"^(?:standard|basic)_(?:[a-mo-z][a-z]*|n[pgm][a-z]*)\d|^mix$")
_SERIES: Final = re.compile(r"(?:standard|basic)_(?P<family>n[a-z]+)\d+(?:-\d+)?[a-z]*(?P<rest>(?:_.*)?)$")
_AMD: Final = re.compile(r"^standard_nv\d+as_v4$|_v710")


def gpus_of_size(size: Maybe[str | None]) -> Maybe[int]:
    """NVIDIA's or AMD's GPUs that a node of this size offers; 0 for sizes without. Azure ignores the case of sizes.

    An unlisted size is never treated as a CPU machine: a size of a GPU family counts as the largest of its series or,
    of a new one, of all series, and a size of an unknown family is ``UNKNOWN``. A size with a part of a GPU
    (``NV6ads_A10_v5``) is one device to Kubernetes.
    """
    if size is UNKNOWN:
        return UNKNOWN
    name = (size or "").lower().removesuffix("_promo")
    if not name or _AMD.search(name):
        return 0
    if not _GPU_FAMILY.match(name):
        return 0 if _OTHER_FAMILY.match(name) else UNKNOWN
    series = _series(name)
    known = _by_size().get(name)
    return most_gpus(CLOUD, lambda size: _series(size.lower()) == series) if known is None else known


def _series(name: str) -> tuple[str, str] | None:
    """The family and what follows the number of vCPUs and the features: ``nd``, ``_h100_v5``."""
    named = _SERIES.match(name)
    return named and (named["family"], named["rest"])


def without_trusted_launch(size: Maybe[str | None]) -> Maybe[bool]:
    """Whether machines of this size cannot verify what they boot; one that the catalogue does not have is taken to."""
    if size is UNKNOWN:
        return UNKNOWN
    machines = catalog.of(CLOUD).machines
    known = (machines.get(type) for type in machines.types if type.lower() == (size or "").lower())
    return any(machine is not None and not machine.trusted_launch for machine in known)


@cache
def _by_size() -> Mapping[str, int]:
    return {machine.type.lower(): machine.gpus for machine in gpu_machines(CLOUD).values()}
