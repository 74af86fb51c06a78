"""The three parts of a pool: its nodes, how it scales, and the GPUs of each node.

A pool of a stack (``Pool``) and what users are shown (``PoolOffer``) contain these parts, and add what only they know:
a new attribute is one field here.

``U`` is what a value may be instead, and ``A`` what stands for one that is absent: nothing in a pool of a stack
(``Nodes``), ``UNKNOWN`` and ``None`` where a program is read (``Nodes[Unknown, None]``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, cast

from facts.concepts.kubernetes import GPU_RESOURCE, Taint, resource_of
from facts.concepts.unknown import UNKNOWN

if TYPE_CHECKING:
    from typing_extensions import Never, TypeVar

    U = TypeVar("U", default=Never, covariant=True)
    A = TypeVar("A", default=Never, covariant=True)
else:
    from typing import TypeVar

    U = TypeVar("U", covariant=True)
    A = TypeVar("A", covariant=True)

Image = Literal["", "cos", "ubuntu", "al2023", "bottlerocket", "azurelinux"]
"""Node images; the empty one is not known."""
Drivers = Literal["managed", "daemonset", "none"]
DriverVersion = Literal["default", "latest"]
CapacityType = Literal["reserved", "capacity-block", "flex-start", "spot", "on-demand"]
"""Provisioning models of a cloud's machines; the most certain and cheapest first."""
Capacity = CapacityType | Literal["fixed"]
"""... and ``fixed``: the user's own machines, which no cloud rents out and nothing scales."""

# https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles
MIG_SLICES: Final[Mapping[str, int]] = {"1g": 7, "2g": 3, "3g": 2, "4g": 1, "7g": 1}
"""Compute slice → how many of them a GPU is partitioned into."""
_OTHER_SLICES: Final[Mapping[str, Mapping[str, int]]] = {"nvidia-rtx-pro-6000": {"1g": 4, "2g": 2, "4g": 1}}
"""The same of GPUs with another number of compute slices than seven."""

FABRIC_CLAIM: Final = "gpu-fabric"
"""The ResourceClaimTemplate in each namespace in which people run pods, where a fabric's devices are claimed."""


@dataclass(frozen=True, kw_only=True)
class SharedGpu:
    """One physical GPU shown to the cluster as ``clients_per_gpu`` GPUs (2 to 48)."""

    clients_per_gpu: int


@dataclass(frozen=True, kw_only=True)
class Block:
    """The days (ISO dates, UTC) for which reserved machines were bought; they are there on the ``last`` one, too."""

    first: str
    last: str


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """How many nodes of a pool are upgraded at a time: replaced by surplus ones (``max_surge``), or missing meanwhile
    (``max_unavailable``); and how long their pods have to leave. ``None``: the default of components/clouds."""

    max_surge: int | None = None
    max_unavailable: int | None = None
    drain_minutes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Fabric:
    """The ``devices`` of each node of a pool by which pods on several nodes read each other's GPU memory (RDMA).

    Pods request them as the extended resource ``resource``; where they are ``claimed`` that is a DeviceClass, and pods
    get all of a node's by the template ``FABRIC_CLAIM`` of their namespace. Containers with devices have the ``env``.
    """

    devices: int
    resource: str
    claimed: bool = False
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def limits(self) -> dict[str, int]:
        """The devices as limits of a container; empty where they are claimed, or none."""
        return {} if self.claimed or not self.devices else {self.resource: self.devices}

    def share(self, gpus: int, gpus_per_node: int) -> int:
        """The devices of a pod with ``gpus`` of a node's GPUs, so that all of the node's pods have as many for each."""
        return 0 if self.claimed and gpus < gpus_per_node else self.devices * gpus // gpus_per_node


NO_FABRIC: Final = Fabric(devices=0, resource="")


@dataclass(frozen=True, kw_only=True)
class Nodes(Generic[U, A]):
    """The nodes of a pool, which are alike.

    ``machine_types`` are all types that they may be, the one that an autoscaler plans with first; more than one only
    where the cloud mixes types. All have the same number of GPUs.
    ``labels`` and ``taints`` are on every node; ``cloud_labels`` are those of the labels that the cloud sets by itself,
    and pods have to select.
    ``image_version`` is the cloud's word for one release of the image; ``None`` is the newest.
    With ``image_streaming`` containers start before their image is there (``None``: as the cloud has it).
    ``teams`` are the namespaces whose pods alone may run there; empty: all.
    ``compact`` nodes are close to each other. ``fabric`` is what connects the nodes for jobs on several of them, which
    then are of one type and in one zone.
    ``upgrade`` says how nodes are upgraded; ``None`` is the default of components/clouds.
    ``hourly_usd`` is the list price of one running node (machine, GPUs, boot disk) of the first type,
    ``dearest_hourly_usd`` that of the dearest type; ``None`` where it is not known. ``price_at_most``: the first, or
    both, are upper limits, because the price in the region, or of a spot node, is not known. ``on_demand_usd`` is what
    a spot node of the first type would cost on demand, to compare it with those whose spot price is not known.
    """

    machine_types: tuple[str | U | A, ...]
    zones: tuple[str, ...] | U
    labels: Mapping[str, str | U | A] | U
    taints: tuple[Taint, ...] | U = ()
    cloud_labels: Mapping[str, str] = field(default_factory=dict)
    image: Image = ""
    image_version: str | None = None
    image_streaming: bool | None = None
    disk_gb: int = 0
    compact: bool = False
    fabric: Fabric | None = None
    upgrade: Upgrade | None = None
    teams: tuple[str, ...] = ()
    hourly_usd: float | U | None = None
    dearest_hourly_usd: float | U | None = None
    price_at_most: bool = False
    on_demand_usd: float | None = None

    @property
    def machine_type(self) -> str | U | A:
        """The type that an autoscaler plans with."""
        return self.machine_types[0]


