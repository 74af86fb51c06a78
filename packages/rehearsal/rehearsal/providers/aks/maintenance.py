"""Maintenance windows of AKS. The rehearsal upgrades nothing on its own, so they are only recorded and checked."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.aks.agent_pool import CLUSTER, CLUSTER_ID
from rehearsal.providers.aks.cloud import IN_GROUP, Rules, Subscription
from rehearsal.providers.base import Properties
from rehearsal.providers.resource import Reference, SimulatedResource
from rehearsal.providers.values import at

MAINTENANCE: Final = "azure-native:containerservice:MaintenanceConfiguration"
WINDOWS: Final = "https://learn.microsoft.com/azure/aks/planned-maintenance"
# The types of schedule that a configuration's window may have; only weeks for AKS's own releases.
SCHEDULES: Final = ("absoluteMonthly", "daily", "relativeMonthly", "weekly")

MAINTENANCE_RULES: Final = Rules()


@MAINTENANCE_RULES.add("window-given", WINDOWS, "configName", "maintenanceWindow", "timeInWeek")
def _problem(inputs: Properties, cloud: Subscription) -> str | None:
    if inputs.get("maintenanceWindow") or (inputs["configName"] == "default" and inputs.get("timeInWeek")):
        return None
    return f"Maintenance configuration '{inputs['configName']}' needs a maintenanceWindow."


@MAINTENANCE_RULES.add("window-one-schedule", WINDOWS, "configName", "maintenanceWindow.schedule")
def _schedule(inputs: Properties, cloud: Subscription) -> str | None:
    schedule = at(inputs, "maintenanceWindow.schedule")
    if schedule is None:
        return None
    kinds = [kind for kind in SCHEDULES if schedule.get(kind)]
    if len(kinds) != 1:
        return f"maintenanceWindow.schedule needs exactly one of {', '.join(SCHEDULES)}."
    if inputs["configName"] == "default" and kinds != ["weekly"]:
        return "maintenanceWindow.schedule of configuration 'default' must be weekly."
    return None


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    SimulatedResource(
        token=MAINTENANCE,
        id=CLUSTER_ID + "/maintenanceConfigurations/{configName}",
        name="configName",
        rules=MAINTENANCE_RULES.rules,
        references={**IN_GROUP, "resourceName": Reference(CLUSTER, "part")},
    ),
)
