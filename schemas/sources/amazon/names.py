"""What the inputs of pulumi-aws are called in the requests of AWS that make the resources.

Most are called what the API calls them, apart from the first letter; only the others are here, by structure
of the API. An input that neither these tables nor the API know is not simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class To:
    """Sent as the member ``name`` of the same structure."""

    name: str


@dataclass(frozen=True)
class Local:
    """No part of this request, but read by the simulated provider (another request, an option).

    ``like`` is the member of the API that limits it, as a path from the structure in which it stands; most have none.
    ``each`` is the structure that each of its blocks becomes in a request of its own.
    """

    like: str = ""
    each: str = ""


Names = Mapping[str, To | Local]


@dataclass(frozen=True)
class Request:
    """The request that makes a resource, in botocore's model of ``service``.

    ``body`` is the structure that the inputs describe, where it is not the whole request; ``names`` are by structure.
    """

    service: str
    operation: str
    body: str = ""
    names: Mapping[str, Names] = field(default_factory=dict)


LOCAL: Final = Local()


def _local(*names: str) -> dict[str, To | Local]:
    return dict.fromkeys(names, LOCAL)


EVERYWHERE: Final = ("region", "tags", "namePrefix")
"""Inputs of many types and of no request; tags have a form of their own in each service."""

_ROUTE: Final[Mapping[str, Names]] = {
    "CreateRouteRequest": {
        "cidrBlock": To("DestinationCidrBlock"),
        "ipv6CidrBlock": To("DestinationIpv6CidrBlock"),
        "egressOnlyGatewayId": To("EgressOnlyInternetGatewayId"),
    }
}

REQUESTS: Final[Mapping[str, Request]] = {
    "aws:autoscaling/tag:Tag": Request(
        "autoscaling",
        "CreateOrUpdateTags",
        names={"CreateOrUpdateTagsType": {"tag": Local("Tags"), **_local("autoscalingGroupName")}},
    ),
    "aws:cloudwatch/eventRule:EventRule": Request(
        "events", "PutRule", names={"PutRuleRequest": _local("forceDestroy", "isEnabled")}
    ),
    "aws:cloudwatch/eventTarget:EventTarget": Request(
        "events",
        "PutTargets",
        "Target",
        {"Target": {"targetId": To("Id"), **_local("eventBusName", "forceDestroy", "rule")}},
    ),
    "aws:cloudwatch/logGroup:LogGroup": Request(
        "logs",
        "CreateLogGroup",
        names={"CreateLogGroupRequest": {"name": To("logGroupName"), **_local("retentionInDays", "skipDestroy")}},
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Request(
        "ec2",
        "DescribeSecurityGroups",
        names={"DescribeSecurityGroupsRequest": _local("ingress", "egress", "vpcId", "revokeRulesOnDelete")},
    ),
    "aws:ec2/eip:Eip": Request("ec2", "AllocateAddress"),
    "aws:ec2/internetGateway:InternetGateway": Request(
        "ec2", "CreateInternetGateway", names={"CreateInternetGatewayRequest": _local("vpcId")}
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": Request(
        "ec2",
        "CreateLaunchTemplate",
        "RequestLaunchTemplateData",
        {
            "RequestLaunchTemplateData": {
                "securityGroupNames": To("SecurityGroups"),
                "vpcSecurityGroupIds": To("SecurityGroupIds"),
                **_local("name", "description", "defaultVersion", "updateDefaultVersion"),
            },
            "LaunchTemplateInstanceNetworkInterfaceSpecificationRequest": {"securityGroups": To("Groups")},
        },
    ),
    "aws:ec2/natGateway:NatGateway": Request("ec2", "CreateNatGateway"),
    "aws:ec2/route:Route": Request("ec2", "CreateRoute", names=_ROUTE),
    "aws:ec2/routeTable:RouteTable": Request(
        "ec2",
        "CreateRouteTable",
        names={"CreateRouteTableRequest": {"routes": Local(each="CreateRouteRequest")}, **_ROUTE},
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Request("ec2", "AssociateRouteTable"),
    "aws:ec2/securityGroup:SecurityGroup": Request(
        "ec2",
        "CreateSecurityGroup",
        names={
            "CreateSecurityGroupRequest": {
                "name": To("GroupName"),
                **_local("ingress", "egress", "revokeRulesOnDelete"),
            }
        },
    ),
    "aws:ec2/subnet:Subnet": Request(
        "ec2", "CreateSubnet", names={"CreateSubnetRequest": _local("mapPublicIpOnLaunch")}
    ),
    "aws:ec2/vpc:Vpc": Request(
        "ec2",
        "CreateVpc",
        names={
            "CreateVpcRequest": _local("enableDnsHostnames", "enableDnsSupport", "enableNetworkAddressUsageMetrics")
        },
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Request(
        "ec2", "CreateVpcEndpoint", names={"CreateVpcEndpointRequest": {"policy": To("PolicyDocument")}}
    ),
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": Request(
        "ecr",
        "PutLifecyclePolicy",
        names={
            "PutLifecyclePolicyRequest": {"policy": To("lifecyclePolicyText"), "repository": To("repositoryName")},
        },
    ),
    "aws:ecr/repository:Repository": Request(
        "ecr",
        "CreateRepository",
        names={
            "CreateRepositoryRequest": {
                "name": To("repositoryName"),
                **_local("encryptionConfigurations", "forceDelete"),
            }
        },
    ),
    "aws:efs/fileSystem:FileSystem": Request(
        "efs",
        "CreateFileSystem",
        names={"CreateFileSystemRequest": _local("lifecyclePolicies", "protection")},
    ),
    "aws:efs/fileSystemPolicy:FileSystemPolicy": Request("efs", "PutFileSystemPolicy"),
    "aws:efs/mountTarget:MountTarget": Request("efs", "CreateMountTarget"),
    "aws:eks/accessEntry:AccessEntry": Request(
        "eks", "CreateAccessEntry", names={"CreateAccessEntryRequest": {"userName": To("username")}}
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Request("eks", "AssociateAccessPolicy"),
    "aws:eks/addon:Addon": Request(
        "eks",
        "CreateAddon",
        names={"CreateAddonRequest": _local("preserve", "resolveConflictsOnCreate", "resolveConflictsOnUpdate")},
    ),
    "aws:eks/cluster:Cluster": Request(
        "eks",
        "CreateCluster",
        names={
            "CreateClusterRequest": {
                "enabledClusterLogTypes": Local("logging.clusterLogging.types"),
                "vpcConfig": To("resourcesVpcConfig"),
                **_local("forceUpdateVersion"),
            }
        },
    ),
    "aws:eks/nodeGroup:NodeGroup": Request(
        "eks",
        "CreateNodegroup",
        names={
            "CreateNodegroupRequest": {
                "nodeGroupName": To("nodegroupName"),
                "nodeRoleArn": To("nodeRole"),
                "subnetIds": To("subnets"),
                **_local("forceUpdateVersion", "nodeGroupNamePrefix"),
            },
            "RemoteAccessConfig": {"sourceSecurityGroupIds": To("sourceSecurityGroups")},
        },
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Request("eks", "CreatePodIdentityAssociation"),
    "aws:iam/instanceProfile:InstanceProfile": Request(
        "iam",
        "CreateInstanceProfile",
        names={"CreateInstanceProfileRequest": {"name": To("InstanceProfileName"), **_local("role")}},
    ),
    "aws:iam/role:Role": Request(
        "iam",
        "CreateRole",
        names={
            "CreateRoleRequest": {
                "name": To("RoleName"),
                "assumeRolePolicy": To("AssumeRolePolicyDocument"),
                **_local("forceDetachPolicies"),
            }
        },
    ),
    "aws:iam/rolePolicy:RolePolicy": Request(
        "iam",
        "PutRolePolicy",
        names={
            "PutRolePolicyRequest": {"name": To("PolicyName"), "policy": To("PolicyDocument"), "role": To("RoleName")}
        },
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Request(
        "iam", "AttachRolePolicy", names={"AttachRolePolicyRequest": {"role": To("RoleName")}}
    ),
    "aws:kms/alias:Alias": Request("kms", "CreateAlias", names={"CreateAliasRequest": {"name": To("AliasName")}}),
    "aws:kms/grant:Grant": Request(
        "kms",
        "CreateGrant",
        names={
            "CreateGrantRequest": {
                "grantCreationTokens": To("GrantTokens"),
                **_local("constraints", "retireOnDelete"),
            }
        },
    ),
    "aws:kms/key:Key": Request(
        "kms",
        "CreateKey",
        names={
            "CreateKeyRequest": _local("deletionWindowInDays", "enableKeyRotation", "isEnabled", "rotationPeriodInDays")
        },
    ),
    "aws:s3/bucket:Bucket": Request(
        "s3", "CreateBucket", names={"CreateBucketRequest": _local("bucketPrefix", "forceDestroy")}
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": Request(
        "s3",
        "PutBucketLifecycleConfiguration",
        names={
            "PutBucketLifecycleConfigurationRequest": {"rules": Local("LifecycleConfiguration.Rules")},
            "LifecycleRule": {"id": To("ID")},
        },
    ),
    "aws:s3/bucketPolicy:BucketPolicy": Request("s3", "PutBucketPolicy"),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": Request(
        "s3",
        "PutPublicAccessBlock",
        names={
            "PutPublicAccessBlockRequest": _local(
                "blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets", "skipDestroy"
            )
        },
    ),
    "aws:s3/bucketVersioning:BucketVersioning": Request("s3", "PutBucketVersioning"),
    "aws:sqs/queue:Queue": Request(
        "sqs",
        "CreateQueue",
        names={
            "CreateQueueRequest": {
                "name": To("QueueName"),
                **_local(
                    "contentBasedDeduplication",
                    "delaySeconds",
                    "fifoQueue",
                    "kmsDataKeyReusePeriodSeconds",
                    "kmsMasterKeyId",
                    "maxMessageSize",
                    "messageRetentionSeconds",
                    "policy",
                    "receiveWaitTimeSeconds",
                    "redrivePolicy",
                    "sqsManagedSseEnabled",
                    "visibilityTimeoutSeconds",
                ),
            }
        },
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Request(
        "sqs",
        "SetQueueAttributes",
        names={"SetQueueAttributesRequest": _local("policy")},
    ),
}
