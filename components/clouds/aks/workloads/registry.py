"""A registry of Azure Container Registry, without passwords and without anonymous access.

The Basic tier: what others have more of (private endpoints, deletion of untagged images) is paid for while nobody uses
it. https://learn.microsoft.com/azure/container-registry/container-registry-skus
"""

from __future__ import annotations

import re
from typing import Final

import pulumi

from components.clouds.aks import roles
from components.clouds.aks.context import Context
from components.clouds.aks.declare import declare
from components.clouds.aks.workloads.group import DataGroup
from components.clouds.lasting import lasting
from components.clouds.names import worldwide
from components.settings.workloads import Registry

# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftcontainerregistry
_NAME_LIMIT: Final = 50

# https://learn.microsoft.com/rest/api/containerregistry/registries/update has it not.
_CREATED_WITH: Final = ("zoneRedundancy",)


def registry(name: str, context: Context, wanted: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The registry, from which the nodes' identity may pull; its address."""
    settings = context.settings
    group = DataGroup(name, context, "registry", wanted, parent)
    called = re.sub(r"\W|_", "", worldwide(settings.cluster_name, _NAME_LIMIT, settings.project, settings.region))
    made = declare(
        "azure-native:containerregistry:Registry",
        name,
        {
            "resourceGroupName": group.name,
            "registryName": called,
            "location": settings.region,
            "sku": {"name": "Basic"},
            "adminUserEnabled": False,
            "tags": dict(settings.labels),
        },
        lasting(
            wanted,
            f"{group.id}/providers/Microsoft.ContainerRegistry/registries/{called}",
            parent,
            created_with=_CREATED_WITH,
        ),
        outputs=["loginServer"],
    )
    # https://learn.microsoft.com/azure/aks/cluster-container-registry-integration
    roles.assignment(
        f"{name}-pull",
        subscription=settings.project,
        key=f"{settings.cluster_name}/registry",
        role=roles.ACR_PULL,
        scope=made.id,
        principal=context.nodes.principal,
        opts=pulumi.ResourceOptions(parent=parent),
    )
    return made.output("loginServer")


def let_pull(name: str, context: Context, registry: str, parent: pulumi.Resource) -> None:
    """Let the nodes' identity pull from a registry that is there, of whatever subscription of the tenant."""
    roles.assignment(
        name,
        subscription=registry.split("/")[2],
        key=f"{context.settings.cluster_name}/{registry}",
        role=roles.ACR_PULL,
        scope=registry,
        principal=context.nodes.principal,
        opts=pulumi.ResourceOptions(parent=parent),
    )
