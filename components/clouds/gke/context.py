"""The context that the modules of a GKE cluster share after its control plane is declared."""

from __future__ import annotations

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
    """The cluster of a stack: its ``control_plane``, and ``node_account``, the e-mail address of its nodes' account;
    ``deployed`` is what the stack's last update deployed."""

    settings: Settings
    control_plane: CustomResource[gke.ClusterOutputs]
    node_account: pulumi.Output[Any]
    deployed: Deployed


def location(settings: Settings) -> str:
    """Where the control plane is: the region, or the first zone."""
    return settings.region if settings.regional else settings.zones[0]
