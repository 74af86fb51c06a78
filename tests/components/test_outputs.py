"""What the program tells people, where a pool's spec is at an edge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import catalog
from catalog.gke.quotas import quotas as google_quotas
from components.outputs import gpu_job, quotas
from components.settings import from_stack_file
from components.settings.fields import label_value
from concepts.pool import Pool
from tests.components import specs


@pytest.mark.parametrize("length", [5, 53, 54, 63])
def test_a_jobs_name_is_short_enough_to_be_a_label(length: int) -> None:
    name = "p" * (length - 2) + "-1"
    job = gpu_job(specs.gpu_pool(name))["metadata"]["name"]
    assert label_value(job) == job
    assert (job == f"gpu-check-{name}") == (length <= 53)


def test_long_pools_of_one_beginning_have_jobs_of_their_own() -> None:
    names = {gpu_job(specs.gpu_pool("p" * 60 + end))["metadata"]["name"] for end in ("-1", "-2")}
    assert len(names) == 2


def by_name(found: list[dict[str, Any]]) -> dict[str, int]:
    return {each["quota"]: each["needed"] for each in found}


def test_the_quotas_of_the_dev_stack_add_up_to_every_pool_at_its_maximum() -> None:
    found = quotas(from_stack_file(Path("Pulumi.dev.yaml")))
    # Pools t4-1 and t4-4, spot: 4 nodes each of n1-standard-4 and n1-standard-16, 100 GB; the admin node has 2 vCPUs.
    assert by_name(found) == {
        "GPUS_ALL_REGIONS": 4 * 1 + 4 * 4,
        "PREEMPTIBLE_NVIDIA_T4_GPUS": 4 * 1 + 4 * 4,
        "CPUS_ALL_REGIONS": 4 * 4 + 4 * 16 + 2,
        "CPUS": 2,
        "PREEMPTIBLE_CPUS": 4 * 4 + 4 * 16,
        "SSD_TOTAL_GB": 8 * 100 + 50,
        "INSTANCES": 9,
    }
    instead = {each["quota"]: each["instead"] for each in found if "instead" in each}
    assert instead == {"PREEMPTIBLE_NVIDIA_T4_GPUS": "NVIDIA_T4_GPUS", "PREEMPTIBLE_CPUS": "CPUS"}
    assert {each["where"] for each in found} == {"global", "us-central1"}


@pytest.mark.parametrize("gpu", [gpu.name for gpu in catalog.gpus("gke")])
@pytest.mark.parametrize("spot", [True, False])
def test_every_gpu_of_google_has_a_quota_of_its_own(gpu: str, spot: bool) -> None:
    machines = catalog.of("gke").machines
    size = machines.gpu_counts(gpu)[0]
    pool = specs.gpu_pool(gpu=gpu, size=size, machine_types=(machines.having(gpu, size)[0].type,), spot=spot)
    found = [quota for quota in google_quotas("us-central1", [pool]) if quota.unit == "GPUs"]
    assert [quota.needed for quota in found] == [2 * size, 2 * size]
    everywhere, own = found
    assert (everywhere.name, everywhere.place) == ("GPUS_ALL_REGIONS", "global")
    assert own.name.startswith("PREEMPTIBLE_") is spot
    assert bool(own.instead) is spot


@pytest.mark.parametrize("pool", [specs.gpu_pool(), specs.gpu_pool(spot=False, mig="1g")])
def test_no_autoscaler_ends_a_job_that_runs(pool: Pool) -> None:
    annotations = gpu_job(pool)["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
