"""When Azure may change nodes that run: it reimages them weekly, and without a window at any hour.

https://learn.microsoft.com/azure/aks/planned-maintenance, https://learn.microsoft.com/azure/aks/auto-upgrade-node-os-image
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.aks.context import Context
from components.clouds.aks.declare import declare
from components.resources import CustomResource

if TYPE_CHECKING:
    from schemas import aks

# What each window is for → its name, which Azure gives: new versions of Kubernetes, new images of nodes.
_NAMES: Final = {"versions": "aksManagedAutoUpgradeSchedule", "images": "aksManagedNodeOSUpgradeSchedule"}

# A weekend in every time zone. Azure wants four hours at least, and does not always keep to them.
_WEEKLY: Final[aks.MaintenanceWindow] = {
    "schedule": {"weekly": {"dayOfWeek": "Sunday", "intervalWeeks": 1}},
    "startTime": "02:00",
    "durationHours": 6,
    "utcOffset": "+00:00",
}

GPU_UPGRADES: Final[aks.AgentPoolUpgradeSettings] = {
    # Replacing nodes one by one by a surplus node would need quota for one more GPU machine, which few subscriptions
    # have.
    "maxSurge": "0",
    "maxUnavailable": "1",
    # A pod that a disruption budget or its own grace period keeps has as long as Azure ever waits; others end at once.
    "drainTimeoutInMinutes": 1440,
    # A node that is still not free stays in service as it is. Azure's other way, Cordon, needs a surplus node.
    "undrainableNodeBehavior": "Schedule",
}


def windows(context: Context, name: str, parent: pulumi.Resource) -> list[CustomResource]:
    """The windows of a cluster, one after the other like everything that changes it."""
    made: list[CustomResource] = []
    for suffix, config_name in _NAMES.items():
        window = declare(
            "azure-native:containerservice:MaintenanceConfiguration",
            f"{name}-{suffix}-window",
            {
                "resourceGroupName": context.group,
                "resourceName": context.control_plane.output("name"),
                "configName": config_name,
                "maintenanceWindow": _WEEKLY,
            },
            pulumi.ResourceOptions(parent=parent, depends_on=made[-1:], deleted_with=context.control_plane),
        )
        made.append(window)
    return made
