"""The control plane's endpoint, reachable from the VPC and from the stack file's ranges only.

https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks.existing_network import ExistingNetwork
from components.clouds.eks.network import Network
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import eks

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html (Description)
_NOT_IN_A_DESCRIPTION: Final = re.compile(r"[^A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]")


def vpc_config(
    name: str, settings: Settings, network: Network | ExistingNetwork, parent: pulumi.Resource
) -> eks.ClusterVpcConfig:
    """The cluster's ``vpcConfig``: its subnets, and an endpoint that is never open to everyone.

    A private endpoint has addresses in the VPC, and EKS's security group allows only the cluster's nodes. A second
    group allows other sources (VPC, VPN, peering): ``authorizedNetworks``, or the whole VPC by default.
    """
    config: eks.ClusterVpcConfig = {
        "subnetIds": list(network.private_subnets.values()),
        "endpointPrivateAccess": True,
        "endpointPublicAccess": not settings.network.private_endpoint,
    }
    allowed = {each.cidr: each.name for each in settings.network.authorized_networks}
    if not settings.network.private_endpoint:
        return {**config, "publicAccessCidrs": list(allowed)}
    allowed = allowed or dict.fromkeys(network.ranges, "the network")
    group = declare(
        "aws:ec2/securityGroup:SecurityGroup",
        f"{name}-access-security-group",
        {
            "vpcId": network.vpc,
            "description": f"Who reaches the control plane of cluster {settings.cluster_name}",
            "ingress": [
                {
                    "description": _NOT_IN_A_DESCRIPTION.sub("-", who),
                    "protocol": "tcp",
                    "fromPort": 443,
                    "toPort": 443,
                    "cidrBlocks": [cidr],
                }
                for cidr, who in allowed.items()
            ],
            "egress": [],
            "tags": {**settings.labels, "Name": f"{settings.cluster_name}-control-plane"},
        },
        pulumi.ResourceOptions(parent=parent),
    )
    return {**config, "securityGroupIds": [group.id]}
