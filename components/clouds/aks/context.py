"""The context that the modules of an AKS cluster share after its control plane is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from components.clouds.aks.identity import Identity
from components.clouds.aks.running_pools import RunningPools
from components.resources import CustomResource
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import aks


@dataclass(frozen=True, kw_only=True)
class Context:
    """The cluster of a stack: its ``control_plane``, resource ``group`` (a name), its nodes' ``subnet`` (an ID) and
    identity; ``running_pools`` are its existing pools."""

    settings: Settings
    control_plane: CustomResource[aks.ManagedClusterOutputs]
    group: pulumi.Input[str]
    subnet: pulumi.Input[str]
    nodes: Identity
    running_pools: RunningPools
