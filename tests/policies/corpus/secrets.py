"""Long-lived secrets of Azure, and machines in public subnets of Amazon."""

from __future__ import annotations

from typing import Any, Final

from tests.policies.corpus import aws
from tests.policies.corpus.case import Case, blocked

SUBNET: Final = "aws:ec2/subnet:Subnet"
GPU_TAINT: Final = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
LINK: Final = (("gpu", "subnetIds", "subnet"),)


def provider(**configuration: Any) -> Case:
    """A provider of Azure's with this configuration."""
    return Case(
        id=f"azure-provider-{'-'.join(sorted(configuration))}",
        story="how the program signs in",
        rule="no-static-keys" if "clientSecret" in configuration else None,
        resources=(("pulumi:providers:azure-native", "azure", configuration),),
    )


def in_subnet(id: str, public: Any, rule: str | None) -> Case:
    subnet = (SUBNET, "subnet", {"cidrBlock": "10.0.0.0/24", "mapPublicIpOnLaunch": public})
    resources = (aws.node_group(subnetIds=["subnet-1"]), aws.cpu_group(), subnet)
    return Case(id=id, story="where the nodes are", rule=rule, resources=resources, links=LINK)


def existing(id: str, rule: str | None, *, taints: Any, linked: bool = True) -> Case:
    """A pool of nodes that somebody else made, and a provider that logs in with a token."""
    nodes = {"pool": "t4-2", "gpus": 2, "count": 2, "labels": {}, "taints": taints}
    return Case(
        id=id,
        story="a cluster that somebody else made",
        rule=rule,
        resources=(
            ("gpucluster-machines:index:ExistingCluster", "cluster", {"rights": [], "pools": []}),
            ("gpucluster-machines:index:Nodes", "t4-2", nodes),
            ("pulumi:providers:kubernetes", "objects", {"kubeconfig": "users: [{name: ann, user: {token: AAAA}}]"}),
        ),
        links=(("objects", "kubeconfig", "cluster"),) if linked else (),
    )


def own_machines(id: str, rule: str | None, *links: tuple[str, str, str]) -> Case:
    """A control plane of the program's own machines, and a provider that logs in with a certificate."""
    machine = {"name": "cp1", "address": "10.1.0.11"}
    made = {"machine": machine, "labels": {}, "taints": [], "encryptSecrets": True}
    kubeconfig = "users: [{name: kubernetes-admin, user: {client-key-data: AAAA}}]"
    control_plane = ("gpucluster-machines:index:ControlPlane", "control-plane", made)
    return Case(
        id=id,
        story="how the program logs in to a cluster of own machines",
        rule=rule,
        resources=(control_plane, ("pulumi:providers:kubernetes", "objects", {"kubeconfig": kubeconfig})),
        links=links,
    )


BLOCKED: Final = [
    own_machines("own-machines-key-of-another-cluster", "no-static-keys"),
    existing("existing-nodes-without-taint", "gpu-taint", taints=[]),
    existing("existing-token-of-another-cluster", "no-static-keys", taints=[GPU_TAINT], linked=False),
    provider(clientId="c", clientSecret="s"),
    blocked("azuread-password", "no-static-keys", "a password for a pipeline").of(
        ("azuread:index/applicationPassword:ApplicationPassword", "ci", {"applicationId": "a"})
    ),
    in_subnet("eks-public-subnet", True, "gpu-nodes-private"),
]

ALLOWED: Final = [
    provider(clientId="c", useOidc=True),
    in_subnet("eks-private-subnet", False, None),
    existing("existing-nodes-that-cannot-scale", None, taints=[GPU_TAINT]),
    own_machines("own-machines-their-own-key", None, ("objects", "kubeconfig", "control-plane")),
]
