"""What the files of an AKS cluster share once its control plane is declared."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.clouds.aks.identity import ManagedIdentity
from components.clouds.aks.running_pools import RunningPools
from components.resources import CustomResource
from components.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Context:
    """The cluster of a stack: its ``control_plane``, resource ``group`` (a name), its nodes' ``subnet`` (an id) and who
    they are; ``running_pools`` are those that it has already."""

    settings: Settings
    control_plane: CustomResource
    group: pulumi.Input[str]
    subnet: pulumi.Input[str]
    nodes: ManagedIdentity
    running_pools: RunningPools
