"""The interface between components and clouds.

A cloud is a package below ``components.clouds`` with a module ``cloud``. It is imported on first use, so a stack on one
cloud never loads another's modules.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import pulumi

from facts.catalog import OWN_MACHINES, PLUGINS
from facts.concepts.parts import Image
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from components.clouds.deployed import Deployed
    from components.resources import ClusterObjects, CustomResource, Inputs
    from components.settings import Problem, Settings
    from components.settings.sections.access import Access
    from components.settings.sections.workloads import Checkpoints, Registry, SharedVolume


@dataclass(frozen=True, kw_only=True)
class GpuDaemon:
    """A DaemonSet in ``kube-system`` that makes the GPUs of ``pools`` usable: a driver installer, a device plugin.

    ``variant`` distinguishes several DaemonSets of one ``app``. ``pod`` is the pod spec without placement, which the
    caller adds from the pools. ``files`` become a ConfigMap with the DaemonSet's name, which ``pod`` mounts. ``rules``
    are the rights of the pod's service account, which is called as the ``app``; without any it has none.
    """

    app: str
    variant: str
    pod: Mapping[str, Any]
    pools: tuple[Pool, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The DaemonSet's name."""
        return f"{self.app}-{self.variant}"


@dataclass(frozen=True, kw_only=True)
class PoolGovernance:
    """How one pool scales, for the stack output ``autoscaling``."""

    governed_by: str
    location_policy: str
    choice: str
    scale_up: str
    scale_down: str
    reaches_zero: str

    def as_output(self, pool: Pool) -> dict[str, str | int]:
        """The fields as a stack output, with the limits of ``pool``, which are totals over zones."""
        return {
            "governedBy": self.governed_by,
            "min": pool.scaling.min_nodes,
            "max": pool.scaling.max_nodes,
            "locationPolicy": self.location_policy,
            "choice": self.choice,
            "scaleUp": self.scale_up,
            "scaleDown": self.scale_down,
            "reachesZero": self.reaches_zero,
        }


