"""Every GPU of the catalogue has a quota that it counts against, as soon as it is in the tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from facts import catalog
from facts.concepts.pool import FlexStart
from tests.components import specs

GPUS = [(cloud, gpu) for cloud in catalog.clouds() for gpu in catalog.of(cloud).accelerators]


@pytest.mark.parametrize("spot", [True, False], ids=["spot", "on demand"])
@pytest.mark.parametrize(("cloud", "gpu"), GPUS)
def test_a_pool_of_every_gpu_counts_against_a_named_quota(cloud: str, gpu: str, spot: bool) -> None:
    known = catalog.of(cloud)
    for size in known.machines.gpu_counts(gpu):
        pool = specs.gpu_pool(gpu=gpu, per_node=size, spot=spot, max_nodes=3)
        pool = replace(pool, machine_types=(known.machines.having(gpu, size)[0].type,))
        quotas = known.quotas(known.reference_region, [pool], 1)
        compute = [quota for quota in quotas if pool.name in quota.pools and quota.unit in ("GPUs", "vCPUs")]
        assert compute
        assert all(quota.name and "()" not in quota.name and quota.needed > 0 for quota in compute)


def test_a_gpu_of_gke_has_a_quota_or_a_quota_family() -> None:
    """``PREEMPTIBLE_`` and ``GPUS_PER_GPU_FAMILY ()`` would be quotas that no project has."""
    for accelerator in catalog.of("gke").accelerators.values():
        assert (accelerator.quota is None) != (accelerator.quota_family is None), accelerator.gpu


def test_flex_start_on_gke_needs_the_preemptible_quotas() -> None:
    """https://docs.cloud.google.com/compute/docs/instances/provisioning-models"""
    pool = specs.gpu_pool(
        gpu="nvidia-h200-141gb", per_node=8, spot=False, max_nodes=2, flex_start=FlexStart(max_run_hours=5)
    )
    pool = replace(pool, machine_types=("a3-ultragpu-8g",))
    named = {(quota.name, quota.instead) for quota in catalog.of("gke").quotas("us-central1", [pool], 1)}
    assert {
        ("PREEMPTIBLE_NVIDIA_H200_GPUS", "GPUS_PER_GPU_FAMILY (NVIDIA_H200)"),
        ("PREEMPTIBLE_CPUS", "CPUS_PER_VM_FAMILY (A3)"),
        ("PREEMPTIBLE_LOCAL_SSD_GB", "LOCAL_SSD_TOTAL_STORAGE_PER_VM_FAMILY (A3)"),
    } <= named
