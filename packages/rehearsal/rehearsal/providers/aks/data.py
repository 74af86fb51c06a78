"""Container registries and storage accounts, whose names are globally unique, blob containers, shares and private
endpoints. What is in them, and mounts of it, are not simulated."""

from __future__ import annotations

import ipaddress
import zlib
from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.aks import cloud as azure
from rehearsal.providers.aks.network import SUBNET, prefixes
from rehearsal.providers.base import Properties, at
from rehearsal.providers.resource import Pending

REGISTRY: Final = "azure-native:containerregistry:Registry"
ACCOUNT: Final = "azure-native:storage:StorageAccount"
CONTAINER: Final = "azure-native:storage:BlobContainer"
ENDPOINT: Final = "azure-native:network:PrivateEndpoint"
_LEAST_PREMIUM: Final = 100
TAKEN_REGISTRIES: Final = ("checkpoints", "images", "models", "registry", "training")
"""Names that other accounts own: NAME.azurecr.io is globally unique
(https://learn.microsoft.com/azure/container-registry/container-registry-get-started-azure-cli)."""
TAKEN_ACCOUNTS: Final = ("checkpoints", "data", "datasets", "models", "training")
"""The same of https://learn.microsoft.com/azure/storage/common/storage-account-overview#storage-account-name"""


def _may_be_public(pending: Pending[azure.Subscription]) -> None:
    """What landing zones of kind Corp deny: https://github.com/Azure/azure-policy/blob/master/built-in-policies/
    policyDefinitions/Storage/StoragePublicNetworkAccess_AuditDeny.json, and for registries
    .../Container%20Registry/ACR_PublicNetworkAccess_AuditDeny.json"""
    access = pending.inputs.get("publicNetworkAccess") or "Enabled"
    if "public-data" in pending.cloud.account_limits.policies and access not in ("Disabled", "SecuredByPerimeter"):
        name = pending.inputs.get("accountName") or pending.inputs.get("registryName")
        raise azure.api_error(
            HTTPStatus.FORBIDDEN, "RequestDisallowedByPolicy", f"Resource '{name}' was disallowed by policy."
        )


def _registry_available(pending: Pending[azure.Subscription]) -> None:
    _may_be_public(pending)
    name = pending.inputs["registryName"].lower()
    others = {record.inputs["registryName"].lower() for record in pending.cloud.store.all(REGISTRY)}
    if pending.before is None and (name in TAKEN_REGISTRIES or name in others):
        raise azure.api_error(
            HTTPStatus.CONFLICT, "AlreadyInUse", f"The registry DNS name {name}.azurecr.io is already in use."
        )


def _account_available(pending: Pending[azure.Subscription]) -> None:
    _may_be_public(pending)
    name = pending.inputs["accountName"]
    others = {record.inputs["accountName"] for record in pending.cloud.store.all(ACCOUNT)}
    if pending.before is None and (name in TAKEN_ACCOUNTS or name in others):
        message = f"The storage account named {name} is already taken."
        raise azure.api_error(HTTPStatus.CONFLICT, "StorageAccountAlreadyTaken", message)


def _public(pending: Pending[azure.Subscription]) -> None:
    """https://learn.microsoft.com/azure/storage/blobs/anonymous-read-access-prevent"""
    inputs = pending.inputs
    account = pending.cloud.find(azure.id_of(pending.cloud, ACCOUNT, inputs), ACCOUNT)
    if account is None or inputs.get("publicAccess") in (None, "None"):
        return
    if not at(account.inputs, "allowBlobPublicAccess"):
        raise azure.bad_request("Public access is not permitted on this storage account.", "PublicAccessNotPermitted")


def _endpoints(pending: Pending[azure.Subscription]) -> dict[str, str]:
    """https://learn.microsoft.com/azure/storage/common/storage-account-overview#types-of-storage-accounts"""
    service = "file" if pending.inputs["kind"] == "FileStorage" else "blob"
    return {service: f"https://{pending.inputs['accountName']}.{service}.core.windows.net/"}


