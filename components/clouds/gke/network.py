"""The VPC of one cluster: a subnetwork with ranges for pods and services, and NAT, as nodes have no public address.

https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips
"""

from __future__ import annotations

from typing import Final

import pulumi

from components.clouds.declare import gke as declare
from components.clouds.retained import retained
from components.settings import Settings

POD_RANGE: Final = "pods"
SERVICE_RANGE: Final = "services"


class Network:
    """``network``, ``subnetwork`` and the ranges are what the cluster refers to; nodes wait for ``ready`` (the NAT)."""

    pod_range: str = POD_RANGE
    service_range: str = SERVICE_RANGE

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
        assert settings.network.pod_cidr is not None  # it has a default
        vpc = declare(
            "gcp:compute/network:Network",
            f"{name}-network",
            {
                "project": settings.project,
                "name": settings.cluster_name,
                "autoCreateSubnetworks": False,
                "routingMode": "REGIONAL",
            },
            _options(settings, parent),
            outputs=["selfLink"],
        )
        subnetwork = declare(
            "gcp:compute/subnetwork:Subnetwork",
            f"{name}-subnetwork",
            {
                "project": settings.project,
                "region": settings.region,
                "name": f"{settings.cluster_name}-nodes",
                "network": vpc.outputs["selfLink"],
                "ipCidrRange": settings.network.node_cidr,
                "secondaryIpRanges": [
                    {"rangeName": POD_RANGE, "ipCidrRange": settings.network.pod_cidr},
                    {"rangeName": SERVICE_RANGE, "ipCidrRange": settings.network.service_cidr},
                ],
                # Nodes without a public address reach Google's registries and APIs this way, free of NAT charges.
                "privateIpGoogleAccess": True,
            },
            pulumi.ResourceOptions(parent=parent),
            outputs=["selfLink"],
        )
        router = declare(
            "gcp:compute/router:Router",
            f"{name}-router",
            {
                "project": settings.project,
                "region": settings.region,
                "name": f"{settings.cluster_name}-router",
                "network": vpc.outputs["selfLink"],
            },
            pulumi.ResourceOptions(parent=parent),
        )
        nat = declare(
            "gcp:compute/routerNat:RouterNat",
            f"{name}-nat",
            {
                "project": settings.project,
                "region": settings.region,
                "name": f"{settings.cluster_name}-nat",
                "router": router.outputs["name"],
                "natIpAllocateOption": "AUTO_ONLY",
                "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
                "subnetworks": [
                    {"name": subnetwork.outputs["selfLink"], "sourceIpRangesToNats": ["ALL_IP_RANGES"]},
                ],
                # A node that fetches a data set opens more connections to one address than the 64 ports it would get:
                # https://cloud.google.com/nat/docs/ports-and-addresses#dynamic-port
                "enableDynamicPortAllocation": True,
                "enableEndpointIndependentMapping": False,
                "minPortsPerVm": 64,
                "maxPortsPerVm": 65536,
                "logConfig": {"enable": True, "filter": "ERRORS_ONLY"},
            },
            # A change would cut the connections of running jobs, so a gateway keeps the values of its creation.
            pulumi.ResourceOptions(
                parent=parent,
                ignore_changes=[
                    "enableDynamicPortAllocation",
                    "enableEndpointIndependentMapping",
                    "minPortsPerVm",
                    "maxPortsPerVm",
                ],
            ),
        )
        self.network: pulumi.Output[str] = vpc.outputs["selfLink"]
        self.subnetwork: pulumi.Output[str] = subnetwork.outputs["selfLink"]
        self.ready: list[pulumi.Resource] = [nat]


def _options(settings: Settings, parent: pulumi.Resource) -> pulumi.ResourceOptions:
    """The network is retained with a retained volume: Google peers the two, and a peered network cannot be deleted.

    https://github.com/GoogleCloudPlatform/magic-modules/pull/18476. It costs nothing.
    """
    volume = settings.workloads.shared_volume
    if volume is None:
        return pulumi.ResourceOptions(parent=parent)
    return retained(volume, f"projects/{settings.project}/global/networks/{settings.cluster_name}", parent)
