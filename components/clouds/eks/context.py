"""The context that the modules of an EKS cluster share after its control plane is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi

from components.clouds.deployed import Deployed
from components.clouds.eks.existing_network import ExistingNetwork
from components.clouds.eks.identity import CallerIdentity, ServiceRole
from components.clouds.eks.network import Network
from components.clouds.eks.running_groups import RunningGroups
from components.resources import CustomResource
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import eks


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
