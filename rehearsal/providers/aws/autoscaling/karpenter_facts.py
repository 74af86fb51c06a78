"""What the governor reads for Karpenter: what a node class finds in the account, and which machines can be had."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rehearsal.providers.aws.account import Account
from rehearsal.providers.aws.autoscaling.karpenter import ON_DEMAND, SPOT, TYPE, NodePool, Offer
from rehearsal.providers.aws.autoscaling.karpenter_calls import NodeClass
from rehearsal.providers.aws.cluster import ACCESS_ENTRY
from rehearsal.providers.aws.errors import ApiError, not_found
from rehearsal.providers.aws.instance_types import architecture, instance_type, offered_in
from rehearsal.providers.aws.nodes import node_group

_ARCHITECTURES: Final = {"x86_64": "amd64", "arm64": "arm64"}
_FAMILIES: Final = {"AL2023": "al2023", "Bottlerocket": "bottlerocket"}
_ANY: Final = "*"


def node_class(account: Account, cluster: str, manifest: Mapping[str, Any]) -> NodeClass:
    """An EC2NodeClass, with its selectors followed."""
    spec = manifest["spec"]
    subnets = _selected(account, "DescribeSubnets", "Subnets", "SubnetId", "subnet-id", spec["subnetSelectorTerms"])
    groups = _selected(
        account, "DescribeSecurityGroups", "SecurityGroups", "GroupId", "group-id", spec["securityGroupSelectorTerms"]
    )
    alias = next((term["alias"] for term in spec["amiSelectorTerms"] if "alias" in term), "")
    identity, role = _node_role(account, spec)
    return NodeClass(
        name=manifest["metadata"]["name"],
        image=alias.partition("@")[0] or _FAMILIES.get(spec.get("amiFamily", ""), "custom"),
        by_alias=bool(alias),
        zones=tuple(sorted({found["AvailabilityZone"] for found in subnets})),
        subnets=tuple(found["SubnetId"] for found in subnets),
        security_groups=tuple(found["GroupId"] for found in groups),
        identity=identity,
        node_role=role,
        own_profile="role" in spec,
        entry_type=_entry_type(account, cluster, role),
        tags=spec.get("tags") or {},
    )


def offers(account: Account, cluster: str, pool: NodePool, made_of: NodeClass) -> list[Offer]:
    """The machines to choose from: the types that the NodePool names, or all of the catalogue."""
    found = (_offer(account, cluster, name, made_of) for name in _names(account, pool))
    return [offer for offer in found if offer is not None]


def queue_arn(account: Account, name: str) -> str | None:
    """The ARN of an SQS queue, ``""`` for no name, ``None`` if there is no such queue."""
    if not name:
        return ""
    try:
        account.call("sqs", "GetQueueUrl", QueueName=name)
    except ApiError as error:
        if not_found(error):
            return None
        raise
    return account.arn("sqs", name)


def _names(account: Account, pool: NodePool) -> Sequence[str]:
    for requirement in pool.requirements:
        if requirement["key"] == TYPE and requirement["operator"] == "In":
            names: Sequence[str] = requirement["values"]
            return names
    return account.catalog.machine_types()


def _offer(account: Account, cluster: str, name: str, made_of: NodeClass) -> Offer | None:
    machine = instance_type(account, name)
    if machine is None:
        return None
    arch = architecture(account, name)
    ami = f"{made_of.image.upper()}_{arch}_{'NVIDIA' if machine.gpus else 'STANDARD'}"
    inputs = {"nodeGroupName": name, "clusterName": cluster, "instanceTypes": [name], "amiType": ami}
    nodes = {
        label: node_group(account, {**inputs, "capacityType": capacity}, made_of.zones, "", 0, {})
        for label, capacity in ((SPOT, "SPOT"), (ON_DEMAND, "ON_DEMAND"))
    }
    family, _, size = name.partition(".")
    labels = {
        TYPE: name,
        "kubernetes.io/arch": _ARCHITECTURES[arch],
        "kubernetes.io/os": "linux",
        "karpenter.k8s.aws/instance-family": family,
        "karpenter.k8s.aws/instance-size": size,
        "karpenter.k8s.aws/instance-cpu": str(machine.vcpus),
        "karpenter.k8s.aws/instance-memory": str(int(machine.memory_gib * 1024)),
    }
    if machine.gpus:
        labels["karpenter.k8s.aws/instance-gpu-count"] = str(machine.gpus)
        labels["karpenter.k8s.aws/instance-gpu-manufacturer"] = "nvidia"
    zones = frozenset(zone for zone in made_of.zones if offered_in(account, name, zone))
    return Offer(labels, zones, nodes)


def _selected(
    account: Account, operation: str, plural: str, id: str, filter: str, terms: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """What any of the ``terms`` finds, each once."""
    found: dict[str, Mapping[str, Any]] = {}
    for term in terms:
        filters = [{"Name": filter, "Values": [term["id"]]}] if "id" in term else []
        if "name" in term:
            filters.append({"Name": "group-name", "Values": [term["name"]]})
        for key, value in (term.get("tags") or {}).items():
            named = {"Name": "tag-key", "Values": [key]}
            filters.append(named if value == _ANY else {"Name": f"tag:{key}", "Values": [value]})
        for each in account.call("ec2", operation, Filters=filters)[plural]:
            found[each[id]] = each
    return list(found.values())


def _node_role(account: Account, spec: Mapping[str, Any]) -> tuple[str, str]:
    """Where nodes get their role from, in words, and the role's ARN (``""``: there is none)."""
    by_role = "role" in spec
    identity = f"the role {spec['role']}" if by_role else f"the instance profile {spec['instanceProfile']}"
    try:
        if by_role:
            return identity, str(account.call("iam", "GetRole", RoleName=spec["role"])["Role"]["Arn"])
        profile = account.call("iam", "GetInstanceProfile", InstanceProfileName=spec["instanceProfile"])
    except ApiError as error:
        if not_found(error):
            return identity, ""
        raise
    roles = profile["InstanceProfile"]["Roles"]
    return identity, str(roles[0]["Arn"]) if roles else ""


def _entry_type(account: Account, cluster: str, role: str) -> str:
    record = account.store.get(ACCESS_ENTRY, f"{cluster}:{role}")
    return str(record.inputs.get("type") or "STANDARD") if record else ""
