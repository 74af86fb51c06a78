"""Properties that the installed ``azure-mgmt-*`` models know and the provider's default API version does not.

The models are those of the newest API version, pulumi-azure-native's requests have an older one. A test compares this
table with every argument class of the installed SDK, in both directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_AGENT_POOL: Final = frozenset({"artifactStreamingProfile", "nodeImageVersion", "status"})

NEWER: Final[Mapping[str, frozenset[str]]] = {
    "AgentPool": _AGENT_POOL,
    "AgentPoolNetworkProfile": frozenset({"dranet"}),
    "AdvancedNetworking": frozenset({"performance"}),
    "AdvancedNetworkingSecurity": frozenset({"transitEncryption"}),
    "DdosSettings": frozenset({"ddosCustomPolicy"}),
    "GPUProfile": frozenset({"nvidia"}),
    "Identity": frozenset({"isolationScope"}),
    "IpTag": frozenset({"firstPartyServiceTagId"}),
    "IpamPoolPrefixAllocation": frozenset({"pool"}),
    "IstioComponents": frozenset({"proxyRedirectionMechanism"}),
    "ManagedCluster": frozenset({"enableFIPS", "hostedSystemProfile", "schedulerProfile", "status"}),
    "ManagedClusterAgentPoolProfile": _AGENT_POOL,
    "ManagedClusterAzureMonitorProfile": frozenset({"appMonitoring", "containerInsights"}),
    "ManagedClusterAzureMonitorProfileMetrics": frozenset({"controlPlane"}),
    "ManagedClusterHTTPProxyConfig": frozenset({"enabled"}),
    "ManagedClusterIngressProfile": frozenset({"gatewayAPI"}),
    "ManagedClusterIngressProfileWebAppRouting": frozenset({"gatewayAPIImplementations"}),
    "ManagedClusterManagedOutboundIPProfile": frozenset({"countIPv6"}),
    "ManagedClusterNATGatewayProfile": frozenset({"outboundIPPrefixes", "outboundIPs", "sku"}),
    "ManagedClusterSecurityProfile": frozenset({"kubernetesResourceObjectEncryptionProfile"}),
    "ManagedClusterSecurityProfileDefender": frozenset({"securityGating"}),
    "NatGateway": frozenset(
        {"nat64", "publicIpAddressesV6", "publicIpPrefixesV6", "serviceGateway", "sourceVirtualNetwork"}
    ),
    "Route": frozenset({"nextHop"}),
    "RouteTable": frozenset({"disablePeeringRoute"}),
    "ScaleProfile": frozenset({"autoscale"}),
    "ServiceAssociationLink": frozenset({"allowDelete", "locations"}),
    "VirtualNetwork": frozenset({"summarizedGatewayPrefixes"}),
}
"""Model → its properties that are too new."""
