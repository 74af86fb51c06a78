"""Inputs of the network resources (``gcp:compute/*``) and what replaces one.

Replacement and defaults: the provider's resource definitions,
https://github.com/GoogleCloudPlatform/magic-modules/tree/main/mmv1/products/compute
"""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.gcp.shape import Shape
from rehearsal.providers.gcp.translate import Local, Refused, To

API: Final = "compute.v1"
OPTIONS: Final = {"project": Local(), "deletionPolicy": Local()}


def _logging(enabled: Any) -> dict[str, Any]:
    return {"enable": enabled}


NETWORK: Final = Shape(
    api=API,
    schema="Network",
    table={
        "Network": {
            **OPTIONS,
            "bgpAlwaysCompareMed": To("routingConfig.bgpAlwaysCompareMed"),
            "bgpBestPathSelectionMode": To("routingConfig.bgpBestPathSelectionMode"),
            "bgpInterRegionCost": To("routingConfig.bgpInterRegionCost"),
            "deleteBgpAlwaysCompareMed": Local(),
            "deleteDefaultRoutesOnCreate": Refused("deleting the default routes is not simulated; leave it out"),
            "routingMode": To("routingConfig.routingMode"),
        }
    },
    defaults={
        "autoCreateSubnetworks": True,
        "deletionPolicy": "DELETE",
        "networkFirewallPolicyEnforcementOrder": "AFTER_CLASSIC_FIREWALL",
    },
    replaces=(
        "project",
        "name",
        "description",
        "autoCreateSubnetworks",
        "internalIpv6Range",
        "networkProfile",
        "params",
    ),
)

SUBNETWORK: Final = Shape(
    api=API,
    schema="Subnetwork",
    table={"Subnetwork": {**OPTIONS, "sendSecondaryIpRangeIfEmpty": Local()}},
    required=("network",),
    defaults={"deletionPolicy": "DELETE"},
    # ipCidrRange may grow in place and replaces when it shrinks: see the resource.
    replaces=(
        "project",
        "region",
        "name",
        "network",
        "description",
        "externalIpv6Prefix",
        "internalIpv6Prefix",
        "reservedInternalRange",
        "resolveSubnetMask",
        "params",
    ),
    links=("network", "region"),
)

ROUTER: Final = Shape(
    api=API,
    schema="Router",
    table={"Router": {**OPTIONS, "nccGateway": Refused("NCC gateways are not simulated; give a network")}},
    required=("network",),
    defaults={"deletionPolicy": "DELETE", "bgp.advertiseMode": "DEFAULT", "bgp.keepaliveInterval": 20},
    replaces=("project", "region", "name", "network", "encryptedInterconnectRouter", "params"),
    links=("network", "region"),
)

ROUTER_NAT: Final = Shape(
    api=API,
    schema="RouterNat",
    table={
        "RouterNat": {
            **OPTIONS,
            "router": Local(),
            "region": Local(),
            "initialNatIps": Refused("initial NAT addresses are not simulated; use natIps"),
        },
        "RouterNatSubnetworkToNat": {"sourceIpRangesToNats": To("sourceIpRangesToNat")},
    },
    required=("router", "sourceSubnetworkIpRangesToNat"),
    defaults={
        "deletionPolicy": "DELETE",
        "icmpIdleTimeoutSec": 30,
        "tcpEstablishedIdleTimeoutSec": 1200,
        "tcpTimeWaitTimeoutSec": 120,
        "tcpTransitoryIdleTimeoutSec": 30,
        "type": "PUBLIC",
        "udpIdleTimeoutSec": 30,
    },
    replaces=("project", "region", "router", "name", "endpointTypes", "type"),
    links=("region", "router"),
    unordered=("natIps", "drainNatIps", "subnetworks", "rules"),
)

FIREWALL: Final = Shape(
    api=API,
    schema="Firewall",
    table={
        "Firewall": {
            **OPTIONS,
            "allows": To("allowed"),
            "denies": To("denied"),
            "enableLogging": To("logConfig", _logging),
        },
        "Firewall.allowed": {"protocol": To("IPProtocol")},
        "Firewall.denied": {"protocol": To("IPProtocol")},
    },
    required=("network",),
    defaults={"deletionPolicy": "DELETE", "priority": 1000},
    replaces=("project", "name", "direction", "params"),
    links=("network",),
    unordered=("sourceRanges", "destinationRanges", "sourceTags", "targetTags", "allows", "denies"),
)

ADDRESS: Final = Shape(
    api=API,
    schema="Address",
    table={"Address": {**OPTIONS, "region": Local()}},
    defaults={"addressType": "EXTERNAL", "deletionPolicy": "DELETE"},
    replaces=(
        "project",
        "region",
        "name",
        "address",
        "addressType",
        "description",
        "ipCollection",
        "ipVersion",
        "ipv6EndpointType",
        "network",
        "networkTier",
        "prefixLength",
        "purpose",
        "subnetwork",
    ),
    links=("network", "region", "subnetwork"),
)
