"""List prices on AKS in US dollars an hour, from the tables beside this file. What is not in them is not known.

- ``machines.csv``: Linux machines with GPUs and burstable ones, on demand. ``cpu_families.csv``: one vCPU with its
  memory, on demand; within a family prices are in proportion to vCPUs. Azure's retail prices of 2026-06-18.
- ``disks.csv``: one premium SSD of a size for a month. Azure's retail prices of 2026-09-23.

Spot prices are not in them: Azure changes them by size and region, and no dated list was found that covers both. A spot
node never costs more than the same node on demand (https://learn.microsoft.com/azure/aks/spot-node-pool).

The source mixes Windows prices, 0.046 a vCPU higher, into families of AMD machines. So a family's price is the
lowest that its sizes agree on, and a family is left out in regions where it does not fit its Intel sibling's.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from components.catalog.model import Machine, Price

MACHINES_DATED: Final = "2026-06-18"
MACHINES_SOURCE: Final = (
    "https://prices.azure.com/api/retail/prices (as of "
    "https://github.com/Azure/karpenter-provider-azure/commit/2b431da153a6a92b705c18046512c60b1631b682)"
)
DISKS_DATED: Final = "2026-09-23"
DISKS_SOURCE: Final = (
    "https://azure.microsoft.com/pricing/details/managed-disks/ (retail prices as of "
    "https://github.com/xbill9/zombiescan-azure/commit/e0740cda403f9ec73a381483ca0135771023800a)"
)
FEES_DATED: Final = "2026-10-03"
CONTROL_PLANE_DATED: Final = FEES_DATED
CONTROL_PLANE_SOURCE: Final = "https://azure.microsoft.com/pricing/details/kubernetes-service/"
NAT_SOURCE: Final = "https://azure.microsoft.com/pricing/details/azure-nat-gateway/"
LOAD_BALANCER_SOURCE: Final = "https://azure.microsoft.com/pricing/details/load-balancer/"

# The Standard tier, which every cluster of this program has (components/clouds/aks/cluster.py).
CONTROL_PLANE_USD: Final = 0.10
_NAT_GATEWAY_USD: Final = 0.045
_LOAD_BALANCER_USD: Final = 0.025
_NAT_ADDRESS_USD: Final = 0.005
_HOURS_PER_MONTH: Final = 730

Row = Mapping[str, str]


def machine_price(region: str, machine: Machine, *, spot: bool) -> Price | None:
    """The machine with its GPUs and its local disk; ``None`` for spot."""
    if spot:
        return None
    row = _table("machines.csv", "machine").get((region, machine.type))
    usd = _number(row, "on_demand")
    if usd is None:
        each = _number(_table("cpu_families.csv", "family").get((region, machine.family)), "vcpu_on_demand")
        usd = None if each is None else each * machine.vcpus
    return None if usd is None else Price(usd=usd, dated=MACHINES_DATED, source=MACHINES_SOURCE)


def disk_price(region: str, gib: int) -> Price | None:
    """A premium SSD of at least ``gib`` GiB for an hour (a 730th of the month): Azure bills the next larger size.

    https://learn.microsoft.com/azure/virtual-machines/disks-understand-billing
    """
    rows = _table("disks.csv", "gib")
    # The next larger size of the series 32, 64, 128, …, whether its price is known or not.
    size = 32
    while size < gib:
        size *= 2
    month = _number(rows.get((region, str(size))), "usd_month")
    return None if month is None else Price(usd=month / _HOURS_PER_MONTH, dated=DISKS_DATED, source=DISKS_SOURCE)


def nat_price(gateways: int) -> Price:
    """The way out with one address, without traffic: a NAT gateway, or for several zones the one load balancer.

    The number of nodes does not matter.
    """
    if gateways > 1:
        usd, source = _LOAD_BALANCER_USD, LOAD_BALANCER_SOURCE
    else:
        usd, source = _NAT_GATEWAY_USD, NAT_SOURCE
    return Price(usd=usd + _NAT_ADDRESS_USD, dated=FEES_DATED, source=source)


def regions_with(types: frozenset[str]) -> frozenset[str]:
    """Regions where Azure lists a price for one of these sizes."""
    return frozenset(region for region, type in _table("machines.csv", "machine") if type in types)


@cache
def _table(name: str, *keys: str) -> Mapping[tuple[str, ...], Row]:
    text = (files("components.catalog.aks") / "data" / name).read_text(encoding="utf-8")
    return {tuple(row[key] for key in ("region", *keys)): row for row in csv.DictReader(text.splitlines())}


def _number(row: Row | None, column: str) -> float | None:
    return float(row[column]) if row and row[column] else None
