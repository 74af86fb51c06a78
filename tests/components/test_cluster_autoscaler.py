"""What the stack says about its autoscaler."""

from __future__ import annotations

import pytest

from components.clouds.base import load_cloud
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import Pool
from tests import recorder
from tests.components import specs


def test_it_creates_no_autoscaler_where_the_cloud_manages_it() -> None:
    recording = recorder.run(specs.declare(specs.cluster_settings(), [specs.gpu_pool()]))
    autoscaler = recording.only("gpucluster:index:ClusterAutoscaler")
    kinds = {child.type.rpartition(":")[2] for child in recording.resources if child.parent == autoscaler.urn}
    assert kinds == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    stated = recording.outputs[autoscaler.urn]["pools"]["t4-1"]
    assert (stated["min"], stated["max"], stated["locationPolicy"]) == (0, 2, "ANY")
    assert "optimize-utilization" in stated["governedBy"]


@pytest.mark.parametrize(
    ("pool", "reason"),
    [
        (specs.gpu_pool(), "yes: the minimum is 0 and the taints nvidia.com/gpu=present:NoSchedule keep"),
        (specs.cpu_pool(), "the pool has no taint, so a system pod may keep its last node"),
        (specs.cpu_pool(min_nodes=2), "no: the minimum is 2"),
        (specs.cpu_pool(taints=(Taint("a", "b", "PreferNoSchedule"),)), "the pool has no taint"),
    ],
)
def test_why_a_pool_reaches_zero_or_does_not(pool: Pool, reason: str) -> None:
    assert reason in load_cloud("gke").governance(pool, specs.cluster_settings()).reaches_zero


def test_the_profiles_differ_in_when_nodes_go() -> None:
    cloud, pool = load_cloud("gke"), specs.gpu_pool()
    profiles = [specs.cluster_settings(autoscaling_profile=profile) for profile in ("balanced", "optimize-utilization")]
    assert len({cloud.governance(pool, spec).scale_down for spec in profiles}) == 2
