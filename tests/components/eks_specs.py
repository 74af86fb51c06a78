"""Small specs for the tests of EKS; every argument that a test is about is given by the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.admin_pool import AdminPool, AdminPoolArgs
from components.clouds.base import ClusterSpec, load_cloud
from components.cluster import Cluster, ClusterArgs
from components.cluster_autoscaler import ClusterAutoscaler, ClusterAutoscalerArgs
from components.cpu_node_pool import CpuNodePool, CpuNodePoolArgs
from components.gpu_node_pool import GpuNodePool, GpuNodePoolArgs
from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec, gpu_pool_labels
from tests import recorder
from tests.components import specs

REGION = "us-west-2"
ZONE = "us-west-2a"
THREE_ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
_recorded: dict[str, recorder.Recording] = {}

ACCELERATOR = "k8s.amazonaws.com/accelerator"


def cluster_spec(**changes: Any) -> ClusterSpec:
    usual: dict[str, Any] = {
        "region": REGION,
        "project": REGION,
        "zones": (ZONE,),
        "node_cidr": "10.0.0.0/16",
        "pod_cidr": None,
        "service_cidr": "172.20.0.0/16",
        "autoscaler": "cluster-autoscaler",
    }
    return specs.cluster_spec(**{**usual, **changes})


def admin_pool(**changes: Any) -> AdminPoolSpec:
    return specs.admin_pool(**{"machine_type": "r6i.large", "zones": (ZONE,), **changes})


def cpu_pool(name: str = "cpu", **changes: Any) -> CpuPoolSpec:
    return specs.cpu_pool(name, **{"machine_type": "m6i.xlarge", "zones": (ZONE,), **changes})


def gpu_pool(
    name: str = "t4-1-a", *, size: int = 1, extra_labels: Mapping[str, str] | None = None, **changes: Any
) -> GpuPoolSpec:
    usual: dict[str, Any] = {
        "machine_type": "g4dn.xlarge",
        "zones": (ZONE,),
        "image": "al2023",
        "accelerator": "nvidia-tesla-t4",
        "labels": gpu_pool_labels(name, "nvidia-t4", size, {ACCELERATOR: "nvidia-tesla-t4", **(extra_labels or {})}),
    }
    return specs.gpu_pool(name, size=size, **{**usual, **changes})


def run(
    *pools: CpuPoolSpec | GpuPoolSpec,
    admin: AdminPoolSpec | None = None,
    cluster: Mapping[str, Any] | None = None,
) -> recorder.Recording:
    """A whole cluster with these pools, declared in the program's order."""
    spec = cluster_spec(**(cluster or {}))
    return recorder.run(lambda: _declare(spec, admin or admin_pool(zones=spec.zones), pools))


def recorded(
    *pools: CpuPoolSpec | GpuPoolSpec,
    admin: AdminPoolSpec | None = None,
    cluster: Mapping[str, Any] | None = None,
) -> recorder.Recording:
    """The same, recorded once for equal arguments: for tests that only look."""
    key = repr((pools, admin, cluster))
    if key not in _recorded:
        _recorded[key] = run(*pools, admin=admin, cluster=cluster)
    return _recorded[key]


def _declare(spec: ClusterSpec, home: AdminPoolSpec, pools: Sequence[CpuPoolSpec | GpuPoolSpec]) -> None:
    cluster = Cluster("cluster", ClusterArgs(cloud=load_cloud("eks"), spec=spec))
    admin = AdminPool("admin", AdminPoolArgs(cluster=cluster, spec=home))
    ClusterAutoscaler("autoscaler", ClusterAutoscalerArgs(cluster=cluster, admin_pool=admin, pools=pools))
    for pool in pools:
        if isinstance(pool, GpuPoolSpec):
            GpuNodePool(pool.name, GpuNodePoolArgs(cluster=cluster, admin_pool=admin, spec=pool))
        else:
            CpuNodePool(pool.name, CpuNodePoolArgs(cluster=cluster, admin_pool=admin, spec=pool))
