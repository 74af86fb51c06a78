"""A pool of nodes as a stack asks for it, and the labels and taints that tell our pools apart.

Names, labels and taints are final: nobody downstream adds to them, so rules, cloud and rehearsal see the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from facts.concepts.declared import NodeGroup
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE, Taint, resource_of, tolerations

POOL_LABEL: Final = "gpucluster.dev/pool"
GPU_LABEL: Final = "gpucluster.dev/gpu"
SIZE_KEY: Final = "gpucluster.dev/gpus-per-node"
SHARES_KEY: Final = "gpucluster.dev/shares-per-gpu"
"""Taint of nodes with parts of GPUs, in a stack where nodes of their size have whole ones."""
ROLE_LABEL: Final = "gpucluster.dev/role"
KIND_LABELS: Final = (GPU_LABEL, SIZE_KEY)
"""What all pools of one GPU type and size have in common: every capacity type, every zone."""
CLASS_LABEL: Final = "cloud.google.com/compute-class"
"""Label and taint of GKE's pools that belong to a ComputeClass, which pods have to select:
https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes"""
SHARING_LABEL: Final = "gpucluster.dev/sharing"
"""Label and taint of pools whose GPUs NVIDIA's MPS shares (``MPS``), where pods need the node's shared memory. They
select the label, so none of them has it elsewhere; the taint keeps others away."""
MPS: Final = "mps"
ARCH_LABEL: Final = "gpucluster.dev/arch"
"""Label of pools with Arm CPUs (``ARM``), and taint of those with GPUs: no image for x86 runs there. Node groups refuse
labels of the kubelet's domain, ``kubernetes.io``: https://github.com/aws/containers-roadmap/issues/1451."""
ARM: Final = "arm64"
SELECTED_LABELS: Final = (CLASS_LABEL, SHARING_LABEL, ARCH_LABEL)
"""Labels that pods have to select, where a pool has them; beside the ``cloud_labels`` of its GPUs."""
SKYPILOT_LABEL: Final = "skypilot.co/accelerator"
OPT_OUT_LABEL: Final = "gpucluster.dev/allow-larger-node"
"""A pod (or pod template) with this label set to ``"true"`` may use a larger node than it needs."""

GPU_TAINT: Final = Taint(GPU_RESOURCE, "present", "NoSchedule")

ADMIN_POOL_NAME: Final = "admin"

Role = Literal["admin", "cpu", "gpu"]
Arch = Literal["amd64", "arm64"]
"""Of CPUs, as Kubernetes and images spell it."""
Image = Literal["cos", "ubuntu", "al2023", "bottlerocket", "azurelinux"]
Drivers = Literal["managed", "daemonset", "none"]
DriverVersion = Literal["default", "latest"]
CapacityType = Literal["reserved", "capacity-block", "flex-start", "spot", "on-demand"]
"""Provisioning models of a cloud's machines; the most certain and cheapest first."""

# https://docs.nvidia.com/datacenter/tesla/mig-user-guide/#supported-mig-profiles
MIG_SLICES: Final[Mapping[str, int]] = {"1g": 7, "2g": 3, "3g": 2, "4g": 1, "7g": 1}
"""Compute slice → how many of them a GPU is partitioned into."""


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
class FlexStart:
    """Capacity for up to ``max_run_hours`` once it is available; then the node and its pods are deleted."""

    max_run_hours: int


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """How many nodes of a pool are upgraded at a time: replaced by surplus ones (``max_surge``), or missing meanwhile
    (``max_unavailable``); and how long their pods have to leave. ``None``: the default of components/clouds."""

    max_surge: int | None = None
    max_unavailable: int | None = None
    drain_minutes: int | None = None


FABRIC_CLAIM: Final = "gpu-fabric"
"""The ResourceClaimTemplate in each namespace in which people run pods, where a fabric's devices are claimed."""


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
class PoolGpus:
    """The GPUs of each node of a pool.

    ``type`` is the catalogue's name, ``accelerator`` the cloud's. ``per_node`` counts physical GPUs.
    ``drivers="none"``: the user installs them. ``reservation`` is the cloud's name of the reserved machines that the
    nodes are, which are a ``block`` if they were bought for some days.
    At most one of these divides each GPU: with ``time_sharing`` pods take turns, with ``mps`` they run at once, each
    with its part of memory and threads, and ``mig`` is the compute slice (``1g``) that it is partitioned into.
    ``topology`` is how the chips of ``slice_nodes`` nodes are connected (``4x4``): such nodes start and end together,
    and one pod has all chips of a node. ``slice_nodes`` is 0 where nodes are independent and pods share them.
    ``cloud_labels`` are labels that the cloud sets on the nodes by itself, and pods have to select.
    """

    type: str
    accelerator: str
    per_node: int
    drivers: Drivers = "managed"
    driver_version: DriverVersion = "default"
    reservation: str | None = None
    block: Block | None = None
    flex_start: FlexStart | None = None
    time_sharing: SharedGpu | None = None
    mps: SharedGpu | None = None
    mig: str | None = None
    topology: str | None = None
    slice_nodes: int = 0
    cloud_labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def resource(self) -> str:
        """The resource by which pods request them, which is also the key of the nodes' taint."""
        return resource_of(self.type)

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
        return 1 if self.mig is None else MIG_SLICES[self.mig]


