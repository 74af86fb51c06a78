"""What a cloud is to the components, and the registry of clouds.

A cloud is a package below ``components.clouds`` with two modules: ``limits`` (what the cloud cannot do; no Pulumi
import, because settings call it) and ``cloud`` (its resources). Both are imported on first use, so a stack on one
cloud never loads another's modules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec

if TYPE_CHECKING:
    import pulumi

    from components.resources import ClusterObjects
    from components.settings import Problem, Settings

_PACKAGES: Final[Mapping[str, str]] = {
    "aks": "components.clouds.aks",
    "eks": "components.clouds.eks",
    "gke": "components.clouds.gke",
}


@dataclass(frozen=True, kw_only=True)
class AuthorizedNetwork:
    """A range that may reach the control plane."""

    name: str
    cidr: str


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """A cluster in words that hold on every cloud.

    ``project`` is the account. ``regional`` puts the control plane and the admin pool in several zones, else they are
    in ``zones[0]``. ``pod_cidr=None``: pods have addresses of the nodes' range.
    ``control_plane_cidr=None`` leaves the choice to the cloud; ``version=None`` is the channel's default version.
    ``autoscaler`` is who decides sizes (``managed``, ``cluster-autoscaler``, ``karpenter``), ``autoscaling_profile`` is
    ``optimize-utilization`` or ``balanced``; ``expander`` (how it chooses among pools that fit) and
    ``unneeded_minutes`` (how long a node is idle before it goes) are ``None`` where the profile decides.
    ``nat_per_zone`` keeps a zone's way out independent of other zones. ``addons`` are the opt-in parts of the cloud.
    ``admin_pool`` is for clouds whose clusters are born with their first pool.
    """

    name: str
    project: str
    region: str
    zones: tuple[str, ...]
    regional: bool
    channel: str
    version: str | None
    authorized_networks: tuple[AuthorizedNetwork, ...]
    private_endpoint: bool
    node_cidr: str
    pod_cidr: str | None
    service_cidr: str
    control_plane_cidr: str | None
    kms_key: str | None
    deletion_protection: bool
    autoscaling_profile: str
    autoscaler: str = "managed"
    expander: str | None = None
    unneeded_minutes: int | None = None
    nat_per_zone: bool = False
    addons: tuple[str, ...] = ()
    admin_pool: AdminPoolSpec | None = None
    labels: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class GpuDaemon:
    """A DaemonSet in ``kube-system`` that makes the GPUs of ``pools`` usable: a driver installer, a device plugin.

    ``app`` names what it is, ``variant`` distinguishes several of one app. ``pod`` is the pod spec without placement,
    which the caller adds from the pools. ``files`` become a ConfigMap of the DaemonSet's name, for ``pod`` to mount.
    """

    app: str
    variant: str
    pod: Mapping[str, Any]
    pools: tuple[GpuPoolSpec, ...]
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The DaemonSet's name."""
        return f"{self.app}-{self.variant}"


@dataclass(frozen=True, kw_only=True)
class PoolGovernance:
    """What decides the size of one pool, for the people who pay for it (counts are totals over the pool's zones)."""

    governed_by: str
    min_nodes: int
    max_nodes: int
    location_policy: str
    choice: str
    scale_up: str
    scale_down: str
    reaches_zero: str

    def as_output(self) -> dict[str, str | int]:
        """The same as a stack output."""
        return {
            "governedBy": self.governed_by,
            "min": self.min_nodes,
            "max": self.max_nodes,
            "locationPolicy": self.location_policy,
            "choice": self.choice,
            "scaleUp": self.scale_up,
            "scaleDown": self.scale_down,
            "reachesZero": self.reaches_zero,
        }


class CloudCluster(Protocol):
    """A declared cluster, and the pools it can have.

    A pool method declares what the pool consists of, as children by ``opts``, and returns the pool's main resource;
    ``objects`` is for pools that are objects inside the cluster.
    """

    @property
    def resource(self) -> pulumi.Resource:
        """The cluster's own resource: objects inside the cluster are deleted with it."""
        ...

    @property
    def name(self) -> pulumi.Output[str]:
        """The cluster's name in the cloud."""
        ...

    @property
    def kubeconfig(self) -> pulumi.Output[str]:
        """A kubeconfig without a static credential, marked secret."""
        ...

    def admin_pool(
        self, name: str, spec: AdminPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """The pool that never goes away. Never an object of an autoscaler that itself runs on this pool."""
        ...

    def cpu_node_pool(
        self, name: str, spec: CpuPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """An autoscaled pool without GPUs."""
        ...

    def gpu_node_pool(
        self, name: str, spec: GpuPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """An autoscaled pool of GPU nodes that starts empty."""
        ...

    def autoscaler(
        self,
        name: str,
        pools: Sequence[GpuPoolSpec | CpuPoolSpec],
        objects: ClusterObjects,
        parent: pulumi.Resource,
        admin_pool: pulumi.Resource,
    ) -> None:
        """Declare what scales ``pools``, before any of them: its identity in the cloud and its objects in the cluster,
        which wait for ``admin_pool``. Nothing where the cloud's own autoscaler needs no more than the pools' limits."""
        ...


class Cloud(Protocol):
    """One cloud."""

    @property
    def name(self) -> str:
        """As a stack file writes it."""
        ...

    @property
    def adds_gpu_toleration(self) -> bool:
        """Whether the API server adds the ``nvidia.com/gpu`` toleration to pods that ask for a GPU."""
        ...

    def cluster(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> CloudCluster:
        """Declare the network, the identity of the nodes and the control plane as children of ``parent``."""
        ...

    def gpu_daemons(self, pools: Sequence[GpuPoolSpec]) -> Sequence[GpuDaemon]:
        """What has to run on the nodes of ``pools`` before their GPUs are usable; nothing where the cloud does it."""
        ...

    def governance(self, pool: GpuPoolSpec | CpuPoolSpec, spec: ClusterSpec) -> PoolGovernance:
        """What the cluster's autoscaler does with ``pool``."""
        ...


def cloud_names() -> Sequence[str]:
    """The clouds there are, sorted."""
    return sorted(_PACKAGES)


def load_cloud(name: str) -> Cloud:
    """The cloud called ``name``.

    Raises:
        ValueError: there is no such cloud; the message lists those there are.
    """
    cloud: Cloud = import_module(f"{_package(name)}.cloud").CLOUD
    return cloud


def refusals(settings: Settings) -> list[Problem]:
    """What the settings ask for and their cloud cannot do."""
    found: list[Problem] = import_module(f"{_package(settings.cloud)}.limits").refusals(settings)
    return found


def _package(name: str) -> str:
    if name not in _PACKAGES:
        raise ValueError(f"cloud: '{name}' is not supported; write one of {', '.join(cloud_names())}")
    return _PACKAGES[name]
