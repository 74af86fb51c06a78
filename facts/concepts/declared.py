"""What a program declares, in the words of the rules: node groups, workloads, clusters, and what is wrong with them.

A field is ``UNKNOWN`` while the engine does not know it yet (preview); rules report such fields as
"to be checked" instead of passing or failing. ``None`` means known to be absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, get_args, get_type_hints

from facts.concepts.autoscaler import Autoscaler, IdleTime, ScalingGroup
from facts.concepts.carbon import Carbon
from facts.concepts.kubernetes import GPU_RESOURCE, Toleration
from facts.concepts.parts import NO_GPUS, CapacityType, Gpus, Nodes, Scaling
from facts.concepts.unknown import UNKNOWN, Maybe, Unknown

GroupKind = Literal["pool", "auto-provisioned", "machine", "serverless", "owned"]
"""``pool``: a managed group of nodes. ``auto-provisioned``: pools that the cloud makes when pods need them, up to
``max_nodes`` GPUs in all. ``machine``: machines outside any cluster, which no cluster autoscaler can remove.
``serverless``: a machine without GPUs for each system pod, billed with it. ``owned``: the user's own machines."""


class Item:
    """One thing that a program declares."""


@dataclass(frozen=True)
class UnknownReason:
    """Why a value cannot be read from the program, not even at the update, and what to write so that it can."""

    why: str
    """After "because": ``its launch template is not declared in this program``."""
    remedy: str


NO_NODES: Final[Nodes[Unknown, None]] = Nodes(machine_types=(None,), zones=(), labels={})
"""Nodes of which a program says nothing."""
NO_SCALING: Final[Scaling[Unknown, None]] = Scaling(autoscaled=False, max_nodes=None)
"""A number of nodes that nothing changes, and nothing limits."""


def capacity_type(spot: Maybe[bool]) -> Maybe[CapacityType]:
    """The provisioning model of machines that are spot ones, or on-demand ones."""
    return UNKNOWN if spot is UNKNOWN else ("spot" if spot else "on-demand")


