"""Amazon's resources in the words of its API: of the provider ``aws-native``, of CloudFormation, ``awscc`` and ACK.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-template-resource-type-ref.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, items, whole
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, in_words, renaming, respelled, tags_of_pairs


def read_launch_template(declared: Declared) -> Iterable[Declared]:
    """``AWS::EC2::LaunchTemplate``: what the provider ``aws`` has at the top is below ``launchTemplateData``."""
    data = at(declared.properties, "launchTemplateData")
    flat = dict(data) if isinstance(data, Mapping) else {"userData": data, "instanceType": data}
    specifications = [
        {**entry, "tags": tags_of_pairs(entry.get("tags"))} if isinstance(entry, Mapping) else entry
        for entry in items(flat.get("tagSpecifications"))
    ]
    name = coalesce(declared.properties.get("launchTemplateName"), declared.properties.get("name"))
    names = {"name": name, "id": declared.properties.get("id")}
    flat = {**flat, "tagSpecifications": specifications, **names}
    yield respelled(declared, "aws:ec2/launchTemplate:LaunchTemplate", flat)


def read_instance(declared: Declared) -> Iterable[Declared]:
    """``AWS::EC2::Instance``."""
    tags = tags_of_pairs(declared.properties.get("tags"))
    yield respelled(declared, "aws:ec2/instance:Instance", {**declared.properties, "tags": tags})


def read_subnet(declared: Declared) -> Iterable[Declared]:
    """``AWS::EC2::Subnet``."""
    tags = tags_of_pairs(declared.properties.get("tags"))
    properties = {**declared.properties, "tags": tags}
    yield respelled(declared, "aws:ec2/subnet:Subnet", properties)


def read_cluster(declared: Declared) -> Iterable[Declared]:
    """``AWS::EKS::Cluster``."""
    encryption = next(iter(items(declared.properties.get("encryptionConfig"))), None)
    properties = {**declared.properties, "encryptionConfig": encryption}
    yield respelled(declared, "aws:eks/cluster:Cluster", properties, {"resourcesVpcConfig": "vpcConfig"})


def read_warm_pool(declared: Declared) -> Iterable[Declared]:
    """``AWS::AutoScaling::WarmPool`` of a group: machines that run are nodes that another resource keeps.

    Without ``MinSize`` there are as many as the group's maximum leaves: https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html
    """
    state, size = declared.properties.get("poolState"), whole(declared.properties.get("minSize"))
    running = state is UNKNOWN or str(state).upper() == "RUNNING"
    kept = UNKNOWN if state is UNKNOWN or size is UNKNOWN else max(size or 0, 1)
    properties = {**declared.properties, "minSize": kept if running else 0}
    names = {"autoScalingGroupName": "autoscalingGroupName"}
    yield respelled(declared, "aws:autoscaling/schedule:Schedule", properties, names)


def read_spot_fleet(declared: Declared) -> Iterable[Declared]:
    """``AWS::EC2::SpotFleet``."""
    config = at(declared.properties, "spotFleetRequestConfigData")
    if isinstance(config, Mapping):
        yield respelled(declared, "aws:ec2/spotFleetRequest:SpotFleetRequest", config)


_RESOURCES: Final[Mapping[str, Spelling]] = {
    "eks:Nodegroup": renaming(
        "aws:eks/nodeGroup:NodeGroup",
        name="nodeGroupName",
        nodegroupName="nodeGroupName",
        nodeRole="nodeRoleArn",
        subnets="subnetIds",
    ),
    "eks:Cluster": read_cluster,
    "eks:FargateProfile": renaming("aws:eks/fargateProfile:FargateProfile"),
    "eks:PodIdentityAssociation": renaming("aws:eks/podIdentityAssociation:PodIdentityAssociation"),
    "autoscaling:AutoScalingGroup": renaming(
        "aws:autoscaling/group:Group",
        autoScalingGroupName="name",
        launchConfigurationName="launchConfiguration",
        lifecycleHookSpecificationList="initialLifecycleHooks",
        vpcZoneIdentifier="vpcZoneIdentifiers",
    ),
    "autoscaling:LifecycleHook": renaming(
        "aws:autoscaling/lifecycleHook:LifecycleHook", autoScalingGroupName="autoscalingGroupName"
    ),
    "autoscaling:ScalingPolicy": renaming("aws:autoscaling/policy:Policy", autoScalingGroupName="autoscalingGroupName"),
    "autoscaling:ScheduledAction": renaming(
        "aws:autoscaling/schedule:Schedule", autoScalingGroupName="autoscalingGroupName"
    ),
    "autoscaling:WarmPool": read_warm_pool,
    "scheduler:Schedule": renaming("aws:scheduler/schedule:Schedule"),
    "stepfunctions:StateMachine": renaming("aws:sfn/stateMachine:StateMachine", definitionString="definition"),
    "ssm:Association": renaming("aws:ssm/association:Association"),
    "ssm:Document": renaming("aws:ssm/document:Document"),
    "autoscaling:LaunchConfiguration": renaming(
        "aws:ec2/launchConfiguration:LaunchConfiguration", launchConfigurationName="name"
    ),
    "batch:ComputeEnvironment": renaming("aws:batch/computeEnvironment:ComputeEnvironment"),
    "ec2:LaunchTemplate": read_launch_template,
    "ec2:Instance": read_instance,
    "ec2:Ec2Fleet": renaming("aws:ec2/fleet:Fleet"),
    "ec2:EC2Fleet": renaming("aws:ec2/fleet:Fleet"),
    "ec2:Fleet": renaming("aws:ec2/fleet:Fleet"),
    "ec2:CapacityReservation": renaming("aws:ec2/capacityReservation:CapacityReservation"),
    "ec2:Host": renaming("aws:ec2/dedicatedHost:DedicatedHost"),
    "ec2:Subnet": read_subnet,
    "ec2:SpotFleet": read_spot_fleet,
    "iam:AccessKey": renaming("aws:iam/accessKey:AccessKey"),
    "kms:Key": renaming("aws:kms/key:Key", keySpec="customerMasterKeySpec"),
}
"""Service and kind in Amazon's API → what says the same in the words of the provider ``aws``."""


def _of_api(spelling: Spelling) -> Spelling:
    return lambda declared: spelling(replace(declared, properties=in_words(declared.properties)))


def _of_terraform(service: str, kind: str) -> str:
    """What the unbridged Terraform provider of the same API calls it."""
    return f"awscc:index/{service}{kind}:{service.capitalize()}{kind}"


# What the readers know in the words of the API itself.
_OF_THE_API: Final = ("applicationautoscaling:ScalableTarget", "ecs:Service", "ecs:TaskDefinition")

RESOURCES: Final = {name: _of_api(spelling) for name, spelling in _RESOURCES.items()}
SPELLINGS: Final[Mapping[str, Spelling]] = {
    **{f"aws-native:{name}": spelling for name, spelling in RESOURCES.items()},
    **{_of_terraform(*name.split(":")): spelling for name, spelling in RESOURCES.items()},
    **{_of_terraform(*name.split(":")): _of_api(renaming(f"aws-native:{name}")) for name in _OF_THE_API},
}
