"""Facts about Google's machines and regions that no resource carries: GPUs of a machine type, prices, carbon data."""

from __future__ import annotations

import csv
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from policies.rules.model import UNKNOWN, Carbon, Maybe
from policies.values import at, items, text, whole

CLOUD: Final = "gke"
# https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/NodeConfig: diskSizeGb
_DEFAULT_DISK_GB: Final = 100

# Machine families whose machines bring their GPUs: https://cloud.google.com/compute/docs/gpus
_GPU_FAMILY: Final = re.compile(r"^(a[2-9]x?|g[2-9])-")
_GPUS_IN_NAME: Final = re.compile(r"gpu-(\d+)g")
# GPUs of the g2 (L4) and g4 (RTX PRO 6000) machines by vCPUs; smaller ones have one, or a part of one.
_GPUS_BY_VCPUS: Final = {"g2": ((24, 2), (48, 4), (96, 8)), "g4": ((96, 2), (192, 4), (384, 8))}

CARBON_SOURCE: Final = "https://github.com/GoogleCloudPlatform/region-carbon-info"
CARBON_YEAR: Final = 2025
"""The table is data/yearly/2025.csv of that repository, read on 2026-11-21."""


def whole_machine_gpus(machine_type: str | None) -> int:
    """GPUs that are part of the machine type; 0 for types without.

    A type of a GPU family whose name tells no number counts as one GPU, so that it is never taken for a CPU machine.
    """
    if machine_type is None or not (family := _GPU_FAMILY.match(machine_type)):
        return 0
    if named := _GPUS_IN_NAME.search(machine_type):
        return int(named.group(1))
    vcpus = int(machine_type.rpartition("-")[2]) if machine_type.rpartition("-")[2].isdigit() else 0
    return dict(_GPUS_BY_VCPUS.get(family.group(1), ())).get(vcpus, 1)


def carbon(region: Maybe[str | None]) -> Carbon | None:
    """The region's carbon data; ``None`` where Google publishes none."""
    return None if region is UNKNOWN or region is None else _carbon_table().get(region)


def node_hourly_usd(config: Any, region: Maybe[str | None], spot: Maybe[bool]) -> float | None:
    """US dollars an hour for one node (machine, GPUs, boot disk) by list price; ``None`` where no price is known."""
    machine = text(at(config, "machineType"))
    if not isinstance(machine, str) or not isinstance(region, str) or spot is UNKNOWN:
        return None
    # The catalogue reads files; only programs with node pools pay for that.
    from components import catalog

    prices = catalog.of(CLOUD)
    accelerator = next(iter(items(at(config, "guestAccelerators"))), None)
    kind, count = text(at(accelerator, "type")), whole(at(accelerator, "count"), default=0)
    gpu = next((known.gpu for known in prices.accelerators().values() if known.name == kind), None)
    if kind is UNKNOWN or not isinstance(count, int) or (kind is not None and gpu is None):
        return None
    node = catalog.price_per_hour(CLOUD, region, machine, gpu, count, spot=spot)
    size = whole(at(config, "diskSizeGb"), default=_DEFAULT_DISK_GB)
    disk = prices.disk_price(region, size) if isinstance(size, int) else None
    return None if node is None or disk is None else node.usd + disk.usd


@lru_cache(maxsize=1)
def _carbon_table() -> dict[str, Carbon]:
    table = Path(__file__).parent / "data" / "gcp_region_carbon.csv"
    with table.open(encoding="utf-8", newline="") as lines:
        return {
            row["region"]: Carbon(
                int(row["carbon_free_percent"]), float(row["grid_grams_co2eq_per_kwh"]), CARBON_YEAR, CARBON_SOURCE
            )
            for row in csv.DictReader(lines)
        }
