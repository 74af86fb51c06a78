"""What exists in the simulated account, created by the program, a controller in the cluster or AWS itself.

Default VPCs, service-linked roles, AWS's own keys and keys that wait for their deletion cost nothing and do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from rehearsal.providers.eks.cloud import Account

TERMINATED: Final = ("terminated", "shutting-down")
_SERVICE_LINKED: Final = "/aws-service-role/"
_MANAGED: Final = "alias/aws/"
"""https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#aws-managed-key"""

Find = Callable[[Account], Iterator[str]]


def leftovers(account: Account, regions: tuple[str, ...]) -> list[str]:
    """Everything in these regions, in words."""
    names: dict[str, None] = {}
    for region in regions:
        here = replace(account, region=region)
        for find in _FINDERS:
            names.update(dict.fromkeys(find(here)))
    return list(names)


def _listed(service: str, operation: str, key: str, name: str, what: str) -> Find:
    """A request whose answer has a list of things at ``key``, each with its ``name``."""

    def find(account: Account) -> Iterator[str]:
        for each in account.call(service, operation).get(key) or ():
            yield f"{what} {each if isinstance(each, str) else each[name]}"

    return find


def _instances(account: Account) -> Iterator[str]:
    for each in account.instances():
        if each["State"]["Name"] not in TERMINATED:
            yield f"EC2 instance {each['InstanceId']}"


def _networks(account: Account) -> Iterator[str]:
    own = {each["VpcId"] for each in account.call("ec2", "DescribeVpcs")["Vpcs"] if not each.get("IsDefault")}
    yield from (f"VPC {each}" for each in sorted(own))
    for each in account.call("ec2", "DescribeSecurityGroups")["SecurityGroups"]:
        if each["VpcId"] in own and each["GroupName"] != "default":
            yield f"security group {each['GroupId']} ({each['GroupName']})"
    for each in account.call("ec2", "DescribeNatGateways")["NatGateways"]:
        if each["State"] != "deleted":
            yield f"NAT gateway {each['NatGatewayId']}"
    for each in account.call("ec2", "DescribeInternetGateways")["InternetGateways"]:
        attached = {to["VpcId"] for to in each["Attachments"]}
        if not attached or attached & own:
            yield f"internet gateway {each['InternetGatewayId']}"


def _roles(account: Account) -> Iterator[str]:
    for each in account.call("iam", "ListRoles")["Roles"]:
        if not each["Path"].startswith(_SERVICE_LINKED):
            yield f"IAM role {each['RoleName']}"


def _keys(account: Account) -> Iterator[str]:
    aliases = account.call("kms", "ListAliases")["Aliases"]
    # AWS makes those when something is first encrypted by default: moto calls them customers', their alias tells.
    managed = {each.get("TargetKeyId") for each in aliases if each["AliasName"].startswith(_MANAGED)}
    for each in account.call("kms", "ListKeys")["Keys"]:
        key: dict[str, Any] = account.call("kms", "DescribeKey", KeyId=each["KeyId"])["KeyMetadata"]
        if each["KeyId"] not in managed and key["KeyState"] != "PendingDeletion":
            yield f"KMS key {each['KeyId']}"


_FINDERS: Final[tuple[Find, ...]] = (
    _listed("eks", "ListClusters", "clusters", "", "EKS cluster"),
    _listed(
        "autoscaling", "DescribeAutoScalingGroups", "AutoScalingGroups", "AutoScalingGroupName", "Auto Scaling group"
    ),
    _listed("ec2", "DescribeLaunchTemplates", "LaunchTemplates", "LaunchTemplateName", "launch template"),
    _listed("ec2", "DescribePlacementGroups", "PlacementGroups", "GroupName", "placement group"),
    _instances,
    _listed("ec2", "DescribeVolumes", "Volumes", "VolumeId", "EBS volume"),
    _listed("ec2", "DescribeAddresses", "Addresses", "PublicIp", "Elastic IP address"),
    _networks,
    _roles,
    _listed("iam", "ListInstanceProfiles", "InstanceProfiles", "InstanceProfileName", "instance profile"),
    _keys,
    _listed("efs", "DescribeFileSystems", "FileSystems", "FileSystemId", "EFS file system"),
    _listed("s3", "ListBuckets", "Buckets", "Name", "S3 bucket"),
    _listed("ecr", "DescribeRepositories", "repositories", "repositoryName", "ECR repository"),
    _listed("sqs", "ListQueues", "QueueUrls", "", "SQS queue"),
    _listed("events", "ListRules", "Rules", "Name", "EventBridge rule"),
    _listed("logs", "DescribeLogGroups", "logGroups", "logGroupName", "log group"),
)