def reaches_zero(pool: Pool, *, untainted: str) -> str:
    """Whether the pool scales to zero, and why; ``untainted`` is the text for a minimum of 0 without a taint."""
    if pool.scaling.min_nodes > 0:
        return f"no: the minimum is {pool.scaling.min_nodes}"
    taints = ", ".join(str(taint) for taint in pool.nodes.taints if taint.effect != "PreferNoSchedule")
    if taints:
        return f"yes: the minimum is 0 and the taints {taints} keep system pods away"
    return untainted


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket: ``name`` as :class:`Reach` takes it, ``url`` as programs open it."""

    name: pulumi.Input[str]
    url: pulumi.Output[str]


@dataclass(frozen=True, kw_only=True)
class Share:
    """Files that many nodes mount at once, as a CSI volume: ``driver``, ``handle``, volume ``attributes`` and mount
    ``options``. ``size_gib`` is the billed size, ``None`` where it grows. It can be mounted once ``ready`` exists.
    """

    driver: str
    handle: pulumi.Input[str]
    size_gib: int | None
    attributes: Mapping[str, pulumi.Input[str]] = field(default_factory=dict)
    options: Sequence[str] = ()
    ready: Sequence[pulumi.Resource] = ()


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What pods may access in the cloud, by the cloud's names: buckets to ``read`` or ``write`` (includes read), and
    ``secrets`` to read. ``own`` are buckets of this stack to write, by key.
    """

    read: Sequence[str] = ()
    write: Sequence[str] = ()
    secrets: Sequence[str] = ()
    own: Mapping[str, Bucket] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class WorkloadResources:
    """A cloud's resources for jobs: functions that declare them as children of the last argument, from a name and a
    setting.

    - ``registry``: a private registry, from which the nodes may pull ``<address>/<image>:<tag>``; its address
    - ``bucket``: a private, encrypted bucket, to which nothing has access yet
    - ``share``: encrypted files that only the cluster's nodes can mount
    - ``pod_identity``: the identity of a service account (namespace, name); the annotations that it needs
    - ``grant_pull``: lets the nodes pull from a registry of another project or account; ``None`` where only that
      registry's owner can grant it
    - ``rights_of_data``: rights to keys that the stack has deployed for the data of a component, by its name; they are
      declared even if the stack file has the component no longer
    """

    registry: Callable[[str, Registry, pulumi.Resource], pulumi.Output[str]]
    bucket: Callable[[str, Checkpoints, pulumi.Resource], Bucket]
    share: Callable[[str, SharedVolume, pulumi.Resource], Share]
    pod_identity: Callable[[str, tuple[str, str], Reach, pulumi.Resource], Mapping[str, pulumi.Input[str]]]
    grant_pull: Callable[[str, str, pulumi.Resource], None] | None = None
    rights_of_data: Mapping[str, Callable[[pulumi.Resource], object]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class AdminObjects:
    """Declares objects inside the cluster as children of ``parent``, a component called ``name``.

    Objects with pods wait for ``admin_pool``, whose nodes they run on; ``None`` where the cluster has nodes of its own.
    """

    name: str
    objects: ClusterObjects
    parent: pulumi.Resource
    admin_pool: pulumi.Resource | None

    @property
    def home(self) -> tuple[pulumi.Resource, ...]:
        """What objects with pods wait for."""
        return () if self.admin_pool is None else (self.admin_pool,)

    def declare(self, suffix: str, manifest: Inputs, *after: pulumi.Resource) -> CustomResource:
        """The object ``<name>-<suffix>``, or ``<name>`` without a suffix."""
        name = f"{self.name}-{suffix}" if suffix else self.name
        return self.objects.declare(name, manifest, self.parent, *after)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The subject of a role binding: a principal as the API server names it."""

    kind: Literal["User", "Group"]
    name: str


def named_subject(entry: Access) -> Subject:
    """The subject of an entry whose ``who`` is ``group:<name>``, or the name of a user after another word."""
    kind, _, name = entry.who.partition(":")
    return Subject(kind="Group" if kind == "group" else "User", name=name)


def former_name(name: str) -> pulumi.ResourceOptions:
    """Options of what grants an ``access``: its resource is named after the principal, as the grant is one thing in the
    cloud whatever its entry is called. Earlier versions of the program called it ``name``, after the entry.
    """
    return pulumi.ResourceOptions(aliases=[pulumi.Alias(name=name)])


@dataclass(frozen=True, kw_only=True)
class RunningNodes:
    """Nodes that an update finds, as the stack's last one ``deployed`` them.

    ``busy``: of a pool, what is there that keeps the device plugin of its nodes, as messages name it; empty without
    any. ``image``: of a pool, the image of these nodes. ``former_name``: of a pool, the one that its nodes had then.
    """

    deployed: Deployed
    busy: Callable[[Pool], pulumi.Output[str]]
    image: Callable[[Pool], Image] = lambda pool: pool.nodes.image
    former_name: Callable[[Pool], str] = lambda pool: pool.name


class NodePools(Protocol):
    """Declares pools."""

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """Declare the pool's resources with ``opts``, and return its main resource.

        The admin pool is declared first; every other pool waits for its nodes.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class ClusterLookup:
    """What the cloud says of a cluster that somebody else made.

    ``properties`` are in the words of the provider's cluster resource, for the gate; ``unknown`` are those that nobody
    could look up, with the reason; ``put_off``: the update looks at more than this preview. ``kubeconfig`` is empty
    where asking the cluster makes no sense; ``other_kubeconfigs`` are those by its other addresses. ``pools`` are the
    names of its node pools; ``leftovers`` those that have this program's labels, with what deletes them. ``missing``:
    it is not there. ``nodes`` are properties of its nodes that new ones take over, by the provider's names,
    ``node_class`` an object in the cluster with such properties. ``node_identity`` is what new nodes log in as,
    ``network`` what they are in, by the cloud's names; ``less_memory`` is what nodes there have less than others of
    their type, in MiB by pool. ``problems`` are reasons not to add pools, ``notes`` what their owner should know.
    """

    name: str
    location: str
    version: str
    kubeconfig: str
    authority: str
    node_identity: str = ""
    network: Mapping[str, str] = field(default_factory=dict)
    pools: tuple[str, ...] = ()
    node_class: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    missing: bool = False
    put_off: bool = False
    nodes: Mapping[str, Any] = field(default_factory=dict)
    other_kubeconfigs: tuple[str, ...] = ()
    leftovers: Mapping[str, str] = field(default_factory=dict)
    less_memory: Mapping[str, int] = field(default_factory=dict)


class JoinedCluster(Protocol):
    """A cluster that somebody else made: it declares pools there, and nothing else."""

    running_nodes: RunningNodes | None = None
    """As of a ``CloudCluster``."""

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """Declare what the cluster's own autoscaler needs for ``pools``. The result declares these pools."""
        ...


Lists: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
"""What the API server lists, by path, without what the user may not list."""


LookInside: TypeAlias = Callable[
    ["Settings", Collection[str], ClusterLookup, Lists, Callable[[str], Mapping[str, Any] | None]], ClusterLookup
]


def _named(pool: Mapping[str, Any]) -> str:
    """The name of a deployed pool, which may be an object of the cluster."""
    return str(pool.get("name") or (pool.get("metadata") or {}).get("name"))


_OLDEST: Final = (1, 30)
"""Of ValidatingAdmissionPolicies: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/"""


def minor_of(version: str) -> tuple[int, int]:
    """The minor version ``(1, 34)`` of Kubernetes; one that is not known is the oldest that the program supports."""
    match = re.match(r"v?(\d+)\.(\d+)", version)
    return _OLDEST if match is None else (int(match[1]), int(match[2]))


def too_old(name: str, version: str) -> str:
    """Why a cluster of somebody else with this version cannot have pools; empty if it can."""
    if minor_of(version) >= _OLDEST:
        return ""
    return f"'{name}' has Kubernetes {version}, and the program needs {_OLDEST[0]}.{_OLDEST[1]} or newer"


@dataclass(frozen=True, kw_only=True)
class Joining:
    """How a cloud adds pools to a cluster that somebody else made.

    - ``look``: settings, names of the stack's own pools, and the resource whose providers it asks → what the cloud says
      of the cluster
    - ``look_inside``: settings, names of the stack's own pools, what ``look`` said, what the API server lists, and how
      one object is looked up → the same with what only the cluster can say; ``None`` where the cloud says all. Without
      a kubeconfig it makes no sense to ask further
    - ``look_again``: what is known by then, and the resource → the same with what the cloud says of that
    - ``cluster``: settings, what will be known of the cluster, the same once it takes the pools, and what the stack has
      deployed → what declares pools there
    - ``pool_token``: the type of a pool's main resource; ``pool_name``: its outputs → the pool's name there
    - ``has_pool``: what the cloud says of the cluster, a pool, and the outputs that the stack has of it → whether it is
      the stack's own, in that cluster; of an object its UID says so
    - ``own_daemon``: the metadata of a DaemonSet → whether the cloud itself runs it
    - ``node_labels``: labels that a pool's nodes have there beside the pool's own; ``None`` for one that they lack
    - ``label_domains``: domains in which the cloud sets further labels, and names without a domain
    - ``other_plugin``: a pool, and the device plugin of others that would run there → the problem, if it is one
    - ``needs_plugin``: whether a pool's GPUs are offered by a device plugin of others alone
    - ``needs_driver``: whether its nodes have only the driver that NVIDIA's GPU Operator of others installs
    - ``lists``: paths of further lists of the API server that it looks at; ``listed_notes``: what is in them, by path →
      what the owner of the pools should know
    """

    look: Callable[[Settings, Collection[str], pulumi.Resource], Awaitable[ClusterLookup]]
    cluster: Callable[[Settings, pulumi.Output[ClusterLookup], pulumi.Output[ClusterLookup], Deployed], JoinedCluster]
    pool_token: str
    own_daemon: Callable[[Mapping[str, Any]], bool]
    node_labels: Callable[[Pool], Mapping[str, str | None]]
    label_domains: Sequence[str]
    other_plugin: Callable[[Pool, str], Problem | None]
    lists: Sequence[str] = ()
    listed_notes: Callable[[Lists], Iterable[str]] = lambda lists: ()
    look_inside: LookInside | None = None
    look_again: Callable[[ClusterLookup, pulumi.Resource], Awaitable[ClusterLookup]] | None = None
    has_pool: Callable[[ClusterLookup, Pool, Mapping[str, Any]], bool] = lambda view, pool, state: False
    needs_plugin: Callable[[Pool], bool] = lambda pool: False
    pool_name: Callable[[Mapping[str, Any]], str] = _named
    needs_driver: Callable[[Pool], bool] = lambda pool: False


class CloudCluster(NodePools, Protocol):
    """A declared cluster. It declares the admin pool; the result of ``autoscaler`` declares the others.

    A cloud's class sets the first three attributes, and leaves out what its cloud has no need for.
    """

    resource: CustomResource
    """The cluster's own resource: objects inside the cluster are deleted with it, unless it ``outlives_stack``."""
    kubeconfig: pulumi.Output[str]
    """The kubeconfig for users, marked secret; a cloud's has no static credential."""
    authority: pulumi.Output[str]
    """The CA of its control plane (PEM, base64), unique to the cluster and independent of the endpoint."""
    outlives_stack: bool = False
    """Whether the cluster is there before and after the stack: then each object in it is deleted individually."""
    user: Subject | None = None
    """The user that ``kubeconfig`` authenticates, if the program decides about its rights; ``None`` if a cloud does."""
    running_nodes: RunningNodes | None = None
    """Nodes to which another device plugin of the program would come; ``None`` if others or new nodes get it alone."""

    @property
    def name(self) -> pulumi.Output[str]:
        """The cluster's name in the cloud, known once it exists."""
        return self.resource.outputs["name"]

    @property
    def admin_kubeconfig(self) -> pulumi.Output[str]:
        """The kubeconfig with which the program declares objects, marked secret.

        A cloud's is the users', without a credential: the program logs in to the cloud as its user.
        """
        return self.kubeconfig

    @property
    def network(self) -> Mapping[str, pulumi.Input[Any]]:
        """The stack output ``network``: the network, its parts and the nodes' identity, by the cloud's names."""
        ...

    @property
    def workloads(self) -> WorkloadResources:
        """The cloud's resources for jobs outside the cluster."""
        return WorkloadResources(registry=_refused, bucket=_refused, share=_refused, pod_identity=_refused)

    def basics(self, objects: AdminObjects) -> None:
        """Declare what the pools need beside what the cloud brings: StorageClasses, on own machines a pods' network."""

    def volume_class(self, pool: Pool) -> str | None:
        """The StorageClass for volumes of the pool's pods; ``None`` is the default one, which all its nodes attach."""
        return None

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """Declare the autoscaler of ``pools``: its cloud identity and its ``objects`` in the cluster; nothing where the
        cloud runs the autoscaler itself, and where nothing scales. The result declares these pools."""
        return self


def _refused(*_: Any) -> Any:
    raise AssertionError("settings refuse what only a cloud makes")


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """One cloud: its ``name`` in a stack file, and functions.

    - ``adds_gpu_toleration``: whether the API server adds the ``nvidia.com/gpu`` toleration to pods that request a GPU
    - ``admits_strangers``: whether the group ``system:authenticated`` is more than the cluster's users: any account of
      the cloud
    - ``ends_running_pods``: whether the autoscaler evicts running GPU pods from a node of which at most half is in use
    - ``open_share``: the CSI driver of shared volumes that every NFS client of the network may mount; ``None`` where a
      mount needs a right, or there are none
    - ``classes_with_one_key``: StorageClasses of the cloud by which a claim gives its namespace the key of all volumes
      of the class, also of other namespaces
    - ``gpus_by_variable``: whether the container runtime on nodes of some of the pools gives a container the GPUs of
      NVIDIA that a variable of it names, whoever wrote that
    - ``cluster``: declares network, identity of the nodes and control plane as children of the last argument
    - ``gpu_daemons``: DaemonSets that make the GPUs of pools usable; none where the cloud does it
    - ``gpu_exporters``: DaemonSets that export GPU metrics of pools to Prometheus
    - ``subject``: the subject of role bindings for an entry of ``access``
    - ``governance``: how the cluster's autoscaler treats a pool
    - ``joining``: autoscaler of a cluster that somebody else made → how pools are added there
    """

    name: str
    adds_gpu_toleration: bool
    admits_strangers: bool = False
    ends_running_pods: bool = False
    open_share: str | None = None
    classes_with_one_key: tuple[str, ...] = ()
    gpus_by_variable: Callable[[Sequence[Pool]], bool] = lambda _: False
    cluster: Callable[[str, Settings, pulumi.Resource], CloudCluster]
    gpu_daemons: Callable[[Sequence[Pool]], Sequence[GpuDaemon]]
    gpu_exporters: Callable[[Sequence[Pool]], Sequence[GpuDaemon]]
    subject: Callable[[Access], Subject]
    governance: Callable[[Pool, Settings], PoolGovernance]
    joining: Mapping[str, Joining] = field(default_factory=dict)


def cloud_names() -> Sequence[str]:
    """The clouds that rent machines, sorted."""
    return sorted(PLUGINS)


def load_cloud(name: str) -> Cloud:
    """The cloud called ``name``.

    Raises:
        ValueError: unknown cloud; the message lists the supported ones.
    """
    if name not in PLUGINS and name not in OWN_MACHINES:
        raise ValueError(f"cloud: '{name}' is not supported; write one of {', '.join((*cloud_names(), *OWN_MACHINES))}")
    cloud: Cloud = import_module(f"components.clouds.{name}.cloud").CLOUD
    return cloud
