"""What the files of an EKS cluster share once its control plane is declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.clouds.eks.existing_network import ExistingNetwork
from components.clouds.eks.identity import CallerIdentity, ServiceRole
from components.clouds.eks.network import Network
from components.clouds.eks.running_groups import RunningGroup, RunningGroups
from components.resources import CustomResource
from components.settings import Settings
from facts.concepts.pool import Pool


@dataclass(frozen=True, kw_only=True)
class Context:
    """The cluster of a stack: its ``control_plane`` and ``minor`` version, the account and network it is in, and the
    role of its nodes.

    ``groups`` are those that it has already; ``None`` where no autoscaler changes their sizes. ``file_mounts`` is who
    the nodes' EFS driver is when it mounts the shared volume; ``None`` without one.
    """

    settings: Settings
    account: CallerIdentity
    network: Network | ExistingNetwork
    node_role: ServiceRole
    control_plane: CustomResource
    minor: str
    groups: RunningGroups | None = None
    file_mounts: ServiceRole | None = None

    @property
    def name(self) -> pulumi.Output[str]:
        """The cluster's name, known once it exists."""
        return self.control_plane.output("name")

    @property
    def security_group(self) -> pulumi.Output[Any]:
        """The security group that EKS makes for control plane and nodes."""
        return self.control_plane.output("vpcConfig").apply(lambda network: network["clusterSecurityGroupId"])

    def running(self, pool: Pool, after: Sequence[pulumi.Resource]) -> pulumi.Output[RunningGroup] | None:
        """The pool's node group as it is when all of ``after`` is up to date; ``None`` if it is still to be made."""
        return None if self.groups is None else self.groups.get(pool.name, after)
