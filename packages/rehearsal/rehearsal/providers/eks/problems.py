"""What will not work in an account although AWS accepted each request, or reaches further than it has to.

Everything follows from what is in the account and from how AWS and the programs in the cluster use it, never from the
stack file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.kubernetes import quantity
from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks import scaling_group
from rehearsal.providers.eks.authorization.identity import Caller, Right, Role, Roles, trust_problem
from rehearsal.providers.eks.authorization.needs import refusal
from rehearsal.providers.eks.autoscaling.cluster_autoscaler import PREFIX
from rehearsal.providers.eks.cloud import ADDON, Account, maker
from rehearsal.providers.eks.cluster import ACCESS_ENTRY, maker_is_admin, secrets_key
from rehearsal.providers.eks.iam import GRANT, KEY, ROLE
from rehearsal.providers.eks.machines.instance import Instance
from rehearsal.providers.eks.machines.node_joiner import default_route, way
from rehearsal.providers.eks.network import CLUSTER, DEFAULT_GROUP
from rehearsal.providers.eks.nodes import NODE_GROUP, declared_groups

_PROGRAMS: Final = yaml.safe_load((Path(__file__).parent / "authorization" / "programs.yaml").read_text("utf-8"))
_EBS_DRIVER: Final = "kube-system/ebs-csi-controller-sa"
_AUTO_SCALING: Final = "/AWSServiceRoleForAutoScaling"
_BALANCER: Final = "kube-system/aws-load-balancer-controller"
_ROLE_TAG: Final = "kubernetes.io/role/"
_EXIST: Final = ("pending", "available")
_TOLERANCE: Final = 0.25
"""How much memory a node reserves depends on how many pods it may run."""


def problems(account: Account, roles: Roles) -> Iterator[str]:
    """Each as a sentence; ``roles`` are the account's."""
    for cluster in account.store.all(CLUSTER):
        groups = [each.inputs for each in account.store.all(NODE_GROUP) if each.inputs["clusterName"] == cluster.id]
        yield from _rights(account, cluster, groups, roles)
        yield from _secrets(account, cluster, roles)
        yield from _log_group(account, cluster)
        yield from _deployer(account, cluster)
        for group in account.store.all(DEFAULT_GROUP):
            (described,) = account.call("ec2", "DescribeSecurityGroups", GroupIds=[group.id])["SecurityGroups"]
            if described["VpcId"] != at(cluster.outputs, "vpcConfig.vpcId"):
                yield f"the rules of another VPC's default security group {group.id} are removed, not the cluster's"
        yield from _network(account, cluster, groups)
        for group in groups:
            yield from _template(account, group)
            yield from _former_disks(account, cluster, group, roles)
    yield from _plans(account)


def _rights(account: Account, cluster: Record, groups: list[Properties], roles: Roles) -> Iterator[str]:
    """Of the programs of ``programs.yaml``: calls that are denied, and calls on other's resources that are not."""
    key = at(cluster.inputs, "encryptionConfig.provider.keyArn")
    known = {
        "cluster": cluster.id,
        "vpc": at(cluster.outputs, "vpcConfig.vpcId"),
        # Another's key may have a policy of its own, which is not evaluated.
        "key": key if any(each.outputs["arn"] == key for each in account.store.all(KEY)) else "",
        "region": account.region,
        "account": account.id,
        "partition": account.partition,
    }
    for who, program in _PROGRAMS.items():
        for arn in _roles_of(account, cluster, groups, who, program.get("addon")):
            role = roles.get(arn)
            if problem := _no_session(role, arn, cluster, who):
                yield problem
                continue
            for call in (_with(each, known) for each in program["calls"]):
                if call.get("undocumented") is None or _is_given(call, account, roles):
                    yield from _denied(who, arn, role, call, account)


def _secrets(account: Account, cluster: Record, roles: Roles) -> Iterator[str]:
    """Of the key that encrypts the cluster's Secrets, whatever was declared since: whether it works, and whether the
    control plane's role lost it."""
    key, declared = secrets_key(account, cluster.id), at(cluster.inputs, "encryptionConfig.provider.keyArn")
    if key is None:
        return
    if state := _unusable(account, key):
        yield f"the cluster's Secrets are encrypted with {key}, {state}"
    arn = cluster.inputs["roleArn"]
    role, caller = roles.get(arn), Caller(arn, arn)
    lost = _refused(caller, role, "kms:Decrypt", key, {}, account)
    if lost and key != declared and not _refused(caller, role, "kms:Decrypt", declared or "*", {}, account):
        yield f"the cluster's Secrets are encrypted with {key}: control plane: {lost}"


