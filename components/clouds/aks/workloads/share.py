"""A share of Azure Files by NFS, in a storage account of its own: encrypted, as all are, no keys, no public address.

A private endpoint in the nodes' subnet is the only way in. SMB would need the account's key in the cluster.
https://learn.microsoft.com/azure/storage/files/files-nfs-protocol, https://learn.microsoft.com/azure/aks/azure-files-csi
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pulumi

from components.clouds.aks.context import Context
from components.clouds.aks.workloads.bucket import CREATED_WITH, NAME_LIMIT
from components.clouds.aks.workloads.group import DataGroup
from components.clouds.base import Share
from components.clouds.declare import aks as declare
from components.clouds.retained import retained
from components.settings.sections.workloads import SharedVolume
from facts.catalog.aks.cloud import CATALOG

DRIVER: Final = "file.csi.azure.com"
_SHARE: Final = "shared"
_INTERFACE: Final = "azure-native:network:getNetworkInterface"


def share(
    context: Context, name: str, setting: SharedVolume, parent: pulumi.Resource, *, after: Sequence[pulumi.Resource]
) -> Share:
    """The share, in the cluster's region; its endpoint is made ``after`` what else changes the subnet."""
    settings = context.settings
    group = DataGroup(name, context, _SHARE, setting, parent)
    account_name = group.worldwide(NAME_LIMIT, suffix="nfs")
    path = f"{group.id}/providers/Microsoft.Storage/storageAccounts/{account_name}"
    account = declare(
        "azure-native:storage:StorageAccount",
        name,
        {
            "resourceGroupName": group.name,
            "accountName": account_name,
            "location": settings.region,
            # NFS is with premium accounts alone: https://learn.microsoft.com/azure/storage/files/files-nfs-protocol
            "kind": "FileStorage",
            "sku": {"name": "Premium_LRS"},
            "allowBlobPublicAccess": False,
            "allowCrossTenantReplication": False,
            "allowSharedKeyAccess": False,
            # With it Azure refuses every mount without TLS, which AKS can do from 1.33 on (``encryptInTransit``). The
            # helper that AKS installs for it on Azure Linux refuses an address, as below, instead of the account's
            # name: https://github.com/Azure/AZNFS-mount/pull/223 is later. A volume keeps its attributes.
            # https://learn.microsoft.com/azure/storage/files/encryption-in-transit-for-nfs-shares
            "enableHttpsTrafficOnly": False,
            "minimumTlsVersion": "TLS1_2",
            "publicNetworkAccess": "Disabled",
            "tags": dict(settings.labels),
        },
        retained(setting, path, parent, created_with=CREATED_WITH),
    )
    assert CATALOG.choices.volume_gib is not None
    size = setting.size_gib or CATALOG.choices.volume_gib[0]
    files = declare(
        "azure-native:storage:FileShare",
        f"{name}-share",
        {
            "resourceGroupName": group.name,
            "accountName": account.outputs["accountName"],
            "shareName": _SHARE,
            "enabledProtocols": "NFS",
            "shareQuota": size,
            "rootSquash": "NoRootSquash",
        },
        retained(setting, f"{path}/fileServices/default/shares/{_SHARE}", parent),
    )
    endpoint = declare(
        "azure-native:network:PrivateEndpoint",
        f"{name}-endpoint",
        {
            "resourceGroupName": context.group,
            "privateEndpointName": f"{settings.cluster_name}-{_SHARE}",
            "location": settings.region,
            "subnet": {"id": context.subnet},
            # https://learn.microsoft.com/azure/private-link/private-endpoint-overview#private-link-resource
            "privateLinkServiceConnections": [
                {"name": _SHARE, "privateLinkServiceId": account.id, "groupIds": ["file"]},
            ],
            "tags": dict(settings.labels),
        },
        # An endpoint fails while its subnet is being changed (https://github.com/microsoft/AzureTRE/issues/1494), and a
        # pool while its network is (https://github.com/Azure/AKS/issues/4522).
        # It keeps its tags, as ``ManagedIdentity`` does: the volume in the cluster would show as replaced.
        pulumi.ResourceOptions(parent=parent, depends_on=list(after), ignore_changes=["tags"]),
        outputs=["networkInterfaces"],
    )
    # By its address: a private DNS zone would be one more thing that lasts.
    # https://github.com/kubernetes-sigs/azurefile-csi-driver/blob/master/docs/driver-parameters.md
    attributes: dict[str, pulumi.Input[str]] = {
        "protocol": "nfs",
        "resourceGroup": group.name,
        "storageAccount": account.outputs["accountName"],
        "shareName": files.outputs["shareName"],
        "server": _address(endpoint.outputs["networkInterfaces"], parent),
    }
    return Share(
        driver=DRIVER,
        # Any text that is this volume's alone: https://learn.microsoft.com/azure/aks/azure-csi-files-storage-provision
        handle=pulumi.Output.concat(group.name, "#", account.outputs["accountName"], "#", files.outputs["shareName"]),
        attributes=attributes,
        # As AKS's own classes for NFS mount: https://learn.microsoft.com/azure/aks/azure-files-csi
        options=("vers=4", "minorversion=1", "sec=sys", "nconnect=4", "noresvport"),
        size_gib=size,
        ready=[files, endpoint],
    )


def _address(interfaces: pulumi.Output[Any], parent: pulumi.Resource) -> pulumi.Output[str]:
    """The endpoint's, by its network interface.

    The endpoint's own ``customDnsConfigs`` are empty once a policy has given it a group of DNS zones, as landing zones
    do: https://github.com/MicrosoftDocs/cloud-adoption-framework/issues/1020.
    """
    path = interfaces.apply(lambda interface: str(interface[0]["id"]).split("/"))
    arguments = {
        "resourceGroupName": path.apply(lambda parts: parts[4]),
        "networkInterfaceName": path.apply(lambda parts: parts[-1]),
    }
    interface = pulumi.runtime.invoke_output(_INTERFACE, arguments, pulumi.InvokeOutputOptions(parent=parent))
    return interface.apply(lambda properties: str(properties["ipConfigurations"][0]["privateIPAddress"]))
