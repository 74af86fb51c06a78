"""Regions with availability zones, their zones, and the zones that have each GPU.

Regions: https://learn.microsoft.com/azure/reliability/regions-list (its source of 2026-08); those without zones are
left out. A zone is written as the node label ``topology.kubernetes.io/zone`` has it, ``<region>-<number>``; the API
itself wants the number alone (https://learn.microsoft.com/azure/aks/availability-zones).

GPU zones: which zones have a size depends on the subscription (``az vm list-skus --zone``), and Azure publishes no
list. So all zones of the regions count where Azure lists a price for one of the GPU's sizes: an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from components.catalog.aks import machines, prices

_REGIONS: Final = """
australiaeast austriaeast belgiumcentral brazilsouth canadacentral centralindia centralus chilecentral denmarkeast
eastasia eastus eastus2 francecentral germanywestcentral indiasouthcentral indonesiacentral israelcentral italynorth
japaneast japanwest koreacentral malaysiawest mexicocentral newzealandnorth northeurope norwayeast polandcentral
qatarcentral southafricanorth southcentralus southeastasia spaincentral swedencentral switzerlandnorth uaenorth
uksouth westeurope westus2 westus3
"""

REGIONS: Final[Mapping[str, tuple[str, ...]]] = {
    region: tuple(f"{region}-{number}" for number in (1, 2, 3)) for region in _REGIONS.split()
}


@cache
def gpu_zones(gpu: str) -> tuple[str, ...]:
    """Zones of the regions where the GPU is sold, sorted."""
    types = frozenset(m.type for count in machines.gpu_counts(gpu) for m in machines.machines_for(gpu, count))
    return tuple(zone for region in sorted(prices.regions_with(types)) for zone in REGIONS[region])
