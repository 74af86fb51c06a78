"""Azure Files shares and private endpoints. Contents and mounts of shares are not simulated."""

from __future__ import annotations

import ipaddress
import zlib
from typing import Any, Final

from rehearsal.providers.aks.buckets import ACCOUNT, ACCOUNT_ID
from rehearsal.providers.aks.cloud import GROUP_ID, TABLE, Subscription, identifier, require, same
from rehearsal.providers.aks.errors import bad_request, not_found
from rehearsal.providers.aks.network import SUBNET, prefixes
from rehearsal.providers.base import Properties
from rehearsal.providers.resource import Pending, SimulatedResource
from rehearsal.providers.values import at

SHARE: Final = "azure-native:storage:FileShare"
ENDPOINT: Final = "azure-native:network:PrivateEndpoint"
_LEAST_PREMIUM: Final = 100


def _account_can(pending: Pending[Subscription]) -> None:
    """https://learn.microsoft.com/azure/storage/files/files-nfs-protocol: NFS is with FileStorage accounts alone, and

    not with those that take HTTPS alone; their shares have 100 GiB at least.
    """
    inputs = pending.inputs
    id = ACCOUNT_ID.format_map({**inputs, "subscription": pending.cloud.subscription})
    account = require(pending.cloud, id, ACCOUNT).inputs
    premium = account.get("kind") == "FileStorage"
    if inputs.get("enabledProtocols") == "NFS" and not premium:
        raise bad_request("NFS shares need a storage account of kind FileStorage.", "FeatureNotSupportedForAccount")
    if inputs.get("enabledProtocols") == "NFS" and account.get("enableHttpsTrafficOnly", True):
        raise bad_request(
            "No client could mount an NFS share of an account that requires secure transfer: "
            "write enableHttpsTrafficOnly false."
        )
    if premium and (inputs.get("shareQuota") or _LEAST_PREMIUM) < _LEAST_PREMIUM:
        raise bad_request("The value for one of the HTTP headers is not in the correct format.", "InvalidHeaderValue")


def _address(cloud: Subscription, endpoint: str, inputs: Properties) -> str:
    """One of the subnet's: https://learn.microsoft.com/azure/private-link/private-endpoint-overview"""
    subnet = cloud.find(inputs["subnet"]["id"], SUBNET)
    ranges = prefixes(subnet.inputs) if subnet is not None else ["192.0.2.0/24"]
    network = ipaddress.ip_network(ranges[0])
    return str(network[zlib.crc32(endpoint.lower().encode()) % (network.num_addresses - 8) + 4])


def _interfaces(pending: Pending[Subscription]) -> list[Any]:
    """The one that Azure makes with an endpoint, in its resource group."""
    folder = pending.id.partition("/privateEndpoints/")[0]
    name = pending.inputs["privateEndpointName"]
    return [{"id": f"{folder}/networkInterfaces/{name}.nic.{identifier('nic', pending.id)}"}]


def get_network_interface(cloud: Subscription, args: Properties) -> Properties:
    """``network.getNetworkInterface``: that of an endpoint; 404 for any other."""
    folder = GROUP_ID.format_map({**args, "subscription": cloud.subscription})
    id = f"{folder}/providers/Microsoft.Network/networkInterfaces/{args['networkInterfaceName']}"
    for each in cloud.store.all(ENDPOINT):
        if any(same(its["id"], id) for its in each.outputs["networkInterfaces"]):
            address = _address(cloud, each.id, each.inputs)
            return {"id": id, "ipConfigurations": [{"primary": True, "privateIPAddress": address}]}
    raise not_found(id)


def _names(pending: Pending[Subscription]) -> list[Any]:
    """Where no group of DNS zones knows them: https://github.com/MicrosoftDocs/cloud-adoption-framework/issues/1020."""
    connections = pending.inputs.get("privateLinkServiceConnections") or [{}]
    account = str(at(connections[0], "privateLinkServiceId")).rpartition("/")[2]
    return [
        {
            "fqdn": f"{account}.file.core.windows.net",
            "ipAddresses": [_address(pending.cloud, pending.id, pending.inputs)],
        }
    ]


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(SHARE, requires=_account_can),
    TABLE.row(ENDPOINT, outputs={"customDnsConfigs": _names, "networkInterfaces": _interfaces}),
)