def _unusable(account: Account, key: str) -> str:
    """Why nobody can use a key; empty if all is well. Of a key that somebody else made, nothing but whether it exists
    is known.

    https://docs.aws.amazon.com/kms/latest/developerguide/key-state.html
    """
    if key not in {each["KeyArn"] for each in account.call("kms", "ListKeys")["Keys"]}:
        return "" if account.account_limits.has_key(key) else "which is not among the account's keys any more"
    state = account.call("kms", "DescribeKey", KeyId=key)["KeyMetadata"]["KeyState"]
    return "" if state == "Enabled" else f"whose state is {state}"


def _former_disks(account: Account, cluster: Record, group: Properties, roles: Roles) -> Iterator[str]:
    """Keys of earlier versions of a launch template: volumes of that time still have them, and so have nodes that are
    busy. Auto Scaling and the EBS driver must not lose them with the next key.

    https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html
    """
    template = group.get("launchTemplate") or {}
    if not template.get("id"):
        return
    asked = {"LaunchTemplateId": template["id"]}
    versions = account.call("ec2", "DescribeLaunchTemplateVersions", **asked)["LaunchTemplateVersions"]
    disks = [
        (each.get("Ebs") or {}) for one in versions for each in one["LaunchTemplateData"].get("BlockDeviceMappings", ())
    ]
    driver = account.pod_identity(cluster.id, *_EBS_DRIVER.split("/"))
    for key in sorted({disk["KmsKeyId"] for disk in disks if disk.get("KmsKeyId")}):
        # A volume of a running instance keeps its data key; it is lost with the attachment:
        # https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html
        if state := _unusable(account, key):
            yield f"nodes of {group['nodeGroupName']} have disks under {key}, {state}: none can start again"
        grantees = [one.inputs["granteePrincipal"] for one in account.store.all(GRANT) if one.inputs["keyId"] == key]
        if not any(each.endswith(_AUTO_SCALING) for each in grantees):
            yield f"nodes of {group['nodeGroupName']} have disks under {key}, which Auto Scaling has no grant to use"
        where = {"kms:GrantIsForAWSResource": "true"}
        if driver and (
            lost := _refused(Caller(driver, driver), roles.get(driver), "kms:CreateGrant", key, where, account)
        ):
            yield f"volumes under {key} cannot be attached: {_EBS_DRIVER}: {lost}"


def _is_given(call: Mapping[str, Any], account: Account, roles: Roles) -> bool:
    """Whether the program gives one of a call's rights to some role: it is then meant for the one that makes it."""
    arns = [each.outputs["arn"] for each in account.store.all(ROLE)]
    tries = [(arn, action) for arn in arns for action in call["actions"].split() if call["to"]]
    return any(not _refused(Caller(arn, arn), roles.get(arn), action, call["to"], {}, account) for arn, action in tries)


def _with(call: Any, known: Mapping[str, str]) -> Any:
    if isinstance(call, dict):
        return {_with(key, known): _with(value, known) for key, value in call.items()}
    if isinstance(call, list):
        return [_with(each, known) for each in call]
    return call.format_map(known) if isinstance(call, str) else call


def _roles_of(account: Account, cluster: Record, groups: list[Properties], who: str, addon: str | None) -> list[str]:
    """The ARNs of the roles with which a program runs; none if it does not run, or gets one in another way."""
    of_nodes = sorted({group["nodeRoleArn"] for group in groups})
    if who == "nodes":
        return of_nodes
    if who == "control plane":
        return [cluster.inputs["roleArn"]]
    arn = account.pod_identity(cluster.id, *who.split("/"))
    if arn or addon is None:
        return [arn] if arn else []
    installed = account.store.get(ADDON, f"{cluster.id}:{addon}")
    # The other way: https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html
    return [] if installed is None or installed.inputs.get("serviceAccountRoleArn") else of_nodes


def _no_session(role: Role | None, arn: str, cluster: Record, who: str) -> str:
    if role is None:
        return f"{who}: its role {arn} does not exist"
    namespace, slash, name = who.partition("/")
    return trust_problem(role, cluster, namespace, name) if slash and "ec2.amazonaws.com" not in str(role.trust) else ""


