"""What the program tells people, where a pool's spec is at an edge."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from components.outputs import gpu_job, quotas
from components.settings import from_stack_file
from components.settings.fields.types import LabelValue
from components.settings.quotas import UNLIMITED, listed
from facts import catalog
from facts.catalog.gke.quotas import quotas as google_quotas
from facts.concepts.pool import Pool
from tests.components import specs
from tests.components.settings.test_clouds import load_stack


@pytest.mark.parametrize("length", [5, 53, 54, 63])
def test_a_jobs_name_is_short_enough_to_be_a_label(length: int) -> None:
    name = "p" * (length - 2) + "-1"
    job = gpu_job(specs.gpu_pool(name), "managed")["metadata"]["name"]
    assert TypeAdapter(LabelValue).validate_python(job) == job
    assert (job == f"gpu-check-{name}") == (length <= 53)


def test_long_pools_of_one_beginning_have_jobs_of_their_own() -> None:
    names = {gpu_job(specs.gpu_pool("p" * 60 + end), "managed")["metadata"]["name"] for end in ("-1", "-2")}
    assert len(names) == 2


def by_name(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {each["quota"]: each["needed"] for each in rows}


def test_the_quotas_of_the_dev_stack_add_up_to_every_pool_at_its_maximum() -> None:
    settings = from_stack_file(Path("Pulumi.dev.yaml"))
    assert settings.stack == "dev"
    rows = quotas(settings)
    # Pools t4-1 and t4-4, spot: 4 nodes each of n1-standard-4 and n1-standard-16, 100 GB; the admin node has 2 vCPUs.
    assert by_name(rows) == {
        "GPUS_ALL_REGIONS": 4 * 1 + 4 * 4,
        "PREEMPTIBLE_NVIDIA_T4_GPUS": 4 * 1 + 4 * 4,
        # The admin pool's node, and one more while it is upgraded.
        "CPUS_ALL_REGIONS": 4 * 4 + 4 * 16 + 2 * 2,
        "CPUS": 2 * 2,
        "PREEMPTIBLE_CPUS": 4 * 4 + 4 * 16,
        "SSD_TOTAL_GB": 8 * 100 + 2 * 50,
        "INSTANCES": 10,
        "STATIC_ADDRESSES": 1,
    }
    instead = {each["quota"]: each["instead"] for each in rows if "instead" in each}
    assert instead == {"PREEMPTIBLE_NVIDIA_T4_GPUS": "NVIDIA_T4_GPUS", "PREEMPTIBLE_CPUS": "CPUS"}
    assert {each["where"] for each in rows} == {"global", "us-central1"}


def test_spot_machines_of_all_families_count_against_one_quota() -> None:
    """``Quota.metric`` of the Compute Engine API has one ``PREEMPTIBLE_CPUS``."""
    rows = quotas(from_stack_file(Path("Pulumi.prod.yaml")))
    (cpus,) = [each for each in rows if each["quota"] == "PREEMPTIBLE_CPUS"]
    # 8 nodes each of g2-standard-4 and g2-standard-48, 2 of a2-highgpu-8g, 6 of n2-standard-4 and one while upgraded.
    assert cpus["needed"] == 8 * 4 + 8 * 48 + 2 * 96 + 7 * 4
    assert cpus["pools"] == ["l4-1-spot", "l4-4-spot", "a100-8-spot", "general-spot"]
    assert cpus["instead"] == "CPUS_PER_VM_FAMILY (G2), A2_CPUS, N2_CPUS"
    assert len({(each["quota"], each["where"]) for each in rows}) == len(rows)


@pytest.mark.parametrize("gpu", catalog.of("gke").machines.accelerators)
@pytest.mark.parametrize("spot", [True, False])
def test_every_gpu_of_google_has_a_quota_of_its_own(gpu: str, spot: bool) -> None:
    machines = catalog.of("gke").machines
    size = machines.gpu_counts(gpu)[0]
    pool = specs.gpu_pool(
        gpu=gpu,
        size=size,
        machine_types=(machines.having(gpu, size)[0].type,),
        capacity_type="spot" if spot else "on-demand",
    )
    *everywhere, own = [quota for quota in google_quotas("us-central1", [pool], 1) if quota.unit == "GPUs"]
    of_all_regions = [] if gpu.startswith("google-tpu") else [("GPUS_ALL_REGIONS", "global", 2 * size)]
    assert [(quota.name, quota.place, quota.needed) for quota in everywhere] == of_all_regions
    assert own.needed == 2 * size
    assert own.name.startswith("PREEMPTIBLE_") is spot
    assert bool(own.instead) is spot


@pytest.mark.parametrize("autoscaler", ["managed", "cluster-autoscaler", "karpenter"])
@pytest.mark.parametrize("pool", [specs.gpu_pool(), specs.gpu_pool(capacity_type="on-demand", mig="1g")])
def test_no_autoscaler_ends_a_job_that_runs(pool: Pool, autoscaler: str) -> None:
    annotations = gpu_job(pool, autoscaler)["spec"]["template"]["metadata"]["annotations"]
    assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"


@pytest.mark.parametrize(
    ("autoscaler", "capacity", "held"),
    [
        ("karpenter", "on-demand", True),
        ("karpenter", "reserved", True),
        # Its machine goes minutes after the warning, whatever a pod asks for: it had better end well.
        ("karpenter", "spot", False),
        ("karpenter", "capacity-block", False),
        ("cluster-autoscaler", "on-demand", False),
        ("managed", "on-demand", False),
    ],
)
def test_karpenter_leaves_a_job_its_node_where_the_node_stays(autoscaler: str, capacity: str, held: bool) -> None:
    job = gpu_job(specs.gpu_pool(capacity_type=capacity), autoscaler)
    annotations = job["spec"]["template"]["metadata"]["annotations"]
    assert (annotations.get("karpenter.sh/do-not-disrupt") == "true") is held


@pytest.mark.parametrize(
    ("capacity", "drained"), [("on-demand", False), ("flex-start", False), ("spot", True), ("capacity-block", True)]
)
def test_no_upgrade_evicts_a_gpu_job_but_where_its_node_ends_it_is_told(capacity: str, drained: bool) -> None:
    metadata = gpu_job(specs.gpu_pool(capacity_type=capacity), "managed")["spec"]["template"]["metadata"]
    assert metadata.get("labels", {}) == ({} if drained else {"gpucluster.dev/uninterrupted": "true"})


@pytest.mark.parametrize(("capacity", "needed"), [("reserved", 4 * 192), ("capacity-block", 0)])
def test_the_machines_of_a_capacity_block_need_no_quota(capacity: str, needed: int) -> None:
    days = {"first": "2099-03-01", "last": "2099-03-08"} if needed == 0 else {}
    pool = {"name": "h100", "gpu": "nvidia-h100-80gb", "gpusPerNode": 8, "maxNodes": 4, "capacity": capacity}
    pool["reservation"] = {"name": "cr-0123456789abcdef1", "zone": "us-west-2b", **days}
    assert of_stack("eks", gpuPools=[pool]).get("Running On-Demand P instances", 0) == needed


def of_stack(cloud: str, **changes: Any) -> dict[str, int]:
    """Needed of each quota, by the name without the code behind it."""
    return {name.partition(" (L-")[0]: needed for name, needed in by_name(quotas(load_stack(cloud, **changes))).items()}


T4 = {"name": "t4", "gpu": "nvidia-t4", "gpusPerNode": [1, 4], "maxNodes": 3}
# vCPUs of the machines with one and with four T4s: of those that a pool mixes the largest.
VCPUS = {"eks": 4 + 48, "aks": 4 + 64}
ON_DEMAND = {"eks": "Running On-Demand G and VT instances", "aks": "Standard NCASv3_T4 Family"}
SPOT = {"eks": "All G and VT Spot Instance Requests", "aks": "Total Regional Spot vCPUs (lowPriorityCores)"}


@pytest.mark.parametrize("cloud", ["eks", "aks"])
def test_machines_on_demand_count_by_the_vcpus_of_their_family(cloud: str) -> None:
    needed = of_stack(cloud, gpuPools=[T4], cpuPools=[])
    assert needed[ON_DEMAND[cloud]] == 3 * VCPUS[cloud]
    assert SPOT[cloud] not in needed


@pytest.mark.parametrize("cloud", ["eks", "aks"])
def test_spot_counts_apart(cloud: str) -> None:
    pool = {**T4, "capacity": "spot", "machineType": SMALLEST[cloud], "gpusPerNode": 1}
    needed = of_stack(cloud, gpuPools=[pool], cpuPools=[])
    assert needed[SPOT[cloud]] == 3 * 4
    assert ON_DEMAND[cloud] not in needed


SMALLEST = {"eks": "g4dn.xlarge", "aks": "Standard_NC4as_T4_v3"}


@pytest.mark.parametrize("cloud", ["eks", "aks"])
def test_both_fallback_pools_count_because_both_may_run(cloud: str) -> None:
    pool = {**T4, "capacity": "spot-with-fallback", "machineType": SMALLEST[cloud], "gpusPerNode": 1}
    if cloud == "eks":
        del pool["machineType"]
    needed = of_stack(cloud, gpuPools=[pool], cpuPools=[])
    assert {SPOT[cloud], ON_DEMAND[cloud]} <= needed.keys()


def test_karpenter_needs_no_quota_for_the_nodes_of_an_upgrade() -> None:
    pool, quota = {"name": "c", "maxNodes": 3}, "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
    autoscalers = ({"autoscaler": each} for each in ("karpenter", "cluster-autoscaler"))
    karpenter, node_groups = (of_stack("eks", cpuPools=[pool], autoscaling=each)[quota] for each in autoscalers)
    assert karpenter < node_groups


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_every_machine_of_the_catalogue_counts_against_something(cloud: str) -> None:
    machines = catalog.of(cloud).machines
    for gpu in catalog.of(cloud).machines.accelerators:
        for size in machines.gpu_counts(gpu):
            for machine in machines.having(gpu, size):
                for spot in (True, False):
                    pool = specs.gpu_pool(
                        gpu=gpu, size=size, machine_types=(machine.type,), capacity_type="spot" if spot else "on-demand"
                    )
                    required = catalog.of(cloud).account.quotas(catalog.of(cloud).reference_region, [pool], 1)
                    # TPUs have a quota of their own, and their machines' vCPUs none.
                    unit, least = ("GPUs", 2 * size) if "tpu" in gpu else ("vCPUs", 2 * machine.vcpus)
                    assert sum(quota.needed for quota in required if quota.unit == unit) >= least


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_gateways_have_addresses(cloud: str) -> None:
    for regional, expected in ((False, 1), (True, 3 if cloud == "eks" else 1)):
        known = catalog.of(cloud)
        required = known.account.quotas(known.reference_region, [], 3 if regional else 1)
        assert [(quota.unit, quota.needed) for quota in required] == [("addresses", expected)]


@pytest.mark.parametrize("file", sorted(Path("examples").glob("*-existing-cluster.yaml")), ids=lambda file: file.stem)
def test_on_a_cluster_of_others_only_the_pools_need_quota(file: Path) -> None:
    rows = quotas(from_stack_file(file))
    assert rows
    assert [each for each in rows if not each.get("pools")] == []


@pytest.mark.parametrize("file", sorted(Path("examples").glob("*.yaml")), ids=lambda file: file.stem)
def test_nobody_is_told_to_ask_for_nothing(file: Path) -> None:
    assert [each for each in quotas(from_stack_file(file)) if each["needed"] == 0] == []


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_the_list_to_ask_for_has_the_numbers_of_the_output(cloud: str) -> None:
    settings = from_stack_file(f"examples/{cloud}-company.yaml")
    text = listed(settings, UNLIMITED)
    for quota in quotas(settings):
        lines = [line for line in text.splitlines() if f"  {quota['quota']}" in line and f" {quota['where']} " in line]
        assert [str(quota["needed"]), quota["unit"]] in [line.split()[:2] for line in lines]
    (page,) = [line for line in text.splitlines() if line.startswith("View and request quota: https://")]
    assert "{" not in page
    narrow = listed(settings, 80)
    assert narrow.replace(" \\\n", "").split() != text.split()
    assert [line for line in narrow.splitlines() if len(line) > 80 and "https://" not in line] == []
    assert page in narrow.splitlines(), "an address stays whole"
    for quota in quotas(settings):
        assert re.search(
            rf"^ *{quota['needed']} {quota['unit']} +{re.escape(quota['quota'][:20])}", narrow, re.MULTILINE
        )
    commands = [line for line in text.splitlines() if line.startswith("gcloud ")]
    assert [line for line in narrow.replace(" \\\n  ", " ").splitlines() if line.startswith("gcloud ")] == commands
