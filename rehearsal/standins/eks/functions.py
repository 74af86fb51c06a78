"""The provider's functions: who the caller is, which partition of AWS this is, which clusters and groups there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rehearsal.standins.base import Properties
from rehearsal.standins.eks import scaling_group
from rehearsal.standins.eks.account import Account, maker
from rehearsal.standins.eks.cluster import require_cluster
from rehearsal.standins.eks.errors import ApiError
from rehearsal.standins.eks.groups import NODE_GROUP
from rehearsal.standins.eks.network import CLUSTER
from rehearsal.standins.store import Record


def get_caller_identity(account: Account, args: Properties) -> Properties:
    """``getCallerIdentity``: the simulated account."""
    # Without a request: previews ask for nothing else, and importing moto takes longer than all the rest of one.
    return {
        "accountId": account.id,
        "arn": maker(account),
        "id": account.id,
        "userId": "AIDASIMULATED",
    }


def get_partition(account: Account, args: Properties) -> Properties:
    """``getPartition``: the public one."""
    suffix = "amazonaws.com"
    return {
        "dnsSuffix": suffix,
        "id": account.partition,
        "partition": account.partition,
        "region": account.region,
        "reverseDnsPrefix": "com.amazonaws",
    }


def get_clusters(account: Account, args: Properties) -> Properties:
    """``getClusters``: the names of those in the region."""
    return {"id": account.region, "names": [record.inputs["name"] for record in account.store.all(CLUSTER)]}


def get_node_groups(account: Account, args: Properties) -> Properties:
    """``getNodeGroups``: the names of a cluster's."""
    require_cluster(account, args["clusterName"])
    return {
        **args,
        "id": args["clusterName"],
        "names": [each.inputs["nodeGroupName"] for each in _groups(account, args)],
    }


def get_node_group(account: Account, args: Properties) -> Properties:
    """``getNodeGroup``: one of them, with the size that EKS last recorded, which an autoscaler's changes are not in."""
    found = [each for each in _groups(account, args) if each.inputs["nodeGroupName"] == args["nodeGroupName"]]
    if not found:
        raise ApiError(
            "eks",
            "DescribeNodegroup",
            "ResourceNotFoundException",
            f"No node group found for name: {args['nodeGroupName']}.",
        )
    (group,) = found
    template = group.inputs.get("launchTemplate")
    return {
        **args,
        "id": group.id,
        **{key: group.outputs[key] for key in ("amiType", "capacityType", "instanceTypes", "resources", "version")},
        "scalingConfigs": [group.inputs["scalingConfig"]],
        "launchTemplates": [template] if template else [],
    }


def get_scaling_group(account: Account, args: Properties) -> Properties:
    """``autoscaling:getGroup``: an Auto Scaling group's sizes."""
    found = scaling_group.describe(account, args["name"])
    sizes = {"desiredCapacity": "DesiredCapacity", "maxSize": "MaxSize", "minSize": "MinSize"}
    return {**args, "id": args["name"], **{name: found[its] for name, its in sizes.items()}}


def get_log_groups(account: Account, args: Properties) -> Properties:
    """``cloudwatch:getLogGroups``: the names that begin with a prefix."""
    found = account.call("logs", "DescribeLogGroups", logGroupNamePrefix=args.get("logGroupNamePrefix"))["logGroups"]
    return {**args, "id": account.region, "logGroupNames": [group["logGroupName"] for group in found]}


def _groups(account: Account, args: Properties) -> list[Record]:
    return [each for each in account.store.all(NODE_GROUP) if each.inputs["clusterName"] == args["clusterName"]]


FUNCTIONS: Final[Mapping[str, Callable[[Account, Properties], Properties]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": get_caller_identity,
    "aws:index/getPartition:getPartition": get_partition,
    "aws:eks/getClusters:getClusters": get_clusters,
    "aws:eks/getNodeGroups:getNodeGroups": get_node_groups,
    "aws:eks/getNodeGroup:getNodeGroup": get_node_group,
    "aws:autoscaling/getGroup:getGroup": get_scaling_group,
    "aws:cloudwatch/getLogGroups:getLogGroups": get_log_groups,
}
