"""Every GPU has a quota that it counts against; every table of facts has a day and a source."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from facts import catalog
from facts.catalog.ages import dated_rows, priced_of, report
from facts.catalog.tables import parsed
from facts.concepts.parts import Upgrade
from facts.concepts.pool import Pool
from tests.components import specs

GPUS = [(cloud, gpu) for cloud in catalog.clouds() for gpu in catalog.of(cloud).machines.accelerators]


@pytest.mark.parametrize("spot", [True, False], ids=["spot", "on demand"])
@pytest.mark.parametrize(("cloud", "gpu"), GPUS)
def test_a_pool_of_every_gpu_counts_against_a_named_quota(cloud: str, gpu: str, spot: bool) -> None:
    known = catalog.of(cloud)
    for size in known.machines.gpu_counts(gpu):
        pool = specs.gpu_pool(gpu=gpu, per_node=size, capacity_type="spot" if spot else "on-demand", max_nodes=3)
        pool = specs.changed(pool, machine_types=(known.machines.having(gpu, size)[0].type,))
        quotas = known.account.quotas(known.reference_region, [pool], 1)
        compute = [quota for quota in quotas if pool.name in quota.pools and quota.unit in ("GPUs", "vCPUs")]
        assert compute
        assert all(quota.name and "()" not in quota.name and quota.needed > 0 for quota in compute)


def test_a_gpu_of_gke_has_a_quota_or_a_quota_family() -> None:
    """``PREEMPTIBLE_`` and ``GPUS_PER_GPU_FAMILY ()`` would be quotas that no project has."""
    for accelerator in catalog.of("gke").machines.accelerators.values():
        assert (accelerator.quota is None) != (accelerator.quota_family is None), accelerator.gpu


def test_flex_start_on_gke_needs_the_preemptible_quotas() -> None:
    """https://docs.cloud.google.com/compute/docs/instances/provisioning-models"""
    flex: dict[str, Any] = {"max_nodes": 2, "max_run_hours": 5}
    pool = specs.gpu_pool(gpu="nvidia-h200-141gb", per_node=8, **flex)
    pool = specs.changed(pool, machine_types=("a3-ultragpu-8g",))
    named = {(quota.name, quota.instead) for quota in catalog.of("gke").account.quotas("us-central1", [pool], 1)}
    assert {
        ("PREEMPTIBLE_NVIDIA_H200_GPUS", "GPUS_PER_GPU_FAMILY (NVIDIA_H200)"),
        ("PREEMPTIBLE_CPUS", "CPUS_PER_VM_FAMILY (A3)"),
        ("PREEMPTIBLE_LOCAL_SSD_GB", "LOCAL_SSD_TOTAL_STORAGE_PER_VM_FAMILY (A3)"),
    } <= named


ROOT = Path(__file__).parents[3]
TABLES = ROOT / "facts/catalog"
RULES = ROOT / "packages/rehearsal/rehearsal/providers"
SOURCES = (TABLES / "data/sources.csv", RULES / "sources.csv")


def row(dated: str, source: str = "https://cloud.example/page") -> dict[str, str]:
    return {"table": "gke/zones", "dated": dated, "source": source}


def test_each_table_of_the_catalogue_has_one_row() -> None:
    paths = [path for path in TABLES.rglob("data/*.csv") if path.stem not in ("sources", "fees")]
    tables = {"/".join((*path.relative_to(TABLES).parts[:-2], path.stem)) for path in paths}
    assert sorted(row["table"] for row in parsed(SOURCES[0].read_text())) == sorted(tables)


def test_each_file_of_rules_has_one_row() -> None:
    files = [str(path.relative_to(RULES)) for path in RULES.rglob("rules.yaml")]
    assert sorted(row["table"] for row in parsed(SOURCES[1].read_text())) == sorted(files)
    assert len(files) == 3


def test_every_day_is_over_and_every_source_a_link() -> None:
    rows = [*dated_rows(SOURCES)]
    assert [row for row in rows if not "2024-01-01" < row["dated"] <= date.today().isoformat()] == []
    assert [row["table"] for row in rows if not row["source"].startswith("https://")] == [
        "aks/recorded_machines",
        "aks/system_pods",
    ]


def test_a_fact_is_old_after_a_year() -> None:
    today = date(2026, 11, 25)
    assert report([row("2025-11-25")], today) == ["1 source of facts, the oldest of 2025-11-25; 0 older than a year."]
    old = "2025-11-24  gke/zones: older than a year; read https://cloud.example/page again"
    assert report([row("2025-11-24")], today)[0] == old


def test_it_is_said_of_how_many_machines_the_price_is_known() -> None:
    line, _, without = priced_of(catalog.of("aks")).partition("; regions without a price: ")
    machines, regions, on_demand, spot, limits = map(int, re.findall(r"\d+", line.partition(":")[2]))
    assert machines == limits > on_demand > 400 > regions > spot == 0
    assert without == "none"


def test_general_knowledge_is_listed() -> None:
    (line, *_) = report([row("2026-11-01", source="")], date(2026, 11, 25))
    assert line == "2026-11-01  gke/zones: without a source, general knowledge"


@pytest.mark.parametrize(
    ("pool", "gke", "eks"),
    [
        (specs.admin_pool(), 1, 2),
        (specs.cpu_pool(zones=("a", "b", "c")), 1, 6),
        (specs.cpu_pool(zones=("a", "b", "c"), capacity_type="spot"), 1, 6),
        (specs.cpu_pool(upgrade=Upgrade(max_unavailable=3)), 0, 3),
        (specs.cpu_pool(upgrade=Upgrade(max_surge=2, max_unavailable=1)), 2, None),
        (specs.cpu_pool(upgrade=Upgrade(max_surge=0, max_unavailable=1)), 0, 0),
        (specs.gpu_pool(zones=("a", "b", "c")), 0, 0),
        (specs.gpu_pool(upgrade=Upgrade(max_surge=1)), 1, 0),
    ],
)
def test_quotas_have_room_for_an_upgrades_nodes(pool: Pool, gke: int, eks: int | None) -> None:
    for cloud, machine, more in (("gke", "e2-standard-4", gke), ("eks", "m6i.large", eks)):
        known = catalog.of(cloud)
        quotas = known.account.quotas(known.reference_region, [specs.changed(pool, machine_types=(machine,))], 0)
        (disks,) = [quota.needed for quota in quotas if quota.unit == "GB"]
        assert more is None or disks == pool.nodes.disk_gb * (pool.scaling.max_nodes + more)
