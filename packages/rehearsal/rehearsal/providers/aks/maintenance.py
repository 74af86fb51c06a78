"""Maintenance windows of AKS, and the night on which it gives nodes new images."""

from __future__ import annotations

from typing import Final

from rehearsal.providers.aks.agent_pool import CLUSTER
from rehearsal.providers.aks.cloud import Subscription
from rehearsal.providers.aks.nodes import renews_images
from rehearsal.providers.base import Properties
from rehearsal.providers.values import at
from rehearsal.simulation import Night

MAINTENANCE: Final = "azure-native:containerservice:MaintenanceConfiguration"
IMAGES_WINDOW: Final = "aksManagedNodeOSUpgradeSchedule"


def night(cloud: Subscription) -> Night | None:
    """When AKS gives nodes new images; refused as an upgrade is that a budget would block for certain.

    https://learn.microsoft.com/troubleshoot/azure/azure-kubernetes/error-codes/unsatisfiablepdb-error. A budget that
    keeps more pods than it selects is none of those: https://github.com/Azure/AKS/releases/tag/2025-01-30
    """
    if not any(map(renews_images, (each.inputs for each in cloud.store.all(CLUSTER)))):
        return None
    windows = [each for each in cloud.store.all(MAINTENANCE) if each.inputs["configName"] == IMAGES_WINDOW]
    budgets = cloud.machines().list_objects("/apis/policy/v1/poddisruptionbudgets")
    problems = "; ".join(filter(None, map(_unsatisfiable, budgets)))
    refused = f"UnsatisfiablePDB: Upgrade is blocked due to invalid Pod Disruption Budgets (PDBs). {problems}"
    window = at(windows[0].inputs, "maintenanceWindow") if windows else None
    when = "any hour" if window is None else _when(window)
    return Night(when, refused=refused if problems else "")


def _when(window: Properties) -> str:
    weekly = at(window, "schedule.weekly") or {}
    return f"{weekly.get('dayOfWeek', 'any day').lower()} {window['startTime']} {window['durationHours']} h"


def _unsatisfiable(budget: Properties) -> str | None:
    spec, expected = budget["spec"], at(budget, "status.expectedPods") or 0
    name = f"PDB {budget['metadata']['namespace']}/{budget['metadata']['name']}"
    if budget["metadata"]["namespace"] == "kube-system":
        return None
    if str(spec.get("maxUnavailable", "")) in ("0", "0%"):
        return f"{name} has maxUnavailable == 0 can't proceed with put operation"
    if 0 < expected == spec.get("minAvailable"):
        return f"{name} has minAvailable({expected}) >= expectedPods({expected}) can't proceed with put operation"
    return None
