"""Who reaches the control plane: nodes from inside the VPC, and the stack file's ranges.

https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.eks.declare import declare
from components.clouds.eks.network import Network
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import eks

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html (Description)
_NOT_IN_A_DESCRIPTION: Final = re.compile(r"[^A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]")


def vpc_config(name: str, settings: Settings, network: Network, parent: pulumi.Resource) -> eks.ClusterVpcConfig:
    """The cluster's ``vpcConfig``: its subnets, and an endpoint that is never open to everybody."""
    config: eks.ClusterVpcConfig = {
        "subnetIds": list(network.private_subnets.values()),
        "endpointPrivateAccess": True,
        "endpointPublicAccess": not settings.network.private_endpoint,
    }
    ranges = [allowed.cidr for allowed in settings.network.authorized_networks]
    if not settings.network.private_endpoint:
        return {**config, "publicAccessCidrs": ranges}
    if not ranges:
        return config
    # A private endpoint is a set of addresses in the VPC, so a security group says who may come by VPN or peering.
    group = declare(
        "aws:ec2/securityGroup:SecurityGroup",
        f"{name}-access-security-group",
        {
            "vpcId": network.vpc,
            "description": f"Who reaches the control plane of cluster {settings.cluster_name}",
            "ingress": [
                {
                    "description": _NOT_IN_A_DESCRIPTION.sub("-", allowed.name),
                    "protocol": "tcp",
                    "fromPort": 443,
                    "toPort": 443,
                    "cidrBlocks": [allowed.cidr],
                }
                for allowed in settings.network.authorized_networks
            ],
            "egress": [],
            "tags": {**settings.labels, "Name": f"{settings.cluster_name}-control-plane"},
        },
        pulumi.ResourceOptions(parent=parent),
    )
    return {**config, "securityGroupIds": [group.id]}
