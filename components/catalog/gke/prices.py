"""List prices on GKE in US dollars an hour, from the tables beside this file. What is not in them is not known.

- ``cpu_families.csv``: on-demand and spot per vCPU and per GiB of memory. ``accelerator_machines.csv``: whole machines
  with their GPUs and bundled local SSD. ``disks.csv``: balanced persistent disk per GiB and month.
  Google's SKU prices of 2026-07-30.
- ``attached_gpus.csv``: one GPU attached to an N1 machine. Google's SKU prices of September 2025; those on demand in
  us-central1 agree with the cluster autoscaler's ``gce_price_info.go`` (read 2026-11-20).

Google may change a spot price every day; on-demand prices change rarely (https://cloud.google.com/spot-vms/pricing).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from components.catalog.gke.machines import is_custom
from components.catalog.model import Machine, Price

MACHINES_DATED: Final = "2026-07-30"
MACHINES_SOURCE: Final = (
    "https://cloud.google.com/compute/vm-instance-pricing (SKUs as of "
    "https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator/commit/fd66b26ff84fee5cdd94f341ea89206e76c06b99)"
)
GPUS_DATED: Final = "2025-09-18"
GPUS_SOURCE: Final = (
    "https://cloud.google.com/compute/gpus-pricing (SKUs as of "
    "https://github.com/skypilot-org/skypilot-catalog/commit/017e2502fb63c7a28757acd94002b2d6099d3e3d)"
)
# The day a reader noted the NAT prices; stored copies of Google's two pages, without a date, say the same.
FEES_DATED: Final = "2026-10-16"
CONTROL_PLANE_DATED: Final = FEES_DATED
CONTROL_PLANE_SOURCE: Final = "https://cloud.google.com/kubernetes-engine/pricing"
NAT_SOURCE: Final = (
    "https://cloud.google.com/nat/pricing "
    "(https://github.com/ChiefGyk3D/Clouds-Against-Humanity/wiki/Provider-GCP-Cost-Lesson)"
)

# The free tier's monthly credit for one zonal cluster is not subtracted.
CONTROL_PLANE_USD: Final = 0.10
_NAT_USD_PER_NODE: Final = 0.0014
_NAT_USD_ABOVE_32_NODES: Final = 0.044
_NAT_ADDRESS_USD: Final = 0.005
# E2, N1 and N2 in https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/gce/gce_price_info.go
_CUSTOM_PREMIUM: Final = 1.05
_SHARED_CORE_BILLED_VCPUS: Final[Mapping[str, float]] = {"e2-micro": 0.25, "e2-small": 0.5, "e2-medium": 1.0}
_HOURS_PER_MONTH: Final = 730

Row = Mapping[str, str]


def machine_price(region: str, machine: Machine, *, spot: bool) -> Price | None:
    """The machine with its GPUs and bundled local SSD."""
    if machine.gpus and machine.family != "n1":
        row = _table("accelerator_machines.csv", "machine").get((region, machine.type))
        usd = _number(row, "spot" if spot else "on_demand")
        return None if usd is None else Price(usd=usd, dated=MACHINES_DATED, source=MACHINES_SOURCE)
    host = _cpu_price(region, machine, spot=spot)
    if host is None or not machine.gpus:
        return host
    row = _table("attached_gpus.csv", "gpu").get((region, machine.gpu or ""))
    each = _number(row, "spot" if spot else "on_demand")
    if each is None:
        return None
    # A sum is only as fresh as its oldest part.
    return Price(usd=host.usd + machine.gpus * each, dated=GPUS_DATED, source=f"{MACHINES_SOURCE}; {GPUS_SOURCE}")


def disk_price(region: str, gib: int) -> Price | None:
    """A balanced persistent disk of ``gib`` GiB for an hour (a 730th of the monthly price)."""
    usd = _number(_table("disks.csv").get((region,)), "balanced_gib_month")
    if usd is None:
        return None
    return Price(usd=usd * gib / _HOURS_PER_MONTH, dated=MACHINES_DATED, source=MACHINES_SOURCE)


def nat_price(nodes: int) -> Price:
    """Cloud NAT for ``nodes`` nodes with one address, without traffic; above 32 nodes the price no longer grows."""
    gateway = _NAT_USD_PER_NODE * nodes if nodes <= 32 else _NAT_USD_ABOVE_32_NODES
    return Price(usd=gateway + _NAT_ADDRESS_USD, dated=FEES_DATED, source=NAT_SOURCE)


def _cpu_price(region: str, machine: Machine, *, spot: bool) -> Price | None:
    row = _table("cpu_families.csv", "family").get((region, machine.family))
    suffix = "spot" if spot else "on_demand"
    vcpu, gib = _number(row, f"vcpu_{suffix}"), _number(row, f"gib_{suffix}")
    if vcpu is None or gib is None:
        return None
    vcpus = _SHARED_CORE_BILLED_VCPUS.get(machine.type, machine.vcpus)
    usd = vcpus * vcpu + machine.memory_gib * gib
    return Price(
        usd=usd * (_CUSTOM_PREMIUM if is_custom(machine.type) else 1), dated=MACHINES_DATED, source=MACHINES_SOURCE
    )


@cache
def _table(name: str, *keys: str) -> Mapping[tuple[str, ...], Row]:
    text = (files("components.catalog.gke") / "data" / name).read_text(encoding="utf-8")
    return {tuple(row[key] for key in ("region", *keys)): row for row in csv.DictReader(text.splitlines())}


def _number(row: Row | None, column: str) -> float | None:
    return float(row[column]) if row and row[column] else None