@dataclass(frozen=True, kw_only=True)
class Pool:
    """One pool of identical nodes.

    The ``admin`` pool never goes away and is for the cluster's own pods; it has no taint. ``cpu`` and ``gpu`` pools are
    autoscaled; ``gpu`` pools are those with a ``gpu_part``.
    ``min_nodes`` and ``max_nodes`` are totals over ``zones``, and the same where the pool is not ``autoscaled``.
    ``machine_types`` are all types the pool may consist of, the one that an autoscaler plans with first; more than one
    only where the cloud mixes types in a spot pool. All have the same number of GPUs.
    ``preference`` is the place in the fallback order of pools that differ in capacity type only: 0 is tried first.
    ``image_version`` is the cloud's word for one release of the image; ``None`` is the newest.
    ``location_policy`` is one that the catalogue lists; ``None`` leaves it to what the pool is.
    ``unneeded_minutes`` is how long a node stays idle before it goes; ``None`` leaves it to the cluster's profile.
    ``compact`` nodes are close to each other; with ``image_streaming`` containers start before their image is there
    (``None``: as the cloud has it).
    ``fabric`` is what connects the nodes for jobs on several of them, which then are of one type and in one zone.
    ``compute_class`` is the ComputeClass that orders the pools of its entry by ``preference``.
    ``upgrade`` says how nodes are upgraded; ``None`` is the default of components/clouds.
    ``hourly_usd`` is the list price of one running node (machine, GPUs, boot disk) of the planned type,
    ``dearest_hourly_usd`` that of the dearest type; ``None`` where it is not known.
    ``owned`` machines are the user's own: no cloud rents them out, nothing scales them.
    ``declared_at`` is the key path of the stack file's entry (``gpuPools[0]``), for messages. ``raw`` are further
    inputs of the pool in its provider's words.
    """

    name: str
    role: Role
    machine_types: tuple[str, ...]
    image: Image
    image_version: str | None = None
    disk_gb: int
    gpu_part: PoolGpus | None = None
    min_nodes: int = 0
    max_nodes: int
    autoscaled: bool = True
    spot: bool = False
    preference: int = 0
    zones: tuple[str, ...]
    location_policy: str | None = None
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    unneeded_minutes: int | None = None
    upgrade: Upgrade | None = None
    compact: bool = False
    fabric: Fabric | None = None
    image_streaming: bool | None = None
    compute_class: str | None = None
    hourly_usd: float | None = None
    dearest_hourly_usd: float | None = None
    owned: bool = False
    declared_at: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.role == "gpu") != (self.gpu_part is not None):
            raise ValueError(f"pool '{self.name}' has the role {self.role}: gpu pools have a gpu_part, others none")

    @property
    def machine_type(self) -> str:
        """The type that an autoscaler plans with."""
        return self.machine_types[0]

    @property
    def arch(self) -> Arch:
        """Of its machines' CPUs, and so of what runs there."""
        return "arm64" if self.labels.get(ARCH_LABEL) == ARM else "amd64"

    @property
    def capacity_type(self) -> CapacityType:
        """The provisioning model of its machines."""
        gpus = self.gpu_part
        if self.spot:
            return "spot"
        if gpus is not None and gpus.reservation is not None:
            return "reserved" if gpus.block is None else "capacity-block"
        return "on-demand" if gpus is None or gpus.flex_start is None else "flex-start"

    @property
    def nodes_per_zone(self) -> int:
        """The fewest nodes in each zone."""
        return self.min_nodes // len(self.zones)

    @property
    def gpus(self) -> PoolGpus:
        """The GPUs of a pool that has some.

        Raises:
            ValueError: it has none.
        """
        if self.gpu_part is None:
            raise ValueError(f"pool '{self.name}' has no GPUs")
        return self.gpu_part

    @property
    def cloud_labels(self) -> Mapping[str, str]:
        """Labels that the cloud sets on the nodes by itself, and pods have to select; mostly none."""
        return {} if self.gpu_part is None else self.gpu_part.cloud_labels

    @property
    def gpus_per_node(self) -> int:
        """Physical GPUs of a node, 0 if it has none."""
        return 0 if self.gpu_part is None else self.gpu_part.per_node

    @property
    def allocatable_gpus(self) -> int:
        """GPUs one node offers to pods: physical ones, times the shares of each; 0 if it has none."""
        return 0 if self.gpu_part is None else self.gpu_part.per_node * self.gpu_part.shares


def gpus_per_pod(pool: Pool) -> int:
    """The most GPUs one pod can get: all of a node, or one share of a GPU where pods share GPUs.

    https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus
    """
    return 1 if pool.gpus.shared else pool.gpus_per_node


