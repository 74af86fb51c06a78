"""The catalogue agrees with itself, with Google's discovery documents and with figures known from elsewhere."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest

from facts import catalog
from facts.catalog import Machine, Resources
from facts.catalog.gke import machines, nodes
from facts.concepts.pool import Arch

GKE = catalog.of("gke")
GPU_NAMES = list(GKE.machines.accelerators)


def discovery(api: str) -> str:
    """The text of a Google API's discovery document."""
    folder = files("googleapiclient") / "discovery_cache" / "documents"
    return (folder / f"{api}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("machine", "gpu", "count", "fits"),
    [
        ("n1-standard-8", "nvidia-v100", 1, True),
        ("n1-standard-16", "nvidia-v100", 1, False),  # 12 vCPUs at most
        ("n1-highmem-8", "nvidia-v100", 1, True),
        ("n1-standard-32", "nvidia-t4", 1, True),
        ("n1-standard-64", "nvidia-t4", 1, False),
        ("custom-12-79872", "nvidia-v100", 1, True),
        ("n2-standard-8", "nvidia-t4", 1, False),  # only N1 takes GPUs
        ("g2-standard-24", "nvidia-l4", 2, True),
        ("g2-standard-24", "nvidia-l4", 1, False),
    ],
)
def test_gpus_attach_to_the_documented_machines_only(machine: str, gpu: str, count: int, fits: bool) -> None:
    assert (GKE.machines.with_gpus(machine, gpu, count) is not None) == fits


def test_attachment_limits_grow_with_the_number_of_gpus() -> None:
    for limits in machines.N1_LIMITS.values():
        assert [limit.gpus for limit in limits] == sorted(limit.gpus for limit in limits)
        assert [limit.max_vcpus for limit in limits] == sorted(limit.max_vcpus for limit in limits)


def test_a_region_has_three_zones_or_more() -> None:
    assert min(len(zones) for zones in GKE.regions.values()) == 3


def test_nat_price_stops_growing_at_32_nodes() -> None:
    # Google's own examples on https://cloud.google.com/nat/pricing, less their traffic.
    address = 0.005
    assert 720 * (GKE.prices.nat(14, 1).usd - address) == pytest.approx(18.61 - 100 * 0.045, abs=0.01)
    assert 720 * (GKE.prices.nat(36, 1).usd - address) == pytest.approx(40.68 - 200 * 0.045, abs=0.01)
    assert GKE.prices.nat(33, 1) == GKE.prices.nat(100, 1)


def test_shared_cores_have_their_own_allocatable_cpu() -> None:
    # https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
    machine = catalog.of("gke").machines.get("e2-medium")
    assert machine is not None
    assert nodes.allocatable(machine).milli_cpu == 940


@pytest.mark.parametrize(
    ("gib", "arch", "kernel"), [(32, "amd64", 675), (48, "amd64", 957), (2952, "amd64", 47383), (16, "arm64", 413)]
)
def test_allocatable_memory_is_without_the_kernels_and_follows_the_tiers(gib: int, arch: Arch, kernel: int) -> None:
    """Measured, between two measured sizes, and above all of them: on the line through the last two."""
    machine = Machine(type="x", family="x", vcpus=8, memory_gib=gib, arch=arch)
    # 25 % of 4000 MiB, 20 % of 4000, 10 % of 8000, 6 % of 112000, 2 % of more; and 100 MiB for eviction.
    more = 1024 * gib - 16000
    tiers = 1000 + 800 + 800 + int(0.06 * min(more, 112000) + 0.02 * max(0, more - 112000))
    left = 1024 * gib - kernel - tiers - 100
    assert nodes.allocatable(machine) == Resources(milli_cpu=7910, memory_mib=left)


def test_quotas_are_metrics_of_the_compute_api() -> None:
    quota = json.loads(discovery("compute.v1"))["schemas"]["Quota"]["properties"]["metric"]["enum"]
    for accelerator in GKE.machines.accelerators.values():
        if accelerator.quota is not None:
            assert accelerator.quota in quota
            assert f"PREEMPTIBLE_{accelerator.quota}" in quota


def test_no_gpu_quota_of_the_compute_api_is_unknown_here() -> None:
    quota = json.loads(discovery("compute.v1"))["schemas"]["Quota"]["properties"]["metric"]["enum"]
    named = {metric for metric in quota if re.fullmatch(r"NVIDIA_[A-Z0-9_]+_GPUS", metric) and "VWS" not in metric}
    known = {accelerator.quota for accelerator in GKE.machines.accelerators.values()}
    assert named - known == {"NVIDIA_K80_GPUS"}
