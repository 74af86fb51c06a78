"""The context that the modules of a GKE cluster share after its control plane is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi

from components.clouds.deployed import Deployed
from components.resources import CustomResource
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import gke


@dataclass(frozen=True, kw_only=True)
class Context:
    """The cluster of a stack: ``name`` and ``location``, its ``control_plane``, and ``node_account``, the e-mail
    address of its nodes' account; ``deployed`` is what the stack's last update deployed.

    A cluster that somebody else made has no ``control_plane`` here. Its nodes may have public addresses, and pods get
    their node's identity where it has no workload pool (``pods_as_nodes``). ``nodes`` are properties that its nodes
    have, and ``channel``: whether it is in a release channel.
    """

    settings: Settings
    name: pulumi.Input[str]
    location: pulumi.Input[str]
    control_plane: CustomResource[gke.ClusterOutputs] | None
    node_account: pulumi.Output[Any]
    deployed: Deployed
    private_nodes: pulumi.Input[bool] = True
    pods_as_nodes: pulumi.Input[bool] = False
    nodes: pulumi.Output[Mapping[str, Any]] | None = None

    @property
    def made(self) -> list[pulumi.Resource]:
        """The control plane, where the stack makes it."""
        return [] if self.control_plane is None else [self.control_plane]


def location(settings: Settings) -> str:
    """Where the control plane is: the region, or the first zone."""
    return settings.region if settings.regional else settings.zones[0]