def size_taint(gpus_per_node: int) -> Taint:
    """The taint that keeps pods of a smaller size off nodes with ``gpus_per_node`` GPUs (ADR 0001)."""
    return Taint(SIZE_KEY, str(gpus_per_node), "NoSchedule")


def resource_taint(resource: str) -> Taint:
    """The taint of nodes with this ``resource``, which pods that request it tolerate."""
    return Taint(resource, "present", "NoSchedule")


def by_resource(pools: Iterable[Pool]) -> dict[str, list[Pool]]:
    """Resource → the GPU pools whose nodes have it, in their order."""
    grouped: dict[str, list[Pool]] = {}
    for pool in pools:
        grouped.setdefault(pool.gpus.resource, []).append(pool)
    return grouped


def gpu_pool_labels(pool: str, gpu: str, gpus_per_node: int, extra: Mapping[str, str]) -> dict[str, str]:
    """All labels of a GPU pool: the contract's, then the user's (which cannot replace one: settings refuses that)."""
    present = {GPU_PRESENT_LABEL: "true"} if resource_of(gpu) == GPU_RESOURCE else {}
    return {**present, POOL_LABEL: pool, GPU_LABEL: gpu, SIZE_KEY: str(gpus_per_node), **extra}


def gpu_pool_taints(
    gpus_per_node: int,
    smallest_size: int,
    extra: tuple[Taint, ...],
    *,
    shares: int = 1,
    resource: str = GPU_RESOURCE,
) -> tuple[Taint, ...]:
    """All taints of a GPU pool; only pools above the smallest size with their resource have the size taint (ADR 0001).

    ``shares`` above 1 keeps pods that want a whole GPU off nodes whose GPUs are shared or partitioned.
    """
    by_size = (size_taint(gpus_per_node),) if gpus_per_node > smallest_size else ()
    by_share = (Taint(SHARES_KEY, str(shares), "NoSchedule"),) if shares > 1 else ()
    return (resource_taint(resource), *by_size, *by_share, *extra)


def selected_labels(labels: Mapping[str, str], cloud_labels: Mapping[str, str]) -> dict[str, str]:
    """Those of a pool's ``labels`` that pods have to select, with its ``cloud_labels``; mostly none."""
    return {key: labels[key] for key in SELECTED_LABELS if key in labels} | dict(cloud_labels)


def kind_labels(labels: Mapping[str, str], cloud_labels: Mapping[str, str]) -> dict[str, str]:
    """Those of a pool's ``labels`` that every pool which can stand in for it has: type, size, what pods must select."""
    return {key: labels[key] for key in KIND_LABELS if key in labels} | selected_labels(labels, cloud_labels)


def cpu_pool_labels(pool: str, extra: Mapping[str, str]) -> dict[str, str]:
    """All labels of a CPU pool."""
    return {ROLE_LABEL: "cpu", POOL_LABEL: pool, **extra}


def admin_pool_labels() -> dict[str, str]:
    """All labels of the admin pool."""
    return {ROLE_LABEL: "admin", POOL_LABEL: ADMIN_POOL_NAME}


def placement(pools: Sequence[str], taints: Iterable[Taint], kind: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The part of a pod's spec that allows exactly ``pools``, whose ``taints`` it tolerates.

    ``kind`` are labels that all of them have: a queue, which does not know pools, finds the kind of GPUs by them.
    """
    required = {POOL_LABEL: list(pools), **{key: [value] for key, value in (kind or {}).items()}}
    expressions = [{"key": key, "operator": "In", "values": values} for key, values in required.items()]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": tolerations(taints),
    }


def with_mps(spec: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """The pod's ``spec`` for pools with these ``labels``: where MPS shares the GPUs, with the node's shared memory, in
    which the programs meet their server, and no volume ``shm`` over it.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/nvidia-mps-gpus
    """
    if labels.get(SHARING_LABEL) != MPS:
        return spec
    containers = [_without_shm(each, "volumeMounts") for each in spec["containers"]]
    return _without_shm({**spec, "hostIPC": True, "containers": containers}, "volumes")


def _without_shm(holder: dict[str, Any], key: str) -> dict[str, Any]:
    rest = [each for each in holder.get(key, ()) if each["name"] != "shm"]
    return {**{name: value for name, value in holder.items() if name != key}, **({key: rest} if rest else {})}


def as_node_group(pool: Pool, *, cloud: str, region: str) -> NodeGroup:
    """The pool as the rules see it, so that settings and the gate judge the same thing."""
    return NodeGroup(
        name=pool.name,
        cloud=cloud,
        kind="owned" if pool.owned else "pool",
        gpus_per_node=pool.gpus_per_node,
        gpu_resource=GPU_RESOURCE if pool.gpu_part is None else pool.gpus.resource,
        autoscaled=pool.autoscaled,
        min_nodes=pool.min_nodes,
        max_nodes=pool.max_nodes,
        taints=pool.taints,
        labels=pool.labels,
        spot=pool.spot,
        region=region,
        zones=pool.zones,
        machine_type=pool.machine_type,
        hourly_usd=pool.dearest_hourly_usd,
    )