def _denied(who: str, arn: str, role: Role | None, call: Mapping[str, Any], account: Account) -> Iterator[str]:
    where, resource = call.get("where") or {}, call.get("to", "*")
    caller = Caller(arn, arn)
    for action in call["actions"].split():
        if resource and (lacking := _refused(caller, role, action, resource, where, account)):
            yield f"{who}: {lacking}"
        for other in call.get("unless") or ():
            context = {key: value for key, value in {**where, **other.get("where", {})}.items() if value is not None}
            if resource and not _refused(caller, role, action, other.get("to", resource), context, account):
                yield f"{who}: its role {arn} allows {action} on resources that are not the cluster's ({other})"


def _refused(
    caller: Caller, role: Role | None, action: str, resource: str, where: Mapping[str, str], account: Account
) -> str:
    return refusal(caller, role, [Right(action, resource, {"aws:RequestedRegion": account.region, **where})])


def _log_group(account: Account, cluster: Record) -> Iterator[str]:
    """https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/Working-with-log-groups-and-streams.html"""
    name = f"/aws/eks/{cluster.id}/cluster"
    groups = account.call("logs", "DescribeLogGroups", logGroupNamePrefix=name)["logGroups"]
    if any(each["logGroupName"] == name and not each.get("retentionInDays") for each in groups):
        yield f"the control plane's logs in {name} never expire"


def _deployer(account: Account, cluster: Record) -> Iterator[str]:
    if not maker_is_admin(cluster) and not account.store.get(ACCESS_ENTRY, f"{cluster.id}:{maker(account)}"):
        yield f"{maker(account)} made the cluster {cluster.id} and may create nothing in it: it has no access entry"


@dataclass(frozen=True)
class _Vpc:
    """What EC2 says of the VPC of the nodes: its subnets and NAT gateways by id."""

    subnets: Mapping[str, Mapping[str, Any]]
    tables: Sequence[Mapping[str, Any]]
    nats: Mapping[str, Mapping[str, Any]]

    def default_route(self, id: str) -> Mapping[str, Any]:
        """That of a subnet's own table, or of the main one; empty if there is none."""
        return default_route(self.tables, id)

    def is_public(self, id: str) -> bool:
        """Whether its default route leads to an internet gateway."""
        return str(self.default_route(id).get("GatewayId") or "").startswith("igw-")


def _network(account: Account, cluster: Record, groups: list[Properties]) -> Iterator[str]:
    """Of the subnets with nodes: whether nodes reach the control plane and the internet, and load balancers the nodes.

    https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
    """
    vpc_id = str(at(cluster.outputs, "vpcConfig.vpcId"))
    for attribute in ("enableDnsSupport", "enableDnsHostnames"):
        answer = account.call("ec2", "DescribeVpcAttribute", VpcId=vpc_id, Attribute=attribute)
        if not answer[attribute[0].upper() + attribute[1:]]["Value"]:
            yield f"nodes cannot register with the cluster: their VPC {vpc_id} has {attribute} false"
    mine = [{"Name": "vpc-id", "Values": [vpc_id]}]
    nats = account.call("ec2", "DescribeNatGateways")["NatGateways"]
    vpc = _Vpc(
        {each["SubnetId"]: each for each in account.call("ec2", "DescribeSubnets", Filters=mine)["Subnets"]},
        account.call("ec2", "DescribeRouteTables", Filters=mine)["RouteTables"],
        {each["NatGatewayId"]: each for each in nats if each["VpcId"] == vpc_id and each["State"] in _EXIST},
    )
    admitted: dict[str, set[tuple[str, ...]]] = {}
    for group in groups:
        its = _security_groups(account, group) or (str(at(cluster.outputs, "vpcConfig.clusterSecurityGroupId")),)
        for id in group["subnetIds"]:
            admitted.setdefault(id, set()).add(its)
    for place in (vpc.subnets[each] for each in sorted(admitted)):
        id, zone = place["SubnetId"], place["AvailabilityZone"]
        public = "198.51.100.1" if place.get("MapPublicIpOnLaunch") else ""
        for its in sorted(admitted[id]):
            if problem := way(account, cluster, Instance("a node", "", "", zone, "", id, its, "", public, "")):
                yield f"nodes in {id} cannot join the cluster: {problem}"
        if problem := _internet(vpc, id, public=bool(public)):
            yield f"nodes in {id} pull no images: {problem}"
        if account.pod_identity(cluster.id, *_BALANCER.split("/")):
            yield from _balancing(vpc, zone)


def _security_groups(account: Account, group: Properties) -> tuple[str, ...]:
    """Those of a group's launch template, to which EKS adds none: none if it names none.

    https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
    """
    data = scaling_group.template_of(account, group).get("LaunchTemplateData") or {}
    first = next(iter(data.get("NetworkInterfaces") or ()), {})
    return tuple(sorted(data.get("SecurityGroupIds") or first.get("Groups") or ()))