@dataclass(frozen=True, kw_only=True)
class Scaling(Generic[U, A]):
    """How many nodes a pool has, and where its machines come from.

    ``min_nodes`` and ``max_nodes`` are totals over all zones, and the same where the pool is not ``autoscaled``.
    ``capacity_type`` is the provisioning model of the machines, and ``preference`` its place in the fallback order of
    pools that differ in it only: 0 is tried first. ``compute_class`` is the ComputeClass that has this order.
    ``reservation`` is the cloud's name of the reserved machines that the nodes are, and ``block`` the days for which
    they were bought, if they were; ``reserved_nodes`` of them are billed whether they are used or not. A flex-start
    node lives ``max_run_hours`` at most, then it is deleted with its pods.
    ``location_policy`` is one that the catalogue lists; ``None`` leaves it to what the pool is.
    ``unneeded_minutes`` is how long a node stays idle before it goes; ``None`` leaves it to the cluster's profile.
    """

    min_nodes: int | U = 0
    max_nodes: int | U | A
    autoscaled: bool | U = True
    capacity_type: Capacity | U = "on-demand"
    preference: int = 0
    compute_class: str | None = None
    reservation: str | None = None
    block: Block | None = None
    reserved_nodes: int = 0
    max_run_hours: int | None = None
    location_policy: str | None = None
    unneeded_minutes: int | None = None

    @property
    def spot(self) -> bool | U:
        """Whether the cloud may take the nodes away."""
        capacity_type: object = self.capacity_type
        return cast("U", UNKNOWN) if capacity_type is UNKNOWN else capacity_type == "spot"

    @property
    def drained(self) -> bool:
        """Whether the cloud takes nodes away under running pods, after a notice that pods get if nothing holds the
        node: spot ones at any time, those of a capacity block before its end."""
        return self.capacity_type in ("spot", "capacity-block")

    @property
    def prepaid(self) -> bool:
        """Whether the machines are paid for, used or not; where it is not known, they are not."""
        return self.capacity_type in ("reserved", "capacity-block", "fixed")

    @property
    def owned(self) -> bool | U:
        """Whether the machines are the user's own."""
        capacity_type: object = self.capacity_type
        return cast("U", UNKNOWN) if capacity_type is UNKNOWN else capacity_type == "fixed"


def reserved_once(pools: Iterable[Scaling[Any, Any]]) -> list[int]:
    """The reserved machines of each pool, those of a reservation that several pools use counted at the first one."""
    pools = list(pools)
    most: dict[str | None, int] = {}
    for pool in pools:
        most[pool.reservation] = max(pool.reserved_nodes, most.get(pool.reservation, 0))
    return [most.pop(pool.reservation, 0) if pool.reservation else pool.reserved_nodes for pool in pools]


def reserved_beyond(pools: Iterable[Scaling[Any, Any]]) -> list[int]:
    """The reserved machines of each pool that are billed although its pools at their maximum do not use them; none
    where a maximum is not known."""
    pools = list(pools)
    beyond = []
    for pool, reserved in zip(pools, reserved_once(pools), strict=True):
        users = [each for each in pools if each.reservation == pool.reservation] if pool.reservation else [pool]
        used = [each.max_nodes for each in users if isinstance(each.max_nodes, int)]
        beyond.append(max(0, reserved - sum(used)) if len(used) == len(users) else 0)
    return beyond


@dataclass(frozen=True, kw_only=True)
class Gpus(Generic[U]):
    """The GPUs of each node of a pool.

    ``type`` is the catalogue's name, ``accelerator`` the cloud's. ``per_node`` counts physical GPUs. ``resource`` is
    what pods request to get them, and the key of the nodes' taint.
    ``drivers="none"``: the user installs them.
    At most one of these divides each GPU: with ``time_sharing`` pods take turns, with ``mps`` they run at once, each
    with its part of memory and threads, and ``mig`` is the compute slice (``1g``) that it is partitioned into.
    ``topology`` is how the chips of ``slice_nodes`` nodes are connected (``4x4``): such nodes start and end together,
    and one pod has all chips of a node. ``slice_nodes`` is 0 where nodes are independent and pods share them.
    """

    type: str = ""
    accelerator: str = ""
    per_node: int | U = 0
    resource: str = GPU_RESOURCE
    drivers: Drivers = "managed"
    driver_version: DriverVersion = "default"
    time_sharing: SharedGpu | None = None
    mps: SharedGpu | None = None
    mig: str | None = None
    topology: str | None = None
    slice_nodes: int = 0

    def __post_init__(self) -> None:
        if self.type and self.resource != resource_of(self.type):
            raise ValueError(f"pods request {self.type} as {resource_of(self.type)}, not as {self.resource}")

    @property
    def of_nvidia(self) -> bool:
        """Whether they are NVIDIA's, with CUDA, and may be divided."""
        return self.resource == GPU_RESOURCE

    @property
    def shared(self) -> SharedGpu | None:
        """How pods share each GPU or, with ``None``, do not."""
        return self.time_sharing or self.mps

    @property
    def shares(self) -> int:
        """Pods that one physical GPU serves: clients if they share it, slices with MIG, else one."""
        if self.shared is not None:
            return self.shared.clients_per_gpu
        return 1 if self.mig is None else {**MIG_SLICES, **_OTHER_SLICES.get(self.type, {})}[self.mig]

    @property
    def allocatable(self) -> int | U:
        """GPUs that a node offers to pods: physical ones, times the shares of each."""
        return cast("U", UNKNOWN) if self.per_node is UNKNOWN else cast(int, self.per_node) * self.shares


NO_GPUS: Final = Gpus()
