"""A registry of Azure Container Registry, without passwords and without anonymous access.

The Basic tier: features of higher tiers (private endpoints, deletion of untagged images) cost money even if unused. https://learn.microsoft.com/azure/container-registry/container-registry-skus
"""

from __future__ import annotations

from typing import Final

import pulumi

from components.clouds.aks import roles
from components.clouds.aks.context import Context
from components.clouds.aks.workloads.group import DataGroup
from components.clouds.declare import aks as declare
from components.clouds.retained import retained
from components.settings.sections.workloads import Registry

# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftcontainerregistry
_NAME_LIMIT: Final = 50

# https://learn.microsoft.com/rest/api/containerregistry/registries/update has it not.
_CREATED_WITH: Final = ("zoneRedundancy",)


def registry(context: Context, name: str, setting: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The registry, from which the nodes' identity may pull; its address."""
    settings = context.settings
    group = DataGroup(name, context, "registry", setting, parent)
    full_name = group.worldwide(_NAME_LIMIT)
    resource = declare(
        "azure-native:containerregistry:Registry",
        name,
        {
            "resourceGroupName": group.name,
            "registryName": full_name,
            "location": settings.region,
            "sku": {"name": "Basic"},
            "adminUserEnabled": False,
            "tags": dict(settings.labels),
        },
        retained(
            setting,
            f"{group.id}/providers/Microsoft.ContainerRegistry/registries/{full_name}",
            parent,
            created_with=_CREATED_WITH,
        ),
        outputs=["loginServer"],
    )
    _assign(f"{name}-pull", context, settings.project, "registry", resource.id, parent)
    return resource.outputs["loginServer"]


def grant_pull(context: Context, name: str, registry: str, parent: pulumi.Resource) -> None:
    """Grant the nodes' identity to pull from an existing registry of any subscription of the tenant."""
    _assign(name, context, registry.split("/")[2], registry, registry, parent)


def _assign(
    name: str, context: Context, subscription: str, key: str, registry: pulumi.Input[str], parent: pulumi.Resource
) -> None:
    """Both roles that can allow pulls. A registry honours one of them, by its permissions mode.

    The older mode honours AcrPull; Azure is making the other the default, for existing registries too. The provider's
    API version does not expose the mode.
    https://learn.microsoft.com/azure/aks/aks-service-permissions#aks-node-mapped-identity,
    https://github.com/Azure/acr/issues/883
    """
    for assignment_name, role in ((name, roles.ACR_PULL), (f"{name}-read", roles.REPOSITORY_READER)):
        roles.assignment(
            assignment_name,
            context.settings,
            subscription=subscription,
            key=key,
            role=role,
            scope=registry,
            principal=context.nodes.principal,
            opts=pulumi.ResourceOptions(parent=parent),
        )
