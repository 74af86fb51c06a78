"""A pool of nodes as a stack asks for it, and the labels and taints that tell our pools apart.

Names, labels and taints are final: nobody downstream adds to them, so rules, cloud and rehearsal see the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from facts.concepts.declared import NodeGroup
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE, Taint, resource_of, tolerations
from facts.concepts.parts import NO_GPUS, Gpus, Nodes, Scaling

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
DEFAULT_CLASS_LABELS: Final = (
    "cloud.google.com/default-compute-class",
    "cloud.google.com/default-compute-class-non-daemonset",
)
"""Labels of a namespace on GKE whose value is the class that its pods select where they select none:
https://docs.cloud.google.com/kubernetes-engine/docs/how-to/run-pods-default-compute-classes"""
SHARING_LABEL: Final = "gpucluster.dev/sharing"
"""Label and taint of pools whose GPUs NVIDIA's MPS shares (``MPS``), where pods need the node's shared memory. They
select the label, so none of them has it elsewhere; the taint keeps others away."""
MPS: Final = "mps"
ARCH_LABEL: Final = "gpucluster.dev/arch"
"""Label of pools with Arm CPUs (``ARM``), and taint of those with GPUs: no image for x86 runs there. Node groups refuse
labels of the kubelet's domain, ``kubernetes.io``: https://github.com/aws/containers-roadmap/issues/1451."""
ARM: Final = "arm64"
TEAMS_LABEL: Final = "gpucluster.dev/teams"
"""Label and taint of pools for named teams; its value is the name of the entry of ``gpuPools``. Admission refuses pods
of other namespaces that tolerate it."""
SELECTED_LABELS: Final = (CLASS_LABEL, SHARING_LABEL, ARCH_LABEL, TEAMS_LABEL)
"""Labels that pods have to select, where a pool has them; beside the ``cloud_labels`` of its GPUs."""
SKYPILOT_LABEL: Final = "skypilot.co/accelerator"
OPT_OUT_LABEL: Final = "gpucluster.dev/allow-larger-node"
"""A pod (or pod template) with this label set to ``"true"`` may use a larger node than it needs."""

GPU_TAINT: Final = Taint(GPU_RESOURCE, "present", "NoSchedule")

ADMIN_POOL_NAME: Final = "admin"

Role = Literal["admin", "cpu", "gpu"]
Arch = Literal["amd64", "arm64"]
"""Of CPUs, as Kubernetes and images spell it."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """One pool of identical nodes, of which ``nodes``, ``scaling`` and ``gpus`` are its parts.

    The ``admin`` pool never goes away and is for the cluster's own pods; it has no taint. ``cpu`` and ``gpu`` pools are
    autoscaled; only ``gpu`` pools have GPUs.
    ``declared_at`` is the key path of the stack file's entry (``gpuPools[0]``), for messages. ``raw`` are further
    inputs of the pool in its provider's words. ``own_hourly_usd`` is what the stack file says that a node costs.
    """

    name: str
    role: Role
    nodes: Nodes
    scaling: Scaling
    gpus: Gpus = NO_GPUS
    declared_at: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)
    own_hourly_usd: float | None = None

    def __post_init__(self) -> None:
        if (self.role == "gpu") != (self.gpus.per_node > 0):
            raise ValueError(f"pool '{self.name}' has the role {self.role}: gpu pools have GPUs, others none")

    @property
    def arch(self) -> Arch:
        """Of its machines' CPUs, and so of what runs there."""
        return "arm64" if self.nodes.labels.get(ARCH_LABEL) == ARM else "amd64"

    @property
    def nodes_per_zone(self) -> int:
        """The fewest nodes in each zone."""
        return self.scaling.min_nodes // len(self.nodes.zones)


def gpus_per_pod(pool: Pool) -> int:
    """The most GPUs one pod can get: all of a node, or one share of a GPU where pods share GPUs.

    https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus
    """
    return 1 if pool.gpus.shared else pool.gpus.per_node


def size_taint(gpus_per_node: int) -> Taint:
    """The taint that keeps pods of a smaller size off nodes with ``gpus_per_node`` GPUs (ADR 0001)."""
    return Taint(SIZE_KEY, str(gpus_per_node), "NoSchedule")


def shares_taint(shares: int) -> tuple[Taint, ...]:
    """The taint that keeps pods that want a whole GPU off nodes whose GPUs have ``shares``; none of whole ones."""
    return (Taint(SHARES_KEY, str(shares), "NoSchedule"),) if shares > 1 else ()


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
    return (resource_taint(resource), *by_size, *shares_taint(shares), *extra)


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
        kind="owned" if pool.scaling.owned else "pool",
        nodes=pool.nodes,
        scaling=pool.scaling,
        gpus=pool.gpus,
        region=region,
    )
