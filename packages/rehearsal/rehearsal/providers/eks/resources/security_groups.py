"""Security groups and their inline rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, items
from rehearsal.providers.base import CheckFailure, Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.request import pairs
from rehearsal.providers.eks.base.row import Row, asks, from_answer, sends
from rehearsal.providers.eks.resources.network import EC2_ARN, SECURITY_GROUP, VPC, default_security_group
from rehearsal.providers.resource import Pending, Reference

DEFAULT_GROUP: Final = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
_DIRECTIONS: Final = (("ingress", "Ingress", "IpPermissions"), ("egress", "Egress", "IpPermissionsEgress"))


def _adopt(pending: Pending[Account]) -> str:
    """Take over a VPC's own group."""
    account, inputs = pending.cloud, pending.inputs
    vpc = inputs.get("vpcId")
    if not vpc:
        default = account.call("ec2", "DescribeVpcs", Filters=[{"Name": "is-default", "Values": ["true"]}])
        vpc = default["Vpcs"][0]["VpcId"]
    account.call("ec2", "DescribeVpcs", VpcIds=[vpc])
    id = default_security_group(account, vpc)
    if inputs.get("tags"):
        account.call("ec2", "CreateTags", Resources=[id], Tags=pairs(inputs["tags"]))
    return id


def _in_vpc(pending: Pending[Account]) -> None:
    # moto makes a group in a network that does not exist.
    if pending.before is None and pending.inputs.get("vpcId"):
        pending.cloud.call("ec2", "DescribeVpcs", VpcIds=[pending.inputs["vpcId"]])


def _set_rules(account: Account, group: str, old: Properties, new: Properties) -> None:
    """Give the group exactly the inline rules of ``new``."""
    group_record = account.call("ec2", "DescribeSecurityGroups", GroupIds=[group])["SecurityGroups"][0]
    for key, verb, live in _DIRECTIONS:
        if group_record.get(live):
            account.call("ec2", f"RevokeSecurityGroup{verb}", GroupId=group, IpPermissions=group_record[live])
        permissions = [_permission(rule, group) for rule in new.get(key) or []]
        if permissions:
            account.call("ec2", f"AuthorizeSecurityGroup{verb}", GroupId=group, IpPermissions=permissions)


def _permission(rule: Properties, group: str) -> dict[str, Any]:
    described = {"Description": rule["description"]} if rule.get("description") else {}
    groups = [*(rule.get("securityGroups") or []), *([group] if rule.get("self") else [])]
    permission: dict[str, Any] = {
        "IpProtocol": "-1" if rule["protocol"] == "all" else rule["protocol"],
        "IpRanges": [{"CidrIp": block, **described} for block in rule.get("cidrBlocks") or []],
        "Ipv6Ranges": [{"CidrIpv6": block, **described} for block in rule.get("ipv6CidrBlocks") or []],
        "PrefixListIds": [{"PrefixListId": id, **described} for id in rule.get("prefixListIds") or []],
        "UserIdGroupPairs": [{"GroupId": id, **described} for id in groups],
    }
    if permission["IpProtocol"] != "-1":
        permission |= {"FromPort": int(rule["fromPort"]), "ToPort": int(rule["toPort"])}
    return permission


def _wrong_ports(inputs: Properties) -> Iterator[CheckFailure]:
    for direction, _, _ in _DIRECTIONS:
        for index, rule in enumerate(items(inputs.get(direction))):
            if not isinstance(rule, dict) or rule.get("protocol") not in ("-1", "all"):
                continue
            if any(rule.get(key) not in (None, 0, UNKNOWN) for key in ("fromPort", "toPort")):
                yield CheckFailure(f"{direction}[{index}]", "all protocols (-1) need fromPort and toPort 0")


_DESCRIBE: Final = asks("ec2:DescribeSecurityGroups", "SecurityGroups", GroupIds=["{id}"])

ROWS: Final = (
    # Without ``egress`` nothing may leave: the provider removes AWS's rule.
    # https://www.pulumi.com/registry/packages/aws/api-docs/ec2/securitygroup/
    Row(
        token=SECURITY_GROUP,
        answer="GroupId",
        describe=_DESCRIBE,
        change=_set_rules,
        completes_with_change=True,
        remove=sends("ec2:DeleteSecurityGroup", GroupId="{id}"),
        outputs={"arn": EC2_ARN + "security-group/{id}", "ownerId": "{account}"},
        defaults={"description": "Managed by Pulumi"},
        references={
            "vpcId": Reference(VPC),
            "ingress.securityGroups": Reference(SECURITY_GROUP),
            "egress.securityGroups": Reference(SECURITY_GROUP),
        },
        requires=_in_vpc,
        replaces=("name", "description", "vpcId"),
        unordered=("ingress", "egress"),
        tagged="security-group",
        name="name",
        name_limit=255,
        wrong=_wrong_ports,
    ),
    # Deletes nothing: the group goes with its VPC.
    Row(
        token=DEFAULT_GROUP,
        make=_adopt,
        describe=_DESCRIBE,
        change=_set_rules,
        completes_with_change=True,
        outputs={
            "arn": EC2_ARN + "security-group/{id}",
            "description": from_answer("Description"),
            "name": from_answer("GroupName"),
            "ownerId": "{account}",
        },
        replaces=("vpcId",),
        unordered=("ingress", "egress"),
        tagged="security-group",
        wrong=_wrong_ports,
    ),
)