@dataclass(frozen=True)
class NodeGroup(Item):
    """One group of identical nodes (a pool, a node group, an agent pool), with or without GPUs, made of a pool's parts.

    In ``nodes``, a machine type is ``None`` where the program names none, and a label where it is certainly absent.
    ``UNKNOWN`` is a type that is not known yet, and a label that has some value.
    ``scaling.max_nodes`` is ``None`` where nothing limits them.
    """

    name: str
    cloud: str
    nodes: Nodes[Unknown, None] = NO_NODES
    scaling: Scaling[Unknown, None] = NO_SCALING
    gpus: Gpus[Unknown] = NO_GPUS
    other_gpus_per_node: tuple[int, ...] = ()
    """What nodes of other machine types have instead of ``gpus.per_node``, the most; empty where all have the same."""
    region: Maybe[str | None] = None
    accelerators: str | None = None
    """What its machines have instead of NVIDIA GPUs, in words: ``TPUs``."""
    part_of: str = ""
    """The pool with GPUs of whose machines these are the others; which of both start, pods decide."""
    sold_by: str | None = None
    """The catalogue's name of the cloud that sells its machines, where that is not ``cloud``."""
    limited_gpus: int | None = None
    """The GPUs of all nodes together, where ``scaling.max_nodes`` is how many of the largest they suffice for: smaller
    machines may use up the rest."""
    limited_vcpus: int | None = None
    """The vCPUs of all nodes together, where ``scaling.max_nodes`` is what they suffice for; without machine types it
    is these, and a price is that of one vCPU."""
    limited_memory: int | None = None
    """The same in bytes of memory, by the types' own."""
    disk_encrypted: Maybe[bool | None] = None
    encrypted_at_host: Maybe[bool | None] = None
    """Whether its nodes' disks are encrypted; whether their temporary disks are, and data on the way to the others.
    ``None`` where no declaration can say so: the cloud always does it, or the machines are the user's own."""
    private: Maybe[bool | None] = True
    """Whether its nodes have private addresses only; ``None`` where the group leaves that to its cluster."""
    pods_as_nodes: Maybe[bool | None] = False
    """Whether pods get the node's credentials; ``None``: as its cluster says, false where that cannot be read."""
    verified_boot: Maybe[bool | None] = None
    default_identity: Maybe[bool] = False
    """Whether its nodes load signed software only, as far as they can (``None``: no declaration says so); whether they
    are the cloud's default account."""
    deletes_nodes: Maybe[bool] = True
    """Whether scale-down deletes its nodes; false where it stops them and keeps their disks."""
    initial_nodes: Maybe[int] = 0
    """Nodes that exist as soon as the group does, whatever the autoscaler's minimum says; 0 when not declared."""
    kind: GroupKind = "pool"
    cluster: Maybe[str | None] = None
    """Name of the cluster the group belongs to, as far as its declaration tells."""
    cluster_at: tuple[str, ...] = ()
    """URNs of the resources that this name is computed from, where it is not known yet."""
    cloud_label_domains: tuple[str, ...] = ("kubernetes.io", "k8s.io")
    """Domains in which the cloud sets labels, or names without one, so that one missing from ``nodes.labels`` may still
    be there."""
    disk_key: Maybe[str | None] = None
    """The customer's own key that encrypts the nodes' disks."""
    without_gpus: str = ""
    """How to keep machines with GPUs out of a group that may take any machine; empty where it asks for GPUs."""
    discoverable: Maybe[bool] = True
    """Whether an autoscaler in the cluster can find the group; false where it lacks the tags for that."""
    for_system_pods: Maybe[bool] = False
    """Whether its cloud keeps it for the cluster's own pods, so that it can never be empty."""
    account: Mapping[str, str] = field(default_factory=dict)
    """What identifies its cloud account, as far as that is known."""
    gpu_models: tuple[str, ...] = ()
    """The GPU models of its machine types, each once, as far as they are known."""
    plans_claims: Maybe[bool] = False
    """Whether its autoscaler knows the devices that pods can claim on a node that does not exist yet."""
    scaling_group: ScalingGroup | None = None
    """The cloud's own group behind it, where an autoscaler in the cluster plans by that; else ``None``."""
    idle: IdleTime | None = None
    """How long its idle nodes stay; ``None`` where its declaration leaves that to the autoscaler."""
    unknown_reasons: Mapping[str, UnknownReason] = field(default_factory=dict)
    """Permanently ``UNKNOWN`` fields of the parts (``gpus_per_node``, ``taints``), with the reason; one that is
    known after the update is not among them. ``gpus_per_node`` of an unlisted type may also be the most there is."""
    unpriced: tuple[str, ...] = ()
    """Its machine types of which no price is known, once prices are looked up."""
    resource: str = ""
    """Where it is declared: the engine's URN, or a stack file's key path."""

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"Node group '{self.name}'"

    def gpus_of(self, nodes: int, per_node: int) -> int:
        """The GPUs of so many nodes, or of more smaller ones where a limit allows these."""
        return max(nodes * per_node, self.limited_gpus or 0)


