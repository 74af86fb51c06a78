"""The provider's functions: the caller's identity, the partition of AWS, the existing clusters, groups and
networks."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks import scaling_group
from rehearsal.providers.eks.cloud import Account, AwsError, maker, not_found
from rehearsal.providers.eks.cluster import require_cluster
from rehearsal.providers.eks.network import CLUSTER, ROUTE_TARGETS, subnet
from rehearsal.providers.eks.nodes import NODE_GROUP
from rehearsal.providers.eks.system import default_version

Function: TypeAlias = Callable[[Account, Properties], Properties]
FUNCTIONS: Final[dict[str, Function]] = {}
# Of a preview, which has no machines: the port "discard".
_NOWHERE: Final = "https://127.0.0.1:9"
_NOBODYS_CERTIFICATE: Final = base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()
# https://docs.aws.amazon.com/eks/latest/userguide/enable-extended-support.html
_EXTENDED: Final = {"supportType": "EXTENDED"}


def _answers(module: str, name: str) -> Callable[[Function], Function]:
    """Makes the decorated function the provider's ``name`` of a module; what it is asked with is answered, too."""

    def register(function: Function) -> Function:
        FUNCTIONS[f"aws:{module}/{name}:{name}"] = lambda account, args: {**args, **function(account, args)}
        return function

    return register


@_answers("index", "getCallerIdentity")
def _identity(account: Account, args: Properties) -> Properties:
    # Without a request: previews ask for nothing else, and importing moto takes longer than all the rest of one.
    return {"accountId": account.id, "arn": maker(account), "id": account.id, "userId": "AIDASIMULATED"}


@_answers("index", "getPartition")
def _partition(account: Account, args: Properties) -> Properties:
    names = {"dnsSuffix": "amazonaws.com", "reverseDnsPrefix": "com.amazonaws"}
    return {**names, "id": account.partition, "partition": account.partition, "region": account.region}


@_answers("index", "getAvailabilityZones")
def _availability_zones(account: Account, args: Properties) -> Properties:
    """The region's zones with GPU machines, from the catalogue; their ids differ from account to account."""
    region = args.get("region") or account.region
    return {"id": region, "region": region, "names": sorted(account.catalog.regions[region])}


@_answers("efs", "getFileSystem")
def _file_system(account: Account, args: Properties) -> Properties:
    file_systems = account.call("efs", "DescribeFileSystems", CreationToken=args["creationToken"])["FileSystems"]
    if not file_systems:
        raise AwsError("efs", "DescribeFileSystems", "FileSystemNotFound", f"no file system {args['creationToken']}")
    return {"id": file_systems[0]["FileSystemId"], "fileSystemId": file_systems[0]["FileSystemId"]}


@_answers("eks", "getClusters")
def _clusters(account: Account, args: Properties) -> Properties:
    return {"id": account.region, "names": [record.inputs["name"] for record in account.store.all(CLUSTER)]}


@_answers("eks", "getCluster")
def _cluster(account: Account, args: Properties) -> Properties:
    """Blocks are lists of one. A cluster that is not there:
    https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2045"""
    record = account.store.get(CLUSTER, args["name"])
    if record is None:
        raise ProviderError(f"reading EKS Cluster ({args['name']}): couldn't find resource")
    described = account.call("eks", "DescribeCluster", name=args["name"])["cluster"]
    network = described["resourcesVpcConfig"]
    return {
        "id": args["name"],
        **{key: described.get(key) for key in ("arn", "platformVersion", "roleArn", "status", "tags", "version")},
        "endpoint": record.outputs.get("endpoint") or _NOWHERE,
        "certificateAuthorities": [record.outputs.get("certificateAuthority") or {"data": _NOBODYS_CERTIFICATE}],
        "accessConfigs": [record.inputs.get("accessConfig") or {}],
        "computeConfigs": [record.inputs.get("computeConfig") or {"enabled": False}],
        "vpcConfig": {
            **{key: network.get(key) for key in ("clusterSecurityGroupId", "subnetIds", "vpcId")},
            "endpointPrivateAccess": False,
            "publicAccessCidrs": ["0.0.0.0/0"],
            **record.inputs["vpcConfig"],
        },
        "upgradePolicies": [record.inputs.get("upgradePolicy") or _EXTENDED],
    }


@_answers("eks", "getAddonVersion")
def _addon_version(account: Account, args: Properties) -> Properties:
    return {"id": args["addonName"], "version": default_version(args["addonName"], args["kubernetesVersion"])}


@_answers("eks", "getNodeGroups")
def _node_groups(account: Account, args: Properties) -> Properties:
    require_cluster(account, args["clusterName"])
    return {"id": args["clusterName"], "names": [each.inputs["nodeGroupName"] for each in _groups(account, args)]}


