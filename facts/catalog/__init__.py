"""GPUs, machines, zones and dated list prices of every cloud. What is not known is ``None``, never a guess.

``of`` is a cloud's record; the functions that take a cloud's name raise ``KeyError`` if there is no such cloud.
"""

from __future__ import annotations

from facts.catalog.cloud import OWN_MACHINES, OWN_SECRETS, PLUGINS, CloudCatalog, clouds, of
from facts.catalog.machines import GPUS
from facts.catalog.model import Accelerator, Gpu, Machine, Price, Resources, SystemPod, WithdrawnGpu

__all__ = [
    "GPUS",
    "OWN_MACHINES",
    "OWN_SECRETS",
    "PLUGINS",
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
    "of",
    "price_per_hour",
]


def gpu_zones(cloud: str, region: str, gpu: str) -> tuple[str, ...] | None:
    """The region's zones known to have the GPU; ``None`` if no list is known."""
    known = of(cloud).gpu_zones(gpu)
    return None if known is None else tuple(zone for zone in of(cloud).regions.get(region, ()) if zone in known)


def price_per_hour(
    cloud: str, region: str, machine_type: str, gpu: str | None, count: int, *, spot: bool
) -> Price | None:
    """One running machine with ``count`` GPUs and its bundled local SSD, without boot disk and traffic.

    ``None`` where the machine, its GPUs or the region's price is not known.
    """
    known = of(cloud)
    machine = known.machines.with_gpus(machine_type, gpu, count) if gpu else known.machines.get(machine_type)
    return None if machine is None else known.prices.machine(region, machine, spot=spot)
