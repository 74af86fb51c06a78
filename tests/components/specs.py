"""Small specs for the components' tests; every argument that a test is about is given by the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from typing import Any, TypeVar

from components.cluster import Cluster, ClusterArgs
from components.driver_daemon_set import DriverDaemonSet, DriverDaemonSetArgs
from components.node_pool import (
    AdminPool,
    AdminPoolArgs,
    ClusterAutoscaler,
    ClusterAutoscalerArgs,
    CpuNodePool,
    GpuNodePool,
    NodePoolArgs,
)
from components.settings import Settings
from components.settings.sections.cluster import AuthorizedNetworkSetting, Kubernetes, Network, Security
from components.settings.sections.maintenance import Maintenance
from components.settings.sections.stack_file import StackFile
from facts.concepts.kubernetes import Taint, resource_of
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.pool import (
    ADMIN_POOL_NAME,
    MPS,
    SHARING_LABEL,
    Pool,
    Role,
    admin_pool_labels,
    cpu_pool_labels,
    gpu_pool_labels,
    gpu_pool_taints,
)

ZONE = "us-central1-a"
OfParts = TypeVar("OfParts", bound=Any)
_PARTS: dict[str, type] = {"nodes": Nodes, "scaling": Scaling, "gpus": Gpus}


def cluster_settings(**changes: Any) -> Settings:
    """Settings of a stack without pools but the admin pool; ``changes`` are of any of its sections."""
    values: dict[str, Any] = {
        "day": date(2026, 11, 1),
        "stack": "test",
        "cloud": "gke",
        "cluster_name": "gpu-test",
        "project": "my-project",
        "region": "us-central1",
        "zones": (ZONE,),
        "regional": False,
        "channel": "regular",
        "version": None,
        "authorized_networks": (AuthorizedNetworkSetting(name="office", cidr="203.0.113.0/24"),),
        "private_endpoint": False,
        "dns_endpoint": False,
        "node_cidr": "10.0.0.0/20",
        "pod_cidr": "10.4.0.0/14",
        "service_cidr": "10.8.0.0/20",
        "control_plane_cidr": None,
        "dataplane": None,
        "kms_key": None,
        "deletion_protection": False,
        "autoscaling_profile": "optimize-utilization",
        "autoscaler": "managed",
        "unneeded_minutes": None,
        "gpu_metrics": True,
        "nat_per_zone": False,
        "addons": (),
        "access": (),
        "maintenance": Maintenance(),
        "labels": {"team": "ml"},
        "admin_pool": admin_pool(),
        "gpu_pools": (),
        "cpu_pools": (),
        "budget_hourly_usd": None,
        "cost_idle_hourly": None,
        "cost_max_hourly": None,
        "unpriced": (),
        **changes,
    }
    # Without validation: a test may ask for what a stack file may not.
    for section, model in (("kubernetes", Kubernetes), ("network", Network), ("security", Security)):
        keys = {name: values.pop(name) for name in model.model_fields if name in values}
        values[section] = model.model_construct(**keys)
    file = {name: field.get_default(call_default_factory=True) for name, field in StackFile.model_fields.items()}
    settings = Settings(file=StackFile.model_construct(**file), stack=values.pop("stack"), day=values.pop("day"))
    return given(settings, **values)


def given(settings: Settings, **values: Any) -> Settings:
    """The same settings with other values, whatever the file says."""
    own = {field.name: values.pop(field.name, getattr(settings, field.name)) for field in fields(Settings)}
    return type("Given", (type(settings),), values)(**own)


def admin_pool(
    *, nodes: int = 1, max_nodes: int | None = None, zones: tuple[str, ...] = (ZONE,), **changes: Any
) -> Pool:
    """An admin pool with ``nodes`` in each zone; of fixed size unless it may have ``max_nodes`` over all zones."""
    fewest = nodes * len(zones)
    usual: dict[str, Any] = {
        "machine_types": ("e2-custom-2-10240",),
        "image": "cos",
        "disk_gb": 50,
        "min_nodes": fewest,
        "max_nodes": fewest if max_nodes is None else max_nodes,
        "autoscaled": max_nodes is not None,
        "zones": zones,
        "labels": admin_pool_labels(),
    }
    return _pool(ADMIN_POOL_NAME, "admin", {**usual, **changes})


def cpu_pool(name: str = "cpu", **changes: Any) -> Pool:
    usual: dict[str, Any] = {
        "machine_types": ("e2-standard-4",),
        "image": "cos",
        "disk_gb": 50,
        "max_nodes": 3,
        "zones": (ZONE,),
        "labels": cpu_pool_labels(name, {}),
    }
    return _pool(name, "cpu", {**usual, **changes})


def gpu_pool(
    name: str = "t4-1",
    *,
    gpu: str = "nvidia-t4",
    size: int = 1,
    smallest: int = 1,
    extra_taints: tuple[Taint, ...] = (),
    extra_labels: Mapping[str, str] | None = None,
    **changes: Any,
) -> Pool:
    """A GPU pool, on spot machines unless ``changes`` say otherwise, which are of the pool or one of its parts."""
    capacity_type = (
        "capacity-block"
        if "block" in changes
        else "reserved"
        if "reservation" in changes
        else "flex-start"
        if "max_run_hours" in changes
        else "spot"
    )
    usual: dict[str, Any] = {
        "type": gpu,
        "accelerator": gpu.replace("nvidia-", "nvidia-tesla-"),
        "per_node": size,
        "resource": resource_of(changes.get("type", gpu)),
        "machine_types": ("n1-standard-4",),
        "image": "cos",
        "disk_gb": 100,
        "max_nodes": 2,
        "capacity_type": capacity_type,
        "zones": (ZONE,),
        "labels": gpu_pool_labels(
            name, gpu, size, {**({SHARING_LABEL: MPS} if "mps" in changes else {}), **(extra_labels or {})}
        ),
        "taints": gpu_pool_taints(size, smallest, extra_taints),
    }
    return _pool(name, "gpu", {**usual, **changes})


def _pool(name: str, role: Role, values: Mapping[str, Any]) -> Pool:
    own, parts = _by_part({"name": name, "role": role, **values})
    return Pool(**own, **{part: _PARTS[part](**of_part) for part, of_part in parts.items()})


def changed(of: OfParts, **changes: Any) -> OfParts:
    """The pool, or another record of its parts, with other values of its own or of its parts."""
    own, parts = _by_part(changes)
    return replace(of, **own, **{part: replace(getattr(of, part), **of_part) for part, of_part in parts.items()})


def _by_part(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Those of the record itself, and those of each part."""
    homes = {field.name: part for part, kind in _PARTS.items() for field in fields(kind)}
    parts: dict[str, dict[str, Any]] = {}
    for key in homes.keys() & values.keys():
        parts.setdefault(homes[key], {})[key] = values[key]
    return {key: value for key, value in values.items() if key not in homes}, parts


def declare_cluster(settings: Settings) -> Callable[[], None]:
    """The program of a cluster without any pool, but where the cloud has one in the cluster itself."""

    def program() -> None:
        Cluster("cluster", ClusterArgs(settings=settings))

    return program


def declare(settings: Settings, pools: Sequence[Pool] = (), *, drivers: bool = False) -> Callable[[], None]:
    """The program of a whole cluster with these pools, in the program's order."""

    def program() -> None:
        cluster = Cluster("cluster", ClusterArgs(settings=settings))
        admin = AdminPool("admin", AdminPoolArgs(cluster=cluster, pool=settings.admin_pool))
        autoscaler = ClusterAutoscaler(
            "autoscaler", ClusterAutoscalerArgs(cluster=cluster, admin_pool=admin, pools=pools)
        )
        for pool in pools:
            component = GpuNodePool if pool.role == "gpu" else CpuNodePool
            component(pool.name, NodePoolArgs(cluster=cluster, autoscaler=autoscaler, pool=pool))
        if drivers:
            with_gpus = [pool for pool in pools if pool.role == "gpu"]
            DriverDaemonSet("drivers", DriverDaemonSetArgs(cluster=cluster, pools=with_gpus))

    return program
