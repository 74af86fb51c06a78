"""List prices on EKS in US dollars an hour, from the tables beside this file. What is not in them is not known.

- ``machine_prices.csv``: whole machines with their GPUs and local SSD, Linux, shared tenancy, on demand. us-east-1 is
  Amazon's price list of 2026-07-20 as Karpenter keeps it. us-west-2 and eu-west-1 have the types that were read in
  SkyPilot's catalogue; that copy has no date, but its us-east-1 prices are those of 2026-07-20.
- ``disks.csv``: gp3 per GiB and month with the 3,000 IOPS and 125 MiB/s that are part of it.

There is no list price of a Spot machine: it differs by zone and changes during the day, so it is not known. It is never
above the on-demand price (https://aws.amazon.com/ec2/spot/pricing).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from components.catalog.model import Machine, Price

MACHINES_DATED: Final = "2026-07-20"
MACHINES_SOURCE: Final = (
    "https://aws.amazon.com/ec2/pricing/on-demand (as of https://github.com/aws/karpenter-provider-aws/blob/main/"
    "pkg/providers/pricing/zz_generated.pricing_aws.go and https://github.com/skypilot-org/skypilot-catalog)"
)
# The publication of Amazon's price list that public test data has these prices of; us-west-2 is general knowledge.
DISKS_DATED: Final = "2026-07-17"
DISKS_SOURCE: Final = "https://aws.amazon.com/ebs/pricing"
# The days on which readers noted the two fees.
CONTROL_PLANE_DATED: Final = "2026-06-13"
CONTROL_PLANE_SOURCE: Final = (
    "https://aws.amazon.com/eks/pricing "
    "(https://www.factualminds.com/blog/amazon-eks-pricing-control-plane-addons-auto-mode/)"
)
NAT_DATED: Final = "2026-02-24"
NAT_SOURCE: Final = "https://aws.amazon.com/vpc/pricing (https://cloudburn.io/blog/aws-nat-gateway-pricing)"

# A version in standard support; extended support costs 0.60.
CONTROL_PLANE_USD: Final = 0.10
_NAT_USD: Final = 0.045
_NAT_ADDRESS_USD: Final = 0.005
_HOURS_PER_MONTH: Final = 730

Row = Mapping[str, str]


def machine_price(region: str, machine: Machine, *, spot: bool) -> Price | None:
    """The machine with its GPUs and local SSD on demand; ``None`` for Spot."""
    usd = None if spot else _number(_table("machine_prices.csv", "type").get((region, machine.type)), "on_demand")
    return None if usd is None else Price(usd=usd, dated=MACHINES_DATED, source=MACHINES_SOURCE)


def disk_price(region: str, gib: int) -> Price | None:
    """A gp3 volume of ``gib`` GiB for an hour (a 730th of the monthly price)."""
    usd = _number(_table("disks.csv").get((region,)), "gp3_gib_month")
    return None if usd is None else Price(usd=usd * gib / _HOURS_PER_MONTH, dated=DISKS_DATED, source=DISKS_SOURCE)


def nat_price(gateways: int) -> Price:
    """NAT gateways with one address each in us-east-1, without traffic, however many nodes use them."""
    return Price(usd=gateways * (_NAT_USD + _NAT_ADDRESS_USD), dated=NAT_DATED, source=NAT_SOURCE)


@cache
def _table(name: str, *keys: str) -> Mapping[tuple[str, ...], Row]:
    text = (files("components.catalog.eks") / "data" / name).read_text(encoding="utf-8")
    return {tuple(row[key] for key in ("region", *keys)): row for row in csv.DictReader(text.splitlines())}


def _number(row: Row | None, column: str) -> float | None:
    return float(row[column]) if row and row[column] else None