@_answers("eks", "getNodeGroup")
def _node_group(account: Account, args: Properties) -> Properties:
    """With the size that EKS last recorded, which an autoscaler's changes are not in."""
    name = args["nodeGroupName"]
    group = next((each for each in _groups(account, args) if each.inputs["nodeGroupName"] == name), None)
    if group is None:
        reason = f"No node group found for name: {name}."
        raise AwsError("eks", "DescribeNodegroup", "ResourceNotFoundException", reason)
    template = group.inputs.get("launchTemplate")
    return {
        "id": group.id,
        **{key: group.inputs.get(key) for key in ("labels", "nodeGroupName", "nodeRoleArn", "subnetIds")},
        **{key: group.outputs[key] for key in ("amiType", "capacityType", "instanceTypes", "resources", "version")},
        "scalingConfigs": [group.inputs["scalingConfig"]],
        "launchTemplates": [template] if template else [],
    }


@_answers("autoscaling", "getGroup")
def get_scaling_group(account: Account, args: Properties) -> Properties:
    """``autoscaling:getGroup``: an Auto Scaling group's sizes."""
    group = scaling_group.describe(account, args["name"])
    return {"id": args["name"], **_picked(group, "availabilityZones", "desiredCapacity", "maxSize", "minSize")}


@_answers("ec2", "getLaunchTemplate")
def _launch_template(account: Account, args: Properties) -> Properties:
    """The security groups of its latest version:
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/ec2_launch_template_data_source.go
    """
    try:
        found = scaling_group.template(account, {**args, "version": "$Latest"})
    except AwsError as error:
        if not not_found(error):
            raise
        raise ProviderError("no matching EC2 Launch Template found") from None
    data = found["LaunchTemplateData"]
    interfaces = [{"securityGroups": each.get("Groups") or []} for each in data.get("NetworkInterfaces") or ()]
    return {"vpcSecurityGroupIds": data.get("SecurityGroupIds") or [], "networkInterfaces": interfaces}


@_answers("ec2", "getVpc")
def _vpc(account: Account, args: Properties) -> Properties:
    vpc = account.call("ec2", "DescribeVpcs", VpcIds=[args["id"]])["Vpcs"][0]
    ranges = [
        {"cidrBlock": each["CidrBlock"], "state": each["CidrBlockState"]["State"]}
        for each in vpc["CidrBlockAssociationSet"]
    ]
    described = {**_picked(vpc, "cidrBlock", "ownerId"), "cidrBlockAssociations": ranges}
    for name in ("enableDnsHostnames", "enableDnsSupport"):
        answer = account.call("ec2", "DescribeVpcAttribute", VpcId=args["id"], Attribute=name)
        described[name] = bool(_picked(answer, name)[name]["Value"])
    return described


@_answers("ec2", "getSubnet")
def _subnet(account: Account, args: Properties) -> Properties:
    described = subnet(account, args["id"])
    keys = ("availabilityZone", "availableIpAddressCount", "cidrBlock", "mapPublicIpOnLaunch", "vpcId")
    return {**_picked(described, *keys), "tags": {tag["Key"]: tag["Value"] for tag in described.get("Tags") or ()}}


@_answers("ec2", "getSubnets")
def _subnets(account: Account, args: Properties) -> Properties:
    """The ids of those that all filters let through."""
    filters = [{"Name": each["name"], "Values": each["values"]} for each in args["filters"]]
    subnets = account.call("ec2", "DescribeSubnets", Filters=filters)["Subnets"]
    return {"id": account.region, "ids": [each["SubnetId"] for each in subnets]}


@_answers("ec2", "getRouteTables")
def _route_tables(account: Account, args: Properties) -> Properties:
    filters = [{"Name": "vpc-id", "Values": [args["vpcId"]]}]
    tables = account.call("ec2", "DescribeRouteTables", Filters=filters)["RouteTables"]
    return {"id": account.region, "ids": [each["RouteTableId"] for each in tables]}


@_answers("ec2", "getRouteTable")
def _route_table(account: Account, args: Properties) -> Properties:
    """A table's routes, with empty texts for what they do not lead to, and whose they are."""
    (table,) = account.call("ec2", "DescribeRouteTables", RouteTableIds=[args["routeTableId"]])["RouteTables"]
    routes = [
        {"cidrBlock": each.get("DestinationCidrBlock") or "", **_picked(each, *ROUTE_TARGETS, default="")}
        for each in table["Routes"]
    ]
    associations = [{"main": each["Main"], "subnetId": each.get("SubnetId") or ""} for each in table["Associations"]]
    return {"id": table["RouteTableId"], "routes": routes, "associations": associations}


@_answers("cloudwatch", "getLogGroups")
def _log_groups(account: Account, args: Properties) -> Properties:
    """The names that begin with a prefix."""
    answer = account.call("logs", "DescribeLogGroups", logGroupNamePrefix=args.get("logGroupNamePrefix"))["logGroups"]
    return {"id": account.region, "logGroupNames": [group["logGroupName"] for group in answer]}


def _picked(answer: Mapping[str, Any], *keys: str, default: Any = None) -> Properties:
    """AWS's fields by the provider's names."""
    return {key: answer.get(key[0].upper() + key[1:], default) for key in keys}


def _groups(account: Account, args: Properties) -> list[Record]:
    return [each for each in account.store.all(NODE_GROUP) if each.inputs["clusterName"] == args["clusterName"]]
