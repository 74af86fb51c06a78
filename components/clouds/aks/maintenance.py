"""When Azure may change nodes that run: it reimages them weekly, and without a window at any hour.

https://learn.microsoft.com/azure/aks/planned-maintenance, https://learn.microsoft.com/azure/aks/auto-upgrade-node-os-image
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import pulumi

from components.clouds.aks.context import Context
from components.clouds.declare import aks as declare
from components.resources import CustomResource
from components.settings.sections.maintenance import DAYS, Maintenance

if TYPE_CHECKING:
    from schemas import aks

_RELEASES: Final = "default"
# Azure's name of a window → its purpose: Azure's weekly releases, new Kubernetes versions, new images.
_PURPOSES: Final = {
    _RELEASES: "releases",
    "aksManagedAutoUpgradeSchedule": "versions",
    "aksManagedNodeOSUpgradeSchedule": "images",
}

GPU_UPGRADES: Final[aks.AgentPoolUpgradeSettings] = {
    # Replacing nodes one by one by a surplus node would need quota for one more GPU machine, which few subscriptions
    # have.
    "maxSurge": "0",
    "maxUnavailable": "1",
    # Pods end at once unless a disruption budget or their grace period keeps them. Azure refuses other changes of the
    # cluster while it waits for those.
    "drainTimeoutInMinutes": 30,
    # A node that is still not free takes no further pods, and goes when it is idle. Of Schedule the documentation says
    # both that the node stays in service and that it is deleted:
    # https://learn.microsoft.com/azure/aks/upgrade-options#scenario-2-node-drain-failures-and-pdbs
    "undrainableNodeBehavior": "Cordon",
}


def windows(context: Context, name: str, parent: pulumi.Resource) -> list[CustomResource]:
    """The windows of a cluster, declared one after another, like every change of a cluster."""
    declared: list[CustomResource] = []
    for config_name, when in maintenance_inputs(context.settings.maintenance).items():
        inputs: aks.MaintenanceConfiguration = {
            "resourceGroupName": context.group,
            "resourceName": context.control_plane.outputs["name"],
            "configName": config_name,
        }
        window = declare(
            "azure-native:containerservice:MaintenanceConfiguration",
            f"{name}-{_PURPOSES[config_name]}-window",
            cast("aks.MaintenanceConfiguration", {**inputs, **when}),
            pulumi.ResourceOptions(parent=parent, depends_on=declared[-1:], deleted_with=context.control_plane),
        )
        declared.append(window)
    return declared


def maintenance_inputs(maintenance: Maintenance) -> dict[str, Mapping[str, Any]]:
    """The window of each maintenance configuration, by Azure's name for it."""
    window = {"maintenanceWindow": _window(maintenance)}
    return {name: _hours(maintenance) if name == _RELEASES else window for name in _PURPOSES}


def _window(maintenance: Maintenance) -> aks.MaintenanceWindow:
    """Azure requires at least four hours, and may exceed them.

    Azure does not document whether the end date of an exclusion is inclusive, so it is the day after the last one.
    """
    window: aks.MaintenanceWindow = {
        "schedule": {"weekly": {"dayOfWeek": maintenance.day.capitalize(), "intervalWeeks": 1}},
        "startTime": maintenance.start,
        "durationHours": maintenance.hours,
        "utcOffset": "+00:00",
    }
    if maintenance.exclusions:
        window["notAllowedDates"] = [{"start": each.first, "end": each.end} for each in maintenance.exclusions]
    return window


def _hours(maintenance: Maintenance) -> Mapping[str, Any]:
    """The same in the form of the releases' configuration, which knows hours of days and no weeks."""
    slots: dict[str, list[int]] = {}
    for hour in range(maintenance.opens, maintenance.opens + maintenance.hours):
        slots.setdefault(DAYS[(maintenance.weekday + hour // 24) % 7].capitalize(), []).append(hour % 24)
    allowed = {"timeInWeek": [{"day": day, "hourSlots": hours} for day, hours in slots.items()]}
    if not maintenance.exclusions:
        return allowed
    spans = [{"start": f"{each.first}T00:00:00Z", "end": f"{each.end}T00:00:00Z"} for each in maintenance.exclusions]
    return {**allowed, "notAllowedTime": spans}
