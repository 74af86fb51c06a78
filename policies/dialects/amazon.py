"""Amazon's resources as other tools spell them: unbridged Terraform, Crossplane, ACK, and pulumi-eks.

Their fields are Terraform's (https://registry.terraform.io/providers/hashicorp/aws/latest/docs) or the API's. Where a
version of a tool shows a single block as a list of one, both are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.unknown import at, coalesce, text
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, of_terraform, respelled

_LISTS: Final = {
    "taint": "taints",
    "tag": "tags",
    "override": "overrides",
    "networkInterface": "networkInterfaces",
    "blockDeviceMapping": "blockDeviceMappings",
    "selector": "selectors",
}
_BLOCKS: Final = (
    "scalingConfig",
    "launchTemplate",
    "mixedInstancesPolicy",
    "instancesDistribution",
    "launchTemplateSpecification",
    "vpcConfig",
    "encryptionConfig",
    "computeConfig",
    "instanceRequirements",
    "acceleratorCount",
    "warmPool",
    "targetCapacitySpecification",
)
_CLUSTER: Final = "aws:eks/cluster:Cluster"
_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_GROUP: Final = "aws:autoscaling/group:Group"
_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
_INSTANCE: Final = "aws:ec2/instance:Instance"


def _terraform(type_token: str) -> Spelling:
    def spelled(declared: Declared) -> Iterable[Declared]:
        yield respelled(declared, type_token, of_terraform(declared.properties, _LISTS, _BLOCKS))

    return spelled


def _crossplane(type_token: str) -> Spelling:
    """The fields are in ``spec.forProvider``: https://docs.crossplane.io/latest/managed-resources/managed-resources/."""

    def spelled(declared: Declared) -> Iterable[Declared]:
        body = at(declared.properties, "spec", "forProvider")
        if isinstance(body, Mapping):
            flat = of_terraform(body, _LISTS, _BLOCKS)
            cluster = coalesce(flat.get("clusterName"), at(flat, "clusterNameRef", "name"))
            yield respelled(declared, type_token, {**flat, "clusterName": cluster})

    return spelled


def _ack(type_token: str, **names: str) -> Spelling:
    """The fields of the API in ``spec``: https://aws-controllers-k8s.github.io/docs/api-reference."""

    def spelled(declared: Declared) -> Iterable[Declared]:
        spec = declared.properties.get("spec")
        if isinstance(spec, Mapping):
            cluster = coalesce(spec.get("clusterName"), at(spec, "clusterRef", "from", "name"))
            yield respelled(declared, type_token, {**spec, "clusterName": cluster}, names)

    return spelled


def _ack_template(declared: Declared) -> Iterable[Declared]:
    spec = declared.properties.get("spec")
    data = coalesce(at(spec, "launchTemplateData"), at(spec, "data"))
    if isinstance(data, Mapping):
        name = coalesce(at(spec, "launchTemplateName"), at(spec, "name"))
        yield respelled(declared, _TEMPLATE, {**data, "name": name})


def _self_managed(declared: Declared) -> Iterable[Declared]:
    """pulumi-eks' ``NodeGroup`` where its own arguments are visible; its children are read as what they are.

    https://www.pulumi.com/registry/packages/eks/api-docs/nodegroup/
    """
    inputs = declared.properties
    if inputs.get("instanceType") is None:
        return
    taints = inputs.get("taints")
    listed = [
        {"key": key, "value": at(taint, "value"), "effect": _CONSTANTS.get(str(at(taint, "effect")))}
        for key, taint in (taints.items() if isinstance(taints, Mapping) else ())
    ]
    sizes = {
        "minSize": coalesce(inputs.get("minSize"), 1),  # the component's defaults
        "maxSize": coalesce(inputs.get("maxSize"), 2),
        "desiredSize": coalesce(inputs.get("desiredCapacity"), 0),
    }
    properties: dict[str, Any] = {
        "instanceTypes": [inputs.get("instanceType")],
        "amiType": "GPU" if inputs.get("gpu") is True else inputs.get("amiType"),
        "scalingConfig": sizes,
        "taints": listed if isinstance(taints, Mapping) else taints,
        "labels": inputs.get("labels"),
        "clusterName": text(at(inputs, "cluster", "eksCluster", "name")),
    }
    yield respelled(declared, _NODE_GROUP, properties)


_CONSTANTS: Final = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}

# Terraform's type → the bridged provider's.
_TYPES: Final[Mapping[str, str]] = {
    "eksCluster:EksCluster": _CLUSTER,
    "eksNodeGroup:EksNodeGroup": _NODE_GROUP,
    "eksFargateProfile:EksFargateProfile": "aws:eks/fargateProfile:FargateProfile",
    "autoscalingGroup:AutoscalingGroup": _GROUP,
    "autoscalingGroupTag:AutoscalingGroupTag": "aws:autoscaling/tag:Tag",
    "launchTemplate:LaunchTemplate": _TEMPLATE,
    "launchConfiguration:LaunchConfiguration": "aws:ec2/launchConfiguration:LaunchConfiguration",
    "instance:Instance": _INSTANCE,
    "spotInstanceRequest:SpotInstanceRequest": "aws:ec2/spotInstanceRequest:SpotInstanceRequest",
    "ec2Fleet:Ec2Fleet": "aws:ec2/fleet:Fleet",
    "iamAccessKey:IamAccessKey": "aws:iam/accessKey:AccessKey",
}

SPELLINGS: Final[Mapping[str, Spelling]] = {
    # https://www.pulumi.com/docs/iac/concepts/providers/any-terraform-provider/
    **{f"aws:index/{kind}": _terraform(type_token) for kind, type_token in _TYPES.items()},
    "eks:index:NodeGroup": _self_managed,
    "kubernetes:eks.aws.*:NodeGroup": _crossplane(_NODE_GROUP),
    "kubernetes:eks.aws.*:Cluster": _crossplane(_CLUSTER),
    "kubernetes:ec2.aws.*:Instance": _crossplane(_INSTANCE),
    "kubernetes:ec2.aws.*:LaunchTemplate": _crossplane(_TEMPLATE),
    "kubernetes:autoscaling.aws.*:AutoscalingGroup": _crossplane(_GROUP),
    "kubernetes:eks.services.k8s.aws/*:Nodegroup": _ack(_NODE_GROUP, name="nodeGroupName"),
    "kubernetes:eks.services.k8s.aws/*:Cluster": _ack(_CLUSTER, resourcesVPCConfig="vpcConfig"),
    "kubernetes:ec2.services.k8s.aws/*:Instance": _ack(_INSTANCE),
    "kubernetes:ec2.services.k8s.aws/*:LaunchTemplate": _ack_template,
}
