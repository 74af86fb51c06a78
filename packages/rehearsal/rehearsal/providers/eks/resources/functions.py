"""The provider's functions: the caller's identity, the partition of AWS, the existing clusters, groups and
networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account, maker
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.resources import scaling_group
from rehearsal.providers.eks.resources.cluster import require_cluster
from rehearsal.providers.eks.resources.groups import NODE_GROUP
from rehearsal.providers.eks.resources.network import CLUSTER, subnet
from rehearsal.providers.store import Record


def get_caller_identity(account: Account, args: Properties) -> Properties:
    """``getCallerIdentity``: the simulated account."""
    # Without a request: previews ask for nothing else, and importing moto takes longer than all the rest of one.
    return {"accountId": account.id, "arn": maker(account), "id": account.id, "userId": "AIDASIMULATED"}


def get_file_system(account: Account, args: Properties) -> Properties:
    """``getFileSystem``: the one of a creation token."""
    file_systems = account.call("efs", "DescribeFileSystems", CreationToken=args["creationToken"])["FileSystems"]
    if not file_systems:
        raise AwsError("efs", "DescribeFileSystems", "FileSystemNotFound", f"no file system {args['creationToken']}")
    return {**args, "id": file_systems[0]["FileSystemId"], "fileSystemId": file_systems[0]["FileSystemId"]}


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


def get_cluster(account: Account, args: Properties) -> Properties:
    """``getCluster``: its current version; EKS's error if it does not exist."""
    described = account.call("eks", "DescribeCluster", name=args["name"])["cluster"]
    return {**args, "id": args["name"], "version": described["version"]}


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
    matches = [each for each in _groups(account, args) if each.inputs["nodeGroupName"] == args["nodeGroupName"]]
    if not matches:
        raise AwsError(
            "eks",
            "DescribeNodegroup",
            "ResourceNotFoundException",
            f"No node group found for name: {args['nodeGroupName']}.",
        )
    (group,) = matches
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
    group = scaling_group.describe(account, args["name"])
    sizes = {"desiredCapacity": "DesiredCapacity", "maxSize": "MaxSize", "minSize": "MinSize"}
    return {**args, "id": args["name"], **{name: group[its] for name, its in sizes.items()}}


def get_vpc(account: Account, args: Properties) -> Properties:
    """``ec2:getVpc``: a network, its ranges and DNS settings; EC2's error if it does not exist."""
    vpc = account.call("ec2", "DescribeVpcs", VpcIds=[args["id"]])["Vpcs"][0]
    ranges = [
        {"cidrBlock": each["CidrBlock"], "state": each["CidrBlockState"]["State"]}
        for each in vpc["CidrBlockAssociationSet"]
    ]
    return {
        **args,
        "cidrBlock": vpc["CidrBlock"],
        "cidrBlockAssociations": ranges,
        "enableDnsHostnames": _attribute(account, args["id"], "enableDnsHostnames"),
        "enableDnsSupport": _attribute(account, args["id"], "enableDnsSupport"),
        "ownerId": vpc["OwnerId"],
    }


def get_subnet(account: Account, args: Properties) -> Properties:
    """``ec2:getSubnet``: a subnet; EC2's error if it does not exist."""
    described = subnet(account, args["id"])
    keys = ("availabilityZone", "availableIpAddressCount", "cidrBlock", "mapPublicIpOnLaunch", "vpcId")
    tags = {tag["Key"]: tag["Value"] for tag in described.get("Tags") or ()}
    return {**args, **{key: described[key[0].upper() + key[1:]] for key in keys}, "tags": tags}


def get_subnets(account: Account, args: Properties) -> Properties:
    """``ec2:getSubnets``: the ids of those that all filters let through."""
    filters = [{"Name": each["name"], "Values": each["values"]} for each in args["filters"]]
    subnets = account.call("ec2", "DescribeSubnets", Filters=filters)["Subnets"]
    return {**args, "id": account.region, "ids": [each["SubnetId"] for each in subnets]}


def get_route_tables(account: Account, args: Properties) -> Properties:
    """``ec2:getRouteTables``: the ids of a network's."""
    filters = [{"Name": "vpc-id", "Values": [args["vpcId"]]}]
    tables = account.call("ec2", "DescribeRouteTables", Filters=filters)["RouteTables"]
    return {**args, "id": account.region, "ids": [each["RouteTableId"] for each in tables]}


def get_route_table(account: Account, args: Properties) -> Properties:
    """``ec2:getRouteTable``: a table's routes, with empty texts for what they do not lead to, and whose they are."""
    (table,) = account.call("ec2", "DescribeRouteTables", RouteTableIds=[args["routeTableId"]])["RouteTables"]
    targets = {
        "cidrBlock": "DestinationCidrBlock",
        "coreNetworkArn": "CoreNetworkArn",
        "gatewayId": "GatewayId",
        "natGatewayId": "NatGatewayId",
        "networkInterfaceId": "NetworkInterfaceId",
        "transitGatewayId": "TransitGatewayId",
        "vpcPeeringConnectionId": "VpcPeeringConnectionId",
    }
    routes = [{key: each.get(its) or "" for key, its in targets.items()} for each in table["Routes"]]
    associations = [{"main": each["Main"], "subnetId": each.get("SubnetId") or ""} for each in table["Associations"]]
    return {**args, "id": table["RouteTableId"], "routes": routes, "associations": associations}


def get_log_groups(account: Account, args: Properties) -> Properties:
    """``cloudwatch:getLogGroups``: the names that begin with a prefix."""
    answer = account.call("logs", "DescribeLogGroups", logGroupNamePrefix=args.get("logGroupNamePrefix"))["logGroups"]
    return {**args, "id": account.region, "logGroupNames": [group["logGroupName"] for group in answer]}


def _attribute(account: Account, vpc: str, name: str) -> bool:
    answer = account.call("ec2", "DescribeVpcAttribute", VpcId=vpc, Attribute=name)
    return bool(answer[name[0].upper() + name[1:]]["Value"])


def _groups(account: Account, args: Properties) -> list[Record]:
    return [each for each in account.store.all(NODE_GROUP) if each.inputs["clusterName"] == args["clusterName"]]


FUNCTIONS: Final[Mapping[str, Callable[[Account, Properties], Properties]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": get_caller_identity,
    "aws:index/getPartition:getPartition": get_partition,
    "aws:ec2/getRouteTable:getRouteTable": get_route_table,
    "aws:ec2/getRouteTables:getRouteTables": get_route_tables,
    "aws:ec2/getSubnet:getSubnet": get_subnet,
    "aws:ec2/getSubnets:getSubnets": get_subnets,
    "aws:ec2/getVpc:getVpc": get_vpc,
    "aws:eks/getCluster:getCluster": get_cluster,
    "aws:efs/getFileSystem:getFileSystem": get_file_system,
    "aws:eks/getClusters:getClusters": get_clusters,
    "aws:eks/getNodeGroups:getNodeGroups": get_node_groups,
    "aws:eks/getNodeGroup:getNodeGroup": get_node_group,
    "aws:autoscaling/getGroup:getGroup": get_scaling_group,
    "aws:cloudwatch/getLogGroups:getLogGroups": get_log_groups,
}