@dataclass(frozen=True)
class PodRole(Item):
    """The role that the cloud gives to the pods of one service account.

    ``policies``: IAM documents, ``UNKNOWN`` for one that cannot be read (yet). ``assumable``: whether the role lets
    itself be given to pods. ``cluster``: name of the cluster it holds in. A role ``of_nodes`` is what pods have that
    are given none; one that is ``elsewhere`` is given to them, and another program says what it allows.
    ``boundary``: the document beyond which it has no rights, ``UNKNOWN`` for one that cannot be read.
    """

    role: str
    namespace: Maybe[str]
    service_account: Maybe[str]
    policies: tuple[Maybe[Mapping[str, Any]], ...]
    assumable: Maybe[bool] = True
    cluster: Maybe[str | None] = None
    of_nodes: bool = False
    elsewhere: bool = False
    resource: str = ""
    boundary: Maybe[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Place:
    """Which cluster an object of Kubernetes goes to: by its provider (``None``: not known yet), and from there by the
    resource that holds it for some cluster."""

    provider: str | None = ""
    target: str = ""

    def same(self, other: Place) -> bool:
        """Whether both are one cluster, as far as an update will tell."""
        providers = {self.provider, other.provider}
        return self.target == other.target and (len(providers) == 1 or None in providers)


ANYWHERE: Final = Place()


@dataclass(frozen=True)
class Workload(Item):
    """A workload: a Pod, Job, Deployment, DaemonSet, StatefulSet, CronJob."""

    name: str
    namespace: str
    kind: str
    gpus: Maybe[int] = 0
    tolerations: Maybe[tuple[Toleration, ...]] = ()
    node_selector: Maybe[Mapping[str, Maybe[str | None]]] = field(default_factory=dict)
    affinity: Maybe[Mapping[str, object] | None] = None
    resource: str = ""
    """Where it is declared: the engine's URN."""
    always: Maybe[int] = 0
    """Its pods that are there whether or not there is work: a Deployment's replicas, none of a Job."""
    always_reason: UnknownReason | None = None
    """Why ``always`` is an upper bound, or unknown, although all numbers are known."""
    pods_reason: UnknownReason | None = None
    """Why ``gpus`` or ``tolerations`` are unknown, although all values are known."""
    keeps_room: Maybe[bool] = False
    """Whether its pods do nothing but keep room for others, which they make way for."""
    apart: bool = False
    """Whether no two of its pods can be on one node."""
    priority_class: str | None = None
    pod_labels: Maybe[Mapping[str, str]] = field(default_factory=dict)
    safe_to_evict: Maybe[bool | None] = None
    """The pods' annotation ``cluster-autoscaler.kubernetes.io/safe-to-evict``; ``None`` where there is none."""
    device_plugin: Maybe[bool] = False
    """Whether it offers the nodes' GPUs to the kubelet, so that it is meant for GPU nodes whatever it selects."""
    scales_nodes: Maybe[bool] = False
    autoscaler: Autoscaler | None = None
    """Whether it is a node autoscaler, and how it scales nodes, where its declaration tells."""
    idle: IdleTime | None = None
    """How long idle nodes stay: by a node autoscaler, which has a default of about ten minutes, or for a DaemonSet; how
    long idle pods with GPUs do, by a scaler of their own."""
    unknown_reason: UnknownReason | None = None
    """Why its kind is unknown: a DaemonSet may run where other workloads may not."""
    config_maps: tuple[str, ...] = ()
    """Names of the ConfigMaps that its pods mount."""
    runtime_class: str | None = None
    gpu_resource: str = GPU_RESOURCE
    """What it requests ``gpus`` of, or offers as a device plugin."""
    place: Place = ANYWHERE

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"{self.kind} '{self.namespace}/{self.name}'"


@dataclass(frozen=True)
class PodScaler(Item):
    """What sets a workload's number of pods (HPA, KEDA): the fewest that it leaves, the most that a schedule sets, and
    those that it keeps while it cannot read its metrics (``fallback``)."""

    kind: str
    namespace: str
    name: str
    least: Maybe[int]
    scheduled: Maybe[int] = 0
    fallback: Maybe[int] = 0
    only_adds: Maybe[bool] = False
    """Whether it takes no pods away: those that the workload begins with stay."""
    idle: IdleTime | None = None
    """How long it leaves the last pods without work; ``None``: as its controller does by default."""
    place: Place = ANYWHERE


@dataclass(frozen=True)
class NetworkPlugin(Item):
    """What carries the pods' traffic, whether it ``enforces`` NetworkPolicies, and the name of its cluster, if told."""

    enforces: Maybe[bool]
    cluster: Maybe[str | None] = None


@dataclass(frozen=True)
class PriorityClass(Item):
    """What pods that have it come before or after: a negative ``value`` makes way for every ordinary pod."""

    name: str
    value: Maybe[int]
    of_all: bool = False
    """Whether pods that name none have it."""


@dataclass(frozen=True)
class GpuQuota(Item):
    """The most GPUs that a namespace's pods may ask for at once, by ``gpu_resource``."""

    namespace: str
    gpus: Maybe[int]
    resource: str = ""
    gpu_resource: str = GPU_RESOURCE
    place: Place = ANYWHERE


@dataclass(frozen=True)
class Minimum(Item):
    """Something beside a node group that keeps ``nodes`` of it up, or gives it a maximum (``most``): a
    schedule, an autoscaler's flag.

    The group goes by its cloud's name for it (``group``), by where it is declared (``declared_at``), or by the name of
    one of its nodes (``node``). ``what``: ``schedule 'morning'``; ``where``: its property or flag, as spelled there.
    """

    what: str
    nodes: Maybe[int]
    group: Maybe[str | None] = None
    node: str = ""
    declared_at: tuple[str, ...] = ()
    where: str = ""
    most: Maybe[int] = 0
    resource: str = ""


@dataclass(frozen=True)
class Reservation(Item):
    """Machines that are reserved and billed, in use or not; ``what``: ``capacity reservation 'h100'``.

    ``hourly_usd`` is the list price of one (``None``: not known), or its upper limit (``price_at_most``).
    """

    what: str
    machines: Maybe[int]
    gpus_per_machine: Maybe[int]
    machine_type: Maybe[str | None] = None
    resource: str = ""
    cloud: str = ""
    region: Maybe[str | None] = None
    hourly_usd: Maybe[float | None] = None
    price_at_most: bool = False


@dataclass(frozen=True)
class DisruptionBudget(Item):
    """A PodDisruptionBudget. ``allows_eviction``: whether it can ever allow one."""

    namespace: str
    match_labels: Maybe[Mapping[str, str]]
    allows_eviction: Maybe[bool]


@dataclass(frozen=True)
class Cluster(Item):
    """One control plane. ``managed_nodes``: the cloud runs and sizes all nodes itself, system pods included."""

    name: Maybe[str]
    cloud: str
    region: Maybe[str | None] = None
    managed_nodes: Maybe[bool] = False
    private_nodes: Maybe[bool] = True
    managed_autoscaler: Maybe[bool] = True
    """Whether the cloud runs the node autoscaler; false where it is a workload in the cluster."""
    secrets_key: Maybe[str | None] = None
    """The key that encrypts Kubernetes Secrets in the control plane's storage."""
    open_api: Maybe[bool] = False
    """Whether the API server answers the whole internet: neither private nor limited to address ranges."""
    open_to_cloud: Maybe[bool] = False
    """Whether the API server answers the machines of all customers of the cloud."""
    shut_api: Maybe[bool] = False
    """Whether the API server is public, and answers no address at all."""
    local_accounts: Maybe[bool] = False
    """Whether the cluster has administrators of its own, beside the cloud's identities."""
    network_policies: Maybe[bool | None] = None
    """Whether the cluster enforces NetworkPolicies without a plugin of the program; ``None`` where nothing says so."""
    pods_as_nodes: Maybe[bool] = False
    verified_boot: Maybe[bool | None] = None
    default_identity: Maybe[bool] = False
    """These as a group's: for groups that leave it to their cluster, and for the nodes that it starts with."""
    carbon: Carbon | None = None
    """How clean the region's energy is, where the cloud publishes it."""
    idle: IdleTime | None = None
    """How long the cloud's autoscaler leaves idle nodes; ``None`` for its own default, about ten minutes."""
    classes: tuple[tuple[str, str], ...] = ()
    """Labels (key and value) by which a pod asks the cloud for nodes of its own, which nothing limits."""
    other_groups: Maybe[tuple[NodeGroup, ...]] = ()
    """Its groups that somebody else declares: system pods may run there, and no rule is about them."""
    account: Mapping[str, str] = field(default_factory=dict)
    """What identifies its cloud account, as far as that is known."""
    resource: str = ""

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"Cluster '{'(name unknown)' if self.name is UNKNOWN else self.name}'"


def same_place(one: NodeGroup | Cluster, other: NodeGroup | Cluster) -> bool:
    """Whether both may be in one account and region: nothing that is known of both tells them apart."""
    regions = {each.region for each in (one, other) if each.region is not None and each.region is not UNKNOWN}
    accounts = all(one.account[key] == other.account[key] for key in one.account.keys() & other.account.keys())
    return len(regions) < 2 and accounts


@dataclass(frozen=True)
class Credential(Item):
    """Something that carries, or may carry, a long-lived key; ``what``: ``a service account key``."""

    what: str
    static: Maybe[bool]
    resource: str = ""


@dataclass(frozen=True)
class EncryptionKey(Item):
    """A key in a cloud's key management, of a kind that the cloud can rotate; ``what``: ``KMS key 'secrets'``."""

    what: str
    rotates: Maybe[bool]
    resource: str = ""


@dataclass(frozen=True)
class Exposure(Item):
    """What everybody may use, if ``open``: rights in the cluster, or an address; ``what``: ``Service 'llm'``.

    ``addresses``: traffic of the whole cluster for addresses that a Service names, also those of other servers.
    """

    kind: Literal["rights", "network", "addresses"]
    what: str
    open: Maybe[bool]
    resource: str = ""
    unknown_reason: UnknownReason | None = None


@dataclass(frozen=True)
class GpuSharing(Item):
    """A device plugin's configuration that offers each GPU to ``replicas`` pods at once (time slicing, MPS).

    ``what``: ``ConfigMap 'device-plugin'``, whose name ``config_map`` tells the DaemonSets that mount it.
    """

    what: str
    replicas: Maybe[int]
    resource: str = ""
    config_map: str | None = None


@dataclass(frozen=True)
class GpuClaim(Item):
    """A claim for GPUs (dynamic resource allocation), or a template of claims; ``what``: ``ResourceClaim 'gpu'``.

    ``selective``: whether selectors choose among the devices of the class.
    """

    what: str
    device_class: Maybe[str]
    selective: bool = False
    resource: str = ""


@dataclass(frozen=True)
class Unreadable(Item):
    """A resource that the gate fails to read, so that no rule can be evaluated for it; ``what``: its type and name."""

    what: str
    why: str
    resource: str = ""


@dataclass(frozen=True)
class NotEvaluated(Item):
    """Something that the gate cannot evaluate: ``what`` it is, in words (``Launch template 'x'``), and the reason."""

    what: str
    unknown_reason: UnknownReason
    resource: str = ""
    rules: tuple[str, ...] = ()
    """The rules not evaluated for it; empty where it is unknown which rules concern it."""
    opaque: bool = False
    """Nothing in it mentions GPUs or nodes, but resources of its type may create anything (a command, a template)."""
    until_update: bool = False
    """The update knows more than the preview."""


@dataclass(frozen=True)
class Stack:
    """Everything one program declares, as far as the rules care."""

    groups: tuple[NodeGroup, ...] = ()
    workloads: tuple[Workload, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    budgets: tuple[DisruptionBudget, ...] = ()
    sharing: tuple[GpuSharing, ...] = ()
    claims: tuple[GpuClaim, ...] = ()
    pod_roles: tuple[PodRole, ...] = ()
    minimums: tuple[Minimum, ...] = ()
    pod_scalers: tuple[PodScaler, ...] = ()
    priorities: tuple[PriorityClass, ...] = ()
    quotas: tuple[GpuQuota, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    network_plugins: tuple[NetworkPlugin, ...] = ()
    elsewhere: tuple[NodeGroup, ...] = ()
    """Pools of its cluster that another program declares."""

    @classmethod
    def of(cls, items: Sequence[Item]) -> Stack:
        """The stack of these ``items``, each in the first field of its type."""
        fields: dict[str, Any] = {
            name: tuple(item for item in items if isinstance(item, kind)) for kind, name in _fields().items()
        }
        return cls(**fields)


@cache
def _fields() -> dict[type, str]:
    """Type → the first field of a ``Stack`` for it."""
    return {get_args(hint)[0]: name for name, hint in reversed(get_type_hints(Stack).items())}


@dataclass(frozen=True)
class Violation:
    """One broken rule: which, what is wrong (with the value), and what to write instead.

    ``not_evaluated``: nothing is known to be wrong, but a value that the rule needs is unknown until the update; with
    an ``unknown_reason``, it stays unknown. ``resource``: where the resource is declared, as its ``resource`` says.
    """

    rule: str
    message: str
    remedy: str
    not_evaluated: bool = False
    resource: str = ""
    unknown_reason: UnknownReason | None = None
