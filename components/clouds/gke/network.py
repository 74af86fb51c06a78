"""The VPC of one cluster: a subnetwork with ranges for pods and services, and NAT, as nodes have no public address.

https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips
"""

from __future__ import annotations

from typing import Any, Final

import pulumi

from components.clouds.base import ClusterSpec
from components.resources import CustomResource

POD_RANGE: Final = "pods"
SERVICE_RANGE: Final = "services"


class Network:
    """``network`` and ``subnetwork`` are what the cluster refers to; ``ready`` is what nodes wait for (the NAT)."""

    def __init__(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> None:
        place = {"project": spec.project, "region": spec.region}
        vpc = CustomResource(
            "gcp:compute/network:Network",
            f"{name}-network",
            {"project": spec.project, "name": spec.name, "autoCreateSubnetworks": False, "routingMode": "REGIONAL"},
            pulumi.ResourceOptions(parent=parent),
            outputs=["selfLink"],
        )
        subnetwork = CustomResource(
            "gcp:compute/subnetwork:Subnetwork",
            f"{name}-subnetwork",
            {
                **place,
                "name": f"{spec.name}-nodes",
                "network": vpc.output("selfLink"),
                "ipCidrRange": spec.node_cidr,
                "secondaryIpRanges": [
                    {"rangeName": POD_RANGE, "ipCidrRange": spec.pod_cidr},
                    {"rangeName": SERVICE_RANGE, "ipCidrRange": spec.service_cidr},
                ],
                # Nodes without a public address reach Google's registries and APIs this way, free of NAT charges.
                "privateIpGoogleAccess": True,
            },
            pulumi.ResourceOptions(parent=parent),
            outputs=["selfLink"],
        )
        router = CustomResource(
            "gcp:compute/router:Router",
            f"{name}-router",
            {**place, "name": f"{spec.name}-router", "network": vpc.output("selfLink")},
            pulumi.ResourceOptions(parent=parent),
        )
        nat = CustomResource(
            "gcp:compute/routerNat:RouterNat",
            f"{name}-nat",
            {
                **place,
                "name": f"{spec.name}-nat",
                "router": router.output("name"),
                "natIpAllocateOption": "AUTO_ONLY",
                "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
                "subnetworks": [
                    {"name": subnetwork.output("selfLink"), "sourceIpRangesToNats": ["ALL_IP_RANGES"]},
                ],
                "logConfig": {"enable": True, "filter": "ERRORS_ONLY"},
            },
            pulumi.ResourceOptions(parent=parent),
        )
        self.network: pulumi.Output[Any] = vpc.output("selfLink")
        self.subnetwork: pulumi.Output[Any] = subnetwork.output("selfLink")
        self.ready: pulumi.Resource = nat