def _internet(vpc: _Vpc, id: str, *, public: bool) -> str:
    """Why nothing in a subnet reaches the internet, or what else is wrong with its way; empty if all is well.

    https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html
    """
    default = vpc.default_route(id)
    if vpc.is_public(id):
        return "" if public else f"{id} routes to an internet gateway, and its nodes have no public address"
    nat = vpc.nats.get(default.get("NatGatewayId", ""))
    if nat is None:
        # Another kind of gateway: nothing is known of what is behind it.
        return "" if default else f"{id} has no default route"
    if nat.get("ConnectivityType") == "private":
        return f"the NAT gateway {nat['NatGatewayId']} is private"
    if not vpc.is_public(nat["SubnetId"]):
        return f"the NAT gateway {nat['NatGatewayId']} is in {nat['SubnetId']}, which has no internet gateway"
    zones = [vpc.subnets[each["SubnetId"]]["AvailabilityZone"] for each in vpc.nats.values()]
    zone, own = vpc.subnets[nat["SubnetId"]]["AvailabilityZone"], vpc.subnets[id]["AvailabilityZone"]
    if zone != own and (own in zones or zones.count(zone) > 1):
        return f"{id} depends on another zone: its route leads from {own} to a NAT gateway in {zone}"
    return ""


def _balancing(vpc: _Vpc, zone: str) -> Iterator[str]:
    """Without a subnet in the zone, a network load balancer does not reach the zone's nodes. Where no subnet of the VPC
    has the tag, the controller takes all with such a route.

    https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/subnet_discovery
    """
    for role, public in (("elb", True), ("internal-elb", False)):
        tagged = [
            id
            for id, place in vpc.subnets.items()
            if {"1", ""} & {each["Value"] for each in place.get("Tags") or () if each["Key"] == f"{_ROLE_TAG}{role}"}
        ]
        candidates = (id for id in tagged or vpc.subnets if vpc.subnets[id]["AvailabilityZone"] == zone)
        if not any(vpc.is_public(id) is public for id in candidates):
            yield f"load balancers reach no node in {zone}: no subnet there has the tag {_ROLE_TAG}{role}"


def _template(account: Account, group: Properties) -> Iterator[str]:
    """What EC2 does with a launch template of nodes: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"""
    data, name = scaling_group.template_of(account, group).get("LaunchTemplateData") or {}, group["nodeGroupName"]
    if at(data, "MetadataOptions.HttpEndpoint") == "disabled":
        yield f"nodes of {name} cannot join: without the metadata service a node does not know which instance it is"
    encrypts = account.call("ec2", "GetEbsEncryptionByDefault")["EbsEncryptionByDefault"]
    for disk in data.get("BlockDeviceMappings") or ():
        ebs, each = disk.get("Ebs") or {}, f"the disk {disk.get('DeviceName', '')} of each node of {name}"
        if ebs.get("DeleteOnTermination") is False:
            yield f"{each} outlives it, and is billed"
        # https://docs.aws.amazon.com/ebs/latest/userguide/encryption-by-default.html
        if not ebs.get("Encrypted") and not encrypts:
            yield f"{each} is not encrypted: neither its template nor the account asks for that"
        # https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html
        if (kind := ebs.get("VolumeType", "gp2")) in ("gp2", "standard"):
            yield f"{each} is of type {kind}: slower than gp3 and no cheaper"


def _plans(account: Account) -> Iterator[str]:
    """Whether cluster-autoscaler plans an empty group's nodes with the resources that they will have.

    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
    """
    for group in declared_groups(account):
        machine = group.base.machine
        real = {
            "cpu": machine.cpu - (machine.reserved_milli_cpu or 0) / 1000,
            "memory": machine.memory_gib * 2**30 - (machine.reserved_memory_mib or 0) * 2**20,
            "ephemeral-storage": machine.disk_mib * 2**20,
        }
        for resource, amount in real.items():
            text = group.asg_tags.get(f"{PREFIX}resources/{resource}")
            if text is not None and abs(_amount(text) / amount - 1) > _TOLERANCE:
                plan = text or "that of the instance type, as if it reserved nothing"
                yield f"the autoscaler plans nodes of {group.base.name} with {resource} {plan}; they have {amount:.0f}"


def _amount(text: str) -> float:
    """A tag's quantity; of any other text none, which the autoscaler passes over."""
    try:
        return float(quantity(text))
    except ValueError:
        return 0.0
