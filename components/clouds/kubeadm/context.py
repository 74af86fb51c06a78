"""What the modules of a cluster of own machines share."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.settings import Settings
from components.settings.own.resolved import OwnMachines


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the machines of a stack share; ``options`` have the cluster as parent, and the plugin's provider."""

    settings: Settings
    own: OwnMachines
    options: pulumi.ResourceOptions
