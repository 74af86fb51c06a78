"""Patterns and ranges of Azure's requests: the newest models carry none, so they are those of the specification.

Containers: https://github.com/Azure/azure-rest-api-specs/blob/main/specification/containerservice/resource-manager/
Microsoft.ContainerService/aks/stable/2025-09-01/managedClusters.json (read at commit 1041da1a500c). Names of the
others: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_CIDR: Final = r"([0-9]{1,3}\.){3}[0-9]{1,3}(/([0-9]|[1-2][0-9]|3[0-2]))?"
_IP: Final = r"(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
# Names in Microsoft.Network: begin with a letter or digit, end with one or an underscore.
_NETWORK_NAME: Final = r"[A-Za-z0-9](?:[-\w.]{0,%d}\w)?"


@dataclass(frozen=True)
class ValueLimit:
    """A whole string's ``pattern``, or a number's inclusive range."""

    pattern: str = ""
    low: float | None = None
    high: float | None = None


POOL_NAME: Final = ValueLimit(r"[a-z][a-z0-9]{0,11}")
_GROUP_NAME: Final = ValueLimit(r"[-\w.()]{0,89}[-\w()]")
_DISK: Final = ValueLimit(low=0, high=2048)
_IDLE: Final = ValueLimit(low=4, high=120)
_PORT: Final = ValueLimit(low=1, high=65535)

GROUP: Final = ValueLimit(_GROUP_NAME.pattern)
"""Of every ``resourceGroupName``."""

LIMITS: Final[Mapping[str, Mapping[str, ValueLimit]]] = {
    "BlobContainer": {"containerName": ValueLimit(r"[a-z0-9](-?[a-z0-9]){2,62}|\$web|\$root|\$logs")},
    "FederatedIdentityCredential": {"federatedIdentityCredentialResourceName": ValueLimit(r"[A-Za-z0-9][-\w]{2,119}")},
    # https://learn.microsoft.com/rest/api/storagerp/file-shares/create
    "FileShare": {"shareName": ValueLimit(r"[a-z0-9](-?[a-z0-9]){2,62}"), "shareQuota": ValueLimit(low=1, high=102400)},
    "PrivateEndpoint": {"privateEndpointName": ValueLimit(_NETWORK_NAME % 62)},
    "Registry": {"registryName": ValueLimit(r"[A-Za-z0-9]{5,50}")},
    "StorageAccount": {"accountName": ValueLimit(r"[a-z0-9]{3,24}")},
    "AgentPool": {"agentPoolName": POOL_NAME, "osDiskSizeGB": _DISK},
    "AgentPoolUpgradeSettings": {
        "drainTimeoutInMinutes": ValueLimit(low=1, high=1440),
        "nodeSoakDurationInMinutes": ValueLimit(low=0, high=30),
    },
    "ContainerServiceNetworkProfile": {
        "dnsServiceIP": ValueLimit(_IP),
        "podCidr": ValueLimit(_CIDR),
        "serviceCidr": ValueLimit(_CIDR),
    },
    "Identity": {"resourceName": ValueLimit(r"[A-Za-z0-9][-\w]{2,127}")},
    "MaintenanceConfiguration": {
        "configName": ValueLimit("default|aksManagedAutoUpgradeSchedule|aksManagedNodeOSUpgradeSchedule")
    },
    "MaintenanceWindow": {
        "durationHours": ValueLimit(low=4, high=24),
        "startTime": ValueLimit(r"\d{2}:\d{2}"),
        "utcOffset": ValueLimit(r"[-+]\d{2}:\d{2}"),
    },
    "ManagedCluster": {"resourceName": ValueLimit(r"[a-zA-Z0-9]|[a-zA-Z0-9][-_a-zA-Z0-9]{0,61}[a-zA-Z0-9]")},
    "ManagedClusterAgentPoolProfile": {"name": POOL_NAME, "osDiskSizeGB": _DISK},
    "ManagedClusterLoadBalancerProfile": {
        "allocatedOutboundPorts": ValueLimit(low=0, high=64000),
        "idleTimeoutInMinutes": _IDLE,
    },
    "ManagedClusterLoadBalancerProfileManagedOutboundIPs": {
        "count": ValueLimit(low=1, high=100),
        "countIPv6": ValueLimit(low=0, high=100),
    },
    "ManagedClusterManagedOutboundIPProfile": {"count": ValueLimit(low=1, high=16)},
    "ManagedClusterNATGatewayProfile": {"idleTimeoutInMinutes": _IDLE},
    "NatGateway": {"natGatewayName": ValueLimit(_NETWORK_NAME % 78), "idleTimeoutInMinutes": _IDLE},
    "NetworkSecurityGroup": {"networkSecurityGroupName": ValueLimit(_NETWORK_NAME % 78)},
    "PortRange": {"portEnd": _PORT, "portStart": _PORT},
    "PublicIPAddress": {
        "publicIpAddressName": ValueLimit(_NETWORK_NAME % 78),
        "idleTimeoutInMinutes": ValueLimit(low=4, high=30),
    },
    "RouteTable": {"routeTableName": ValueLimit(_NETWORK_NAME % 78)},
    "SecurityRule": {"priority": ValueLimit(low=100, high=4096)},
    "Subnet": {"subnetName": ValueLimit(_NETWORK_NAME % 78)},
    "WeeklySchedule": {"intervalWeeks": ValueLimit(low=1, high=4)},
    "VirtualNetwork": {
        "virtualNetworkName": ValueLimit(_NETWORK_NAME % 62),
        "flowTimeoutInMinutes": ValueLimit(low=4, high=30),
    },
}
"""Model → property (or name in the address) → what it may be."""
