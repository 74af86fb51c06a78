"""A container of blobs in a storage account of its own: encrypted, as all are; TLS alone, never public, no keys.

https://learn.microsoft.com/azure/storage/blobs/security-recommendations
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.aks.context import Context
from components.clouds.aks.workloads.group import DataGroup
from components.clouds.base import Bucket
from components.clouds.declare import aks as declare
from components.clouds.retained import retained
from components.settings.sections.workloads import Checkpoints

if TYPE_CHECKING:
    from schemas import aks

# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftstorage
NAME_LIMIT: Final = 24
CONTAINER: Final = "checkpoints"

CREATED_WITH: Final = ("enableNfsV3", "isHnsEnabled")
"""https://learn.microsoft.com/rest/api/storagerp/storage-accounts/update has neither."""


def bucket(context: Context, name: str, setting: Checkpoints, parent: pulumi.Resource) -> Bucket:
    """The container, in the cluster's region; its name for grants is its resource id."""
    settings = context.settings
    group = DataGroup(name, context, "checkpoints", setting, parent)
    account_name = group.worldwide(NAME_LIMIT)
    path = f"{group.id}/providers/Microsoft.Storage/storageAccounts/{account_name}"
    account = declare(
        "azure-native:storage:StorageAccount",
        name,
        {
            "resourceGroupName": group.name,
            "accountName": account_name,
            "location": settings.region,
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
            "allowBlobPublicAccess": False,
            "allowCrossTenantReplication": False,
            "allowSharedKeyAccess": False,
            "defaultToOAuthAuthentication": True,
            "enableHttpsTrafficOnly": True,
            "minimumTlsVersion": "TLS1_2",
            "tags": dict(settings.labels),
        },
        retained(setting, path, parent, created_with=CREATED_WITH),
        outputs=["primaryEndpoints"],
    )
    # https://learn.microsoft.com/azure/storage/blobs/soft-delete-blob-overview
    undelete: aks.DeleteRetentionPolicy = {"enabled": True, "days": setting.undelete_days}
    blobs = declare(
        "azure-native:storage:BlobServiceProperties",
        f"{name}-undelete",
        {
            "resourceGroupName": group.name,
            "accountName": account.outputs["accountName"],
            "blobServicesName": "default",
            "deleteRetentionPolicy": undelete,
            "containerDeleteRetentionPolicy": undelete,
        },
        # It is part of the account and shares its lifecycle.
        pulumi.ResourceOptions(parent=parent, retain_on_delete=True),
    )
    container = declare(
        "azure-native:storage:BlobContainer",
        f"{name}-container",
        {
            "resourceGroupName": group.name,
            "accountName": account.outputs["accountName"],
            "containerName": CONTAINER,
            "publicAccess": "None",
        },
        retained(setting, f"{path}/blobServices/default/containers/{CONTAINER}", parent, blobs),
    )
    url = account.outputs["primaryEndpoints"].apply(lambda endpoints: f"{endpoints['blob']}{CONTAINER}")
    return Bucket(name=container.id, url=url)
