"""Small specs for the components' tests; every argument that a test is about is given by the test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.clouds.base import AuthorizedNetwork, ClusterSpec
from components.pools import (
    AdminPoolSpec,
    CpuPoolSpec,
    GpuPoolSpec,
    admin_pool_labels,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)
from policies.rules.model import Taint

ZONE = "us-central1-a"


def cluster_spec(**changes: Any) -> ClusterSpec:
    usual: dict[str, Any] = {
        "name": "gpu-test",
        "project": "my-project",
        "region": "us-central1",
        "zones": (ZONE,),
        "regional": False,
        "channel": "regular",
        "version": None,
        "authorized_networks": (AuthorizedNetwork(name="office", cidr="203.0.113.0/24"),),
        "private_endpoint": False,
        "node_cidr": "10.0.0.0/20",
        "pod_cidr": "10.4.0.0/14",
        "service_cidr": "10.8.0.0/20",
        "control_plane_cidr": None,
        "kms_key": None,
        "deletion_protection": False,
        "autoscaling_profile": "optimize-utilization",
        "labels": {"team": "ml"},
    }
    return ClusterSpec(**{**usual, **changes})


def admin_pool(**changes: Any) -> AdminPoolSpec:
    usual: dict[str, Any] = {
        "machine_type": "e2-custom-2-10240",
        "zones": (ZONE,),
        "labels": admin_pool_labels(),
    }
    return AdminPoolSpec(**{**usual, **changes})


def cpu_pool(name: str = "cpu", **changes: Any) -> CpuPoolSpec:
    usual: dict[str, Any] = {
        "name": name,
        "machine_type": "e2-standard-4",
        "max_nodes": 3,
        "spot": False,
        "zones": (ZONE,),
        "labels": cpu_pool_labels(name, {}),
    }
    return CpuPoolSpec(**{**usual, **changes})


def gpu_pool(
    name: str = "t4-1",
    *,
    gpu: str = "nvidia-t4",
    size: int = 1,
    smallest: int = 1,
    extra_taints: tuple[Taint, ...] = (),
    extra_labels: Mapping[str, str] | None = None,
    **changes: Any,
) -> GpuPoolSpec:
    usual: dict[str, Any] = {
        "name": name,
        "gpu": gpu,
        "accelerator": gpu.replace("nvidia-", "nvidia-tesla-"),
        "gpus_per_node": size,
        "machine_type": "n1-standard-4",
        "max_nodes": 2,
        "spot": True,
        "zones": (ZONE,),
        "labels": gpu_pool_labels(name, gpu, size, extra_labels or {}),
        "taints": gpu_pool_taints(size, smallest, extra_taints),
    }
    return GpuPoolSpec(**{**usual, **changes})
