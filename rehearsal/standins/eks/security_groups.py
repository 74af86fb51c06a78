"""Security groups and their inline rules."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from typing_extensions import override

from concepts.unknown import UNKNOWN, items
from rehearsal.standins.base import CheckFailure, Properties
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.network import CLUSTER, ENDPOINT, SECURITY_GROUP, default_security_group
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.translate import To

_RULE: Final = frozenset(
    (
        "cidrBlocks",
        "description",
        "fromPort",
        "ipv6CidrBlocks",
        "prefixListIds",
        "protocol",
        "securityGroups",
        "self",
        "toPort",
    )
)
_DIRECTIONS: Final = (("ingress", "Ingress", "IpPermissions"), ("egress", "Egress", "IpPermissionsEgress"))


class _GroupShape(Shape):
    """Rules are inputs here and requests of their own at AWS."""

    @override
    def failures(self, inputs: Properties) -> list[CheckFailure]:
        return [*super().failures(inputs), *_rule_failures(inputs)]


class SecurityGroupKind(Kind):
    """``aws:ec2/securityGroup:SecurityGroup``. Without ``egress`` nothing may leave: the provider removes AWS's rule.

    https://www.pulumi.com/registry/packages/aws/api-docs/ec2/securitygroup/
    """

    token = SECURITY_GROUP
    shape: ClassVar[Shape] = _GroupShape(
        service="ec2",
        operation="CreateSecurityGroup",
        table={"CreateSecurityGroupRequest": {"name": To("GroupName")}},
        local=("ingress", "egress", "revokeRulesOnDelete"),
        defaults={"description": "Managed by Pulumi"},
        replaces=("name", "description", "vpcId"),
        unordered=("ingress", "egress"),
        tags="specifications",
        tagged="security-group",
        name="name",
        name_limit=255,
    )
    computed = ("arn", "ownerId")
    users = (CLUSTER, ENDPOINT, SECURITY_GROUP)

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        answer = account.call("ec2", "CreateSecurityGroup", **params)
        set_rules(account, answer["GroupId"], inputs)
        return str(answer["GroupId"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        account.call("ec2", "DescribeSecurityGroups", GroupIds=[id])
        return {"arn": account.arn("ec2", f"security-group/{id}"), "ownerId": account.id}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        set_rules(account, id, new)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("ec2", "DeleteSecurityGroup", GroupId=id)


class DefaultSecurityGroupKind(Kind):
    """``aws:ec2/defaultSecurityGroup:DefaultSecurityGroup``: takes over a VPC's own group, and deletes nothing."""

    token = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
    shape: ClassVar[Shape] = _GroupShape(
        service="ec2",
        operation="DescribeSecurityGroups",
        local=("ingress", "egress", "vpcId", "revokeRulesOnDelete"),
        replaces=("vpcId",),
        unordered=("ingress", "egress"),
        tags="specifications",
        tagged="security-group",
    )
    computed = ("arn", "description", "name", "ownerId")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        vpc = inputs.get("vpcId")
        if not vpc:
            default = account.call("ec2", "DescribeVpcs", Filters=[{"Name": "is-default", "Values": ["true"]}])
            vpc = default["Vpcs"][0]["VpcId"]
        account.call("ec2", "DescribeVpcs", VpcIds=[vpc])
        id = default_security_group(account, vpc)
        set_rules(account, id, inputs)
        tags = [{"Key": key, "Value": value} for key, value in (inputs.get("tags") or {}).items()]
        if tags:
            account.call("ec2", "CreateTags", Resources=[id], Tags=tags)
        return id

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        group = account.call("ec2", "DescribeSecurityGroups", GroupIds=[id])["SecurityGroups"][0]
        arn = account.arn("ec2", f"security-group/{id}")
        return {"arn": arn, "description": group["Description"], "name": group["GroupName"], "ownerId": account.id}

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        set_rules(account, id, new)

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        """Nothing: the group goes with its VPC."""


def set_rules(account: Account, group: str, inputs: Properties) -> None:
    """Give the group exactly the inline rules of ``inputs``."""
    found = account.call("ec2", "DescribeSecurityGroups", GroupIds=[group])["SecurityGroups"][0]
    for key, verb, live in _DIRECTIONS:
        if found.get(live):
            account.call("ec2", f"RevokeSecurityGroup{verb}", GroupId=group, IpPermissions=found[live])
        permissions = [_permission(rule, group) for rule in inputs.get(key) or []]
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


def _rule_failures(inputs: Properties) -> list[CheckFailure]:
    failures: list[CheckFailure] = []
    for direction, _, _ in _DIRECTIONS:
        for index, rule in enumerate(items(inputs.get(direction))):
            if rule is UNKNOWN:
                continue
            where = f"{direction}[{index}]"
            failures += [CheckFailure(f"{where}.{key}", "is not an input") for key in rule if key not in _RULE]
            needed = ("protocol", "fromPort", "toPort")
            failures += [CheckFailure(f"{where}.{key}", "is required") for key in needed if rule.get(key) is None]
            ports = [rule.get("fromPort"), rule.get("toPort")]
            if rule.get("protocol") in ("-1", "all") and any(port not in (None, 0, UNKNOWN) for port in ports):
                failures.append(CheckFailure(where, "all protocols (-1) need fromPort and toPort 0"))
    return failures
