"""What the files of an EKS cluster share once its control plane is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

from components.clouds.eks.identity import Account, Role
from components.clouds.eks.network import Network
from components.resources import CustomResource
from components.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Context:
    """The cluster of a stack: its ``control_plane``, the account and network it is in, and the role of its nodes."""

    settings: Settings
    account: Account
    network: Network
    node_role: Role
    control_plane: CustomResource

    @property
    def name(self) -> pulumi.Output[str]:
        """The cluster's name, known once it exists."""
        return self.control_plane.output("name")

    @property
    def security_group(self) -> pulumi.Output[Any]:
        """The security group that EKS makes for control plane and nodes."""
        return self.control_plane.output("vpcConfig").apply(lambda network: network["clusterSecurityGroupId"])
