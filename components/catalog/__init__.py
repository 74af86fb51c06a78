"""GPUs, machines, zones and dated list prices of every cloud. What is not known is ``None``, never a guess.

Each function takes the cloud's name first and raises ``KeyError`` for a cloud without a catalogue (see ``clouds``).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from components.catalog.gpus import GPUS
from components.catalog.model import (
    Accelerator,
    CloudCatalog,
    Gpu,
    Machine,
    Price,
    Resources,
    SystemPod,
    WithdrawnGpu,
)

__all__ = [
    "GPUS",
    "Accelerator",
    "CloudCatalog",
    "Gpu",
    "Machine",
    "Price",
    "Resources",
    "SystemPod",
    "WithdrawnGpu",
    "clouds",
    "gpu_zones",
    "gpus",
    "machine",
    "machines_for",
    "of",
    "price_per_hour",
    "region_of",
    "zones",
]

# Imported on first use: a stack on one cloud does not read another's tables.
_PACKAGES: Final[Mapping[str, str]] = {
    "gke": "components.catalog.gke",
    "eks": "components.catalog.eks",
    "aks": "components.catalog.aks",
}


def clouds() -> tuple[str, ...]:
    """Clouds with a catalogue."""
    return tuple(_PACKAGES)


def of(cloud: str) -> CloudCatalog:
    """Everything known about one cloud."""
    found: CloudCatalog = import_module(_PACKAGES[cloud]).CATALOG
    return found


def gpus(cloud: str) -> tuple[Gpu, ...]:
    """GPUs that the cloud gives out."""
    return tuple(GPUS[name] for name in of(cloud).accelerators())


def machine(cloud: str, type: str) -> Machine | None:
    """A machine type by name."""
    return of(cloud).machine(type)


def machines_for(cloud: str, gpu: str, count: int) -> tuple[Machine, ...]:
    """Machines with exactly ``count`` GPUs of that type, the one that settings derive first."""
    return of(cloud).machines_for(gpu, count)


def zones(cloud: str, region: str) -> tuple[str, ...]:
    """The region's zones, none if the region is not known."""
    return of(cloud).regions().get(region, ())


def region_of(cloud: str, zone: str) -> str | None:
    """The region that the zone is in, ``None`` if the zone is not known."""
    return next((region for region, zones in of(cloud).regions().items() if zone in zones), None)


def gpu_zones(cloud: str, region: str, gpu: str) -> tuple[str, ...] | None:
    """The region's zones known to have the GPU; ``None`` if no list is known."""
    known = of(cloud).gpu_zones(gpu)
    return None if known is None else tuple(zone for zone in zones(cloud, region) if zone in known)


def price_per_hour(
    cloud: str, region: str, machine_type: str, gpu: str | None, count: int, *, spot: bool
) -> Price | None:
    """One running machine with ``count`` GPUs and its bundled local SSD, without boot disk and traffic.

    ``None`` where the machine, its GPUs or the region's price is not known.
    """
    catalog = of(cloud)
    found = catalog.with_gpus(machine_type, gpu, count) if gpu else catalog.machine(machine_type)
    return None if found is None else catalog.machine_price(region, found, spot=spot)
