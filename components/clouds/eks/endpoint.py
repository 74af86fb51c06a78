"""The control plane's endpoint, reachable from the VPC and from the stack file's ranges only, and its kubeconfig: a
token of the AWS CLI, no key in the file.

https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks.existing_network import ExistingNetwork
from components.clouds.eks.network import Network
from components.settings import Settings
from facts.concepts.kubeconfig import kubeconfig as document
from facts.concepts.kubeconfig import plugin_user

if TYPE_CHECKING:
    from schemas import eks

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_IpRange.html (Description)
_NOT_IN_A_DESCRIPTION: Final = re.compile(r"[^A-Za-z0-9 ._\-:/()#,@\[\]+=&;{}!$*]")


def vpc_config(
    name: str,
    settings: Settings,
    network: Network | ExistingNetwork,
    parent: pulumi.Resource,
    zones: Collection[str] = (),
) -> eks.ClusterVpcConfig:
    """The cluster's ``vpcConfig``: its subnets, and an endpoint that is never open to everyone. A control plane that
    exists has ``zones``.

    A private endpoint has addresses in the VPC, and EKS's security group allows only the cluster's nodes. A second
    group allows other sources (VPC, VPN, peering): ``authorizedNetworks``, or the whole VPC by default.
    """
    config: eks.ClusterVpcConfig = {
        "subnetIds": [id for zone, id in network.private_subnets.items() if not zones or zone in zones],
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


def kubeconfig(cluster_name: str, region: str, endpoint: str, ca_pem_base64: str, login: Mapping[str, str]) -> str:
    """A kubeconfig, as JSON (which is YAML); ``endpoint`` is a URL.

    Only who made a cluster has rights in it at first, so tokens are those of the provider's own ``login``, the
    ``profile`` and the ARN of the ``role`` that the stack file sets:
    https://github.com/pulumi/pulumi-eks/issues/669.
    https://docs.aws.amazon.com/eks/latest/userguide/create-kubeconfig.html
    """
    context = f"eks_{region}_{cluster_name}"
    cluster = {"server": endpoint, "certificate-authority-data": ca_pem_base64}
    arguments = [
        *("eks", "get-token"),
        *("--cluster-name", cluster_name),
        *("--region", region),
        *("--output", "json"),
        *(("--role-arn", login["role"]) if "role" in login else ()),
    ]
    hint = "Install the AWS CLI, version 2: https://docs.aws.amazon.com/cli/latest/userguide/"
    profile = {"env": [{"name": "AWS_PROFILE", "value": login["profile"]}]} if "profile" in login else {}
    return document(context, cluster, plugin_user("aws", arguments, hint, **profile))


def login() -> dict[str, str]:
    """The provider's own keys of the stack file: https://www.pulumi.com/registry/packages/aws/installation-configuration/"""
    provider = pulumi.Config("aws")
    roles = [role for role in provider.get_object("assumeRoles") or () if isinstance(role, Mapping)]
    if len(roles) > 1:
        raise pulumi.RunError(
            f"aws:assumeRoles: {len(roles)} roles in a chain, but a kubeconfig supports one. "
            "Write the last one, and configure the others as a profile (aws:profile)."
        )
    profile = provider.get("profile")
    return {**({"profile": profile} if profile else {}), **({"role": str(roles[0]["roleArn"])} if roles else {})}
