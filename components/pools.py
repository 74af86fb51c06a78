"""What a stack file's pools resolve to: one spec per pool that the cloud will have. No Pulumi import, no cloud names.

``components.settings.load(config, *, stack, project) -> Settings`` makes them; components turn them into resources.
Names, labels and taints are final: nobody downstream adds to them, so rules, cloud and rehearsal see the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from policies.rules.model import (
    GPU_LABEL,
    GPU_PRESENT_LABEL,
    GPU_TAINT,
    POOL_LABEL,
    ROLE_LABEL,
    SIZE_KEY,
    NodeGroup,
    Taint,
    size_taint,
)

Image = Literal["cos", "ubuntu", "al2023", "bottlerocket", "azurelinux"]
Drivers = Literal["managed", "daemonset", "none"]
DriverVersion = Literal["default", "latest"]

ADMIN_POOL_NAME: Final = "admin"

# https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles
MIG_SLICES: Final[Mapping[str, int]] = {"1g": 7, "2g": 3, "3g": 2, "4g": 1, "7g": 1}
"""Compute slice → how many of them a GPU is partitioned into."""


@dataclass(frozen=True, kw_only=True)
class TimeSharing:
    """One physical GPU shown to the cluster as ``clients_per_gpu`` GPUs (2 to 48); pods share its time and memory."""

    clients_per_gpu: int


@dataclass(frozen=True, kw_only=True)
class GpuPoolSpec:
    """One pool of identical GPU nodes, autoscaled between ``min_nodes`` and ``max_nodes`` (totals over ``zones``).

    ``gpu`` is the catalogue's name, ``accelerator`` the cloud's. ``gpus_per_node`` counts physical GPUs.
    ``preference`` orders the twins of one size: 0 is tried first (spot), 1 is its on-demand fallback.
    ``machine_types`` are all types the pool may consist of, ``machine_type`` (what an autoscaler plans with) first;
    more than one only where the cloud mixes types in a spot pool. All have the same number of GPUs.
    ``mig`` is the compute slice (``1g``) that each GPU is partitioned into. ``drivers="none"``: the user installs them.
    ``unneeded_minutes`` is how long a node stays idle before it goes; ``None`` leaves it to the cluster's profile.
    ``hourly_usd`` is the list price of one running node (machine, GPUs, boot disk); ``None`` where it is not known.
    ``declared_at`` is the key path of the stack file's entry (``gpuPools[0]``), for messages.
    """

    name: str
    gpu: str
    accelerator: str
    gpus_per_node: int
    machine_type: str
    min_nodes: int = 0
    max_nodes: int
    spot: bool
    preference: int = 0
    zones: tuple[str, ...]
    disk_gb: int = 100
    image: Image = "cos"
    drivers: Drivers = "managed"
    driver_version: DriverVersion = "default"
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    reservation: str | None = None
    time_sharing: TimeSharing | None = None
    mig: str | None = None
    machine_types: tuple[str, ...] = ()
    unneeded_minutes: int | None = None
    hourly_usd: float | None = None
    declared_at: str = ""

    @property
    def shares_per_gpu(self) -> int:
        """Pods that one physical GPU serves: clients with time sharing, slices with MIG, else one."""
        if self.time_sharing is not None:
            return self.time_sharing.clients_per_gpu
        return 1 if self.mig is None else MIG_SLICES[self.mig]

    @property
    def allocatable_gpus(self) -> int:
        """GPUs one node offers to pods: physical ones, times the shares of each."""
        return self.gpus_per_node * self.shares_per_gpu


@dataclass(frozen=True, kw_only=True)
class CpuPoolSpec:
    """One autoscaled pool without GPUs; counts are totals over ``zones``, the rest as in ``GpuPoolSpec``."""

    name: str
    machine_type: str
    min_nodes: int = 0
    max_nodes: int
    spot: bool
    preference: int = 0
    zones: tuple[str, ...]
    disk_gb: int = 50
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    machine_types: tuple[str, ...] = ()
    unneeded_minutes: int | None = None
    hourly_usd: float | None = None
    declared_at: str = ""


@dataclass(frozen=True, kw_only=True)
class AdminPoolSpec:
    """The pool that never goes away: ``nodes`` in each of ``zones``, for the cluster's own pods. It has no taint.

    ``max_nodes`` (over all zones) lets the autoscaler add nodes up to that number; ``None`` fixes the size.
    """

    name: str = ADMIN_POOL_NAME
    machine_type: str
    nodes: int = 1
    zones: tuple[str, ...]
    disk_gb: int = 50
    labels: Mapping[str, str]
    spot: bool = False
    max_nodes: int | None = None
    machine_types: tuple[str, ...] = ()
    hourly_usd: float | None = None

    @property
    def total_nodes(self) -> int:
        """Nodes over all zones, the fewest where the pool is autoscaled."""
        return self.nodes * len(self.zones)

    @property
    def most_nodes(self) -> int:
        """The most nodes over all zones."""
        return self.total_nodes if self.max_nodes is None else self.max_nodes


def gpu_pool_labels(pool: str, gpu: str, gpus_per_node: int, extra: Mapping[str, str]) -> dict[str, str]:
    """All labels of a GPU pool: the contract's, then the user's (which cannot replace one: settings refuses that)."""
    return {
        GPU_PRESENT_LABEL: "true",
        POOL_LABEL: pool,
        GPU_LABEL: gpu,
        SIZE_KEY: str(gpus_per_node),
        **extra,
    }


def gpu_pool_taints(gpus_per_node: int, smallest_size: int, extra: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """All taints of a GPU pool; only pools above the stack's smallest size carry the size taint (ADR 0001)."""
    by_size = (size_taint(gpus_per_node),) if gpus_per_node > smallest_size else ()
    return (GPU_TAINT, *by_size, *extra)


def cpu_pool_labels(pool: str, extra: Mapping[str, str]) -> dict[str, str]:
    """All labels of a CPU pool."""
    return {ROLE_LABEL: "cpu", POOL_LABEL: pool, **extra}


def admin_pool_labels() -> dict[str, str]:
    """All labels of the admin pool."""
    return {ROLE_LABEL: "admin", POOL_LABEL: ADMIN_POOL_NAME}


def as_node_group(pool: GpuPoolSpec | CpuPoolSpec, *, cloud: str, region: str) -> NodeGroup:
    """The pool as the rules see it, so that settings and the gate judge the same thing."""
    return NodeGroup(
        name=pool.name,
        cloud=cloud,
        gpus_per_node=pool.gpus_per_node if isinstance(pool, GpuPoolSpec) else 0,
        autoscaled=True,
        min_nodes=pool.min_nodes,
        max_nodes=pool.max_nodes,
        taints=pool.taints,
        labels=pool.labels,
        spot=pool.spot,
        region=region,
        zones=pool.zones,
        machine_type=pool.machine_type,
        max_hourly_usd=None if pool.hourly_usd is None else pool.hourly_usd * pool.max_nodes,
    )
