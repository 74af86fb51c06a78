"""The context that the modules of an EKS cluster share after its control plane is declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pulumi

from components.clouds.deployed import Deployed
from components.clouds.eks.existing_network import ExistingNetwork
from components.clouds.eks.identity import CallerIdentity, ServiceRole
from components.clouds.eks.network import Network
from components.clouds.eks.running_groups import RunningGroup, RunningGroups
from components.resources import CustomResource
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import eks


class NodesContext(Protocol):
    """What a node group takes of its cluster, whoever made that."""

    @property
    def settings(self) -> Settings:
        """What the stack file says."""
        ...

    @property
    def deployed(self) -> Deployed:
        """What the last update left."""
        ...

    @property
    def name(self) -> pulumi.Output[str]:
        """The cluster's name, known once it exists."""
        ...

    @property
    def version(self) -> pulumi.Output[str]:
        """The control plane's version, which new nodes have."""
        ...

    @property
    def node_role_arn(self) -> pulumi.Output[str]:
        """The role of its nodes."""
        ...

    @property
    def security_group(self) -> pulumi.Output[Any]:
        """The security group that EKS makes for control plane and nodes."""
        ...

    @property
    def interfaces(self) -> pulumi.Output[Sequence[eks.LaunchTemplateNetworkInterface]] | None:
        """The network interfaces of a node, with their security groups; ``None``: as EKS makes them."""
        ...

    def subnets(self, zones: Sequence[str]) -> pulumi.Input[Sequence[pulumi.Input[str]]]:
        """The subnets of nodes in these zones."""
        ...

    def named(self, name: Callable[[str], str]) -> pulumi.Input[str]:
        """A name that has the cluster's in it."""
        ...

    def running(self, group: str, after: Sequence[pulumi.Resource]) -> pulumi.Output[RunningGroup] | None:
        """A node group as it is once all of ``after`` is up to date; ``None`` if it does not exist."""
        ...


@dataclass(frozen=True, kw_only=True)
class Context:
    """The cluster of a stack: its ``control_plane`` and ``minor`` version, the account and network it is in, and the
    role of its nodes.

    ``deployed`` is what the last update left, ``groups`` are its existing node groups, if an autoscaler changes their
    sizes. ``disk_keys`` encrypt its disks.
    ``file_mounts`` is the role of the nodes' EFS driver for mounting the shared volume; ``None`` without one.
    """

    settings: Settings
    account: CallerIdentity
    network: Network | ExistingNetwork
    node_role: ServiceRole
    control_plane: CustomResource[eks.ClusterOutputs]
    minor: str
    groups: RunningGroups
    deployed: Deployed
    disk_keys: tuple[str, ...] = ()
    file_mounts: ServiceRole | None = None

    @property
    def name(self) -> pulumi.Output[str]:
        """The cluster's name, known once it exists."""
        return self.control_plane.outputs["name"]

    @property
    def security_group(self) -> pulumi.Output[Any]:
        """The security group that EKS makes for control plane and nodes."""
        return self.control_plane.outputs["vpcConfig"].apply(lambda network: network["clusterSecurityGroupId"])

    @property
    def version(self) -> pulumi.Output[str]:
        """The control plane's version, known once it has it; the stack's state may have a former one."""
        return self.control_plane.outputs["version"].apply(lambda _: self.minor)

    @property
    def node_role_arn(self) -> pulumi.Output[str]:
        """The role of its nodes."""
        return self.node_role.arn

    @property
    def interfaces(self) -> None:
        """EKS makes them, with its own security group."""
        return None

    def subnets(self, zones: Sequence[str]) -> list[pulumi.Input[str]]:
        """The private subnets of these zones."""
        return [self.network.private_subnets[zone] for zone in zones]

    def named(self, name: Callable[[str], str]) -> str:
        """A name that has the cluster's in it."""
        return name(self.settings.cluster_name)

    def running(self, group: str, after: Sequence[pulumi.Resource]) -> pulumi.Output[RunningGroup] | None:
        """A node group as it is once the control plane and all of ``after`` are up to date."""
        return self.groups.get(group, [self.control_plane, *after])