def _account_can(pending: Pending[azure.Subscription]) -> None:
    """NFS is with FileStorage accounts alone, whose shares have 100 GiB at least, and without TLS not with those that
    require secure transfer: https://learn.microsoft.com/azure/storage/files/files-nfs-protocol.

    Azure takes such a share; volumes with TLS (``encryptInTransit``) are not simulated.
    """
    inputs = pending.inputs
    account = azure.require(pending.cloud, azure.id_of(pending.cloud, ACCOUNT, inputs), ACCOUNT).inputs
    premium = account.get("kind") == "FileStorage"
    if inputs.get("enabledProtocols") == "NFS" and not premium:
        raise azure.bad_request(
            "NFS shares need a storage account of kind FileStorage.", "FeatureNotSupportedForAccount"
        )
    if inputs.get("enabledProtocols") == "NFS" and account.get("enableHttpsTrafficOnly", True):
        raise azure.bad_request(
            "No client could mount an NFS share without TLS of an account that requires secure transfer: "
            "write enableHttpsTrafficOnly false."
        )
    if premium and (inputs.get("shareQuota") or _LEAST_PREMIUM) < _LEAST_PREMIUM:
        raise azure.bad_request(
            "The value for one of the HTTP headers is not in the correct format.", "InvalidHeaderValue"
        )


def _address(cloud: azure.Subscription, endpoint: str, inputs: Properties) -> str:
    """One of the subnet's: https://learn.microsoft.com/azure/private-link/private-endpoint-overview"""
    subnet = cloud.find(inputs["subnet"]["id"], SUBNET)
    ranges = prefixes(subnet.inputs) if subnet is not None else ["192.0.2.0/24"]
    network = ipaddress.ip_network(ranges[0])
    return str(network[zlib.crc32(endpoint.lower().encode()) % (network.num_addresses - 8) + 4])


def _interfaces(pending: Pending[azure.Subscription]) -> list[Any]:
    """The one that Azure makes with an endpoint, in its resource group."""
    folder = pending.id.partition("/privateEndpoints/")[0]
    name = pending.inputs["privateEndpointName"]
    return [{"id": f"{folder}/networkInterfaces/{name}.nic.{azure.identifier('nic', pending.id)}"}]


def get_network_interface(cloud: azure.Subscription, args: Properties) -> Properties:
    """``network.getNetworkInterface``: that of an endpoint; 404 for any other."""
    group = azure.id_of(cloud, azure.GROUP, args)
    id = f"{group}/providers/Microsoft.Network/networkInterfaces/{args['networkInterfaceName']}"
    for each in cloud.store.all(ENDPOINT):
        if any(azure.same(its["id"], id) for its in each.outputs["networkInterfaces"]):
            address = _address(cloud, each.id, each.inputs)
            return {"id": id, "ipConfigurations": [{"primary": True, "privateIPAddress": address}]}
    raise azure.not_found(id)


def _names(pending: Pending[azure.Subscription]) -> list[Any]:
    """Where no group of DNS zones knows them: https://github.com/MicrosoftDocs/cloud-adoption-framework/issues/1020."""
    connections = pending.inputs.get("privateLinkServiceConnections") or [{}]
    account = str(at(connections[0], "privateLinkServiceId")).rpartition("/")[2]
    return [
        {
            "fqdn": f"{account}.file.core.windows.net",
            "ipAddresses": [_address(pending.cloud, pending.id, pending.inputs)],
        }
    ]


ROWS: Final = (
    azure.TABLE.row(
        REGISTRY,
        outputs={"loginServer": lambda pending: f"{pending.inputs['registryName'].lower()}.azurecr.io"},
        requires=_registry_available,
    ),
    azure.TABLE.row(ACCOUNT, outputs={"primaryEndpoints": _endpoints}, requires=_account_available),
    azure.TABLE.row("azure-native:storage:BlobServiceProperties", idempotent=lambda _: True),
    azure.TABLE.row(CONTAINER, requires=_public),
    azure.TABLE.row("azure-native:storage:FileShare", requires=_account_can),
    azure.TABLE.row(ENDPOINT, outputs={"customDnsConfigs": _names, "networkInterfaces": _interfaces}),
)
