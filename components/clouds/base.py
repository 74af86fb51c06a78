"""What a cloud is to the components, and the registry of clouds.

A cloud is a package below ``components.clouds`` with two modules: ``limits`` (what the cloud cannot do; no Pulumi
import, because settings call it) and ``cloud`` (its resources). Both are imported on first use, so a stack on one
cloud never loads another's modules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from components.pools import AdminPoolSpec, CpuPoolSpec, DriverVersion, GpuPoolSpec, Image

if TYPE_CHECKING:
    import pulumi

    from components.settings import Problem, Settings

_PACKAGES: Final[Mapping[str, str]] = {"gke": "components.clouds.gke"}


@dataclass(frozen=True, kw_only=True)
class AuthorizedNetwork:
    """A range that may reach the control plane."""

    name: str
    cidr: str


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """A cluster in words that hold on every cloud.

    ``project`` is the account, ``autoscaling_profile`` is ``optimize-utilization`` or ``balanced``. ``regional`` puts
    the control plane in several zones, else it is in ``zones[0]``.
    ``control_plane_cidr=None`` leaves the choice to the cloud; ``version=None`` is the channel's default version.
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
    pod_cidr: str
    service_cidr: str
    control_plane_cidr: str | None
    kms_key: str | None
    deletion_protection: bool
    autoscaling_profile: str
    labels: Mapping[str, str]


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
    """A declared cluster, and the pools it can have. Every method declares one pool resource and returns it."""

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

    def admin_pool(self, name: str, spec: AdminPoolSpec, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """A pool of fixed size."""
        ...

    def cpu_node_pool(self, name: str, spec: CpuPoolSpec, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """An autoscaled pool without GPUs."""
        ...

    def gpu_node_pool(self, name: str, spec: GpuPoolSpec, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """An autoscaled pool of GPU nodes that starts empty."""
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

    def driver_pod(self, image: Image, version: DriverVersion) -> Mapping[str, Any]:
        """The pod spec that installs the GPU driver on a node; placement (affinity, tolerations) is the caller's."""
        ...

    def governance(self, pool: GpuPoolSpec | CpuPoolSpec, profile: str) -> PoolGovernance:
        """What the cloud's autoscaler does with ``pool``."""
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
