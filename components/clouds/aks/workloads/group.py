"""The resource group of what outlives the cluster: a group that is deleted takes everything in it along.

https://learn.microsoft.com/azure/azure-resource-manager/management/delete-resource-group
"""

from __future__ import annotations

import re

import pulumi

from components.clouds.aks.context import Context
from components.clouds.declare import aks as declare
from components.clouds.names import worldwide
from components.clouds.retained import retained
from components.settings.sections.workloads import Lasting


class DataGroup:
    """A resource group for one of them: ``id`` follows from the name; ``name`` is known once it exists."""

    def __init__(self, name: str, context: Context, purpose: str, setting: Lasting, parent: pulumi.Resource) -> None:
        self._settings = settings = context.settings
        group_name = f"{settings.cluster_name}-{purpose}"
        self.id = f"/subscriptions/{settings.project}/resourceGroups/{group_name}"
        group = declare(
            "azure-native:resources:ResourceGroup",
            f"{name}-group",
            {"resourceGroupName": group_name, "location": settings.region, "tags": dict(settings.labels)},
            retained(setting, self.id, parent),
            outputs=["name"],
        )
        self.name: pulumi.Output[str] = group.outputs["name"]

    def worldwide(self, limit: int, suffix: str = "") -> str:
        """A name of at most ``limit`` letters and digits for something in it whose names all the world shares."""
        settings = self._settings
        named = worldwide(settings.cluster_name, limit, settings.project, settings.region, suffix=suffix)
        return re.sub(r"\W|_", "", named)
