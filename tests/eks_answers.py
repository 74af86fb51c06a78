"""What Amazon's provider would answer, with just enough for other resources to refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

ACCOUNT: Final = "123456789012"

# A company's network: private subnets in three zones, out by a NAT gateway, and public ones in two.
VPC: Final[dict[str, Any]] = {
    "cidrBlock": "10.20.0.0/16",
    "cidrBlockAssociations": [{"cidrBlock": "10.20.0.0/16", "state": "associated"}],
    "enableDnsHostnames": True,
    "enableDnsSupport": True,
}
SUBNETS: Final[dict[str, dict[str, Any]]] = {
    f"subnet-0000000{letter}": {
        "availabilityZone": f"us-west-2{letter}",
        "availableIpAddressCount": 8187,
        "cidrBlock": f"10.20.{32 * number}.0/19",
        "tags": {"kubernetes.io/role/internal-elb": "1"},
        "vpcId": "vpc-0000000a",
    }
    for number, letter in enumerate("abc")
}
# The same in the VPC of examples/eks-company.yaml.
COMPANYS: Final[dict[str, dict[str, Any]]] = {
    f"subnet-0a1b2c3d4e5f6000{letter}": {**SUBNETS[f"subnet-0000000{letter}"], "vpcId": "vpc-0a1b2c3d4e5f60718"}
    for letter in "abc"
}
PUBLIC_SUBNETS: Final[dict[str, dict[str, Any]]] = {
    f"subnet-0000001{letter}": {"availabilityZone": f"us-west-2{letter}"} for letter in "ab"
}
OUT: Final = {"cidrBlock": "0.0.0.0/0", "gatewayId": "", "natGatewayId": "nat-0000000a"}
ROUTE_TABLES: Final[dict[str, dict[str, Any]]] = {
    "rtb-0000000a": {"associations": [{"main": True, "subnetId": ""}], "routes": [OUT]},
    "rtb-0000000b": {
        "associations": [{"main": False, "subnetId": each} for each in PUBLIC_SUBNETS],
        "routes": [{"cidrBlock": "0.0.0.0/0", "gatewayId": "igw-0000000a", "natGatewayId": ""}],
    },
}

CLUSTER: Final[dict[str, Any]] = {
    "version": "1.34",
    "vpcConfig": {"subnetIds": list(SUBNETS)},
    "upgradePolicies": [{"supportType": "STANDARD"}],
}

# As `aws eks describe-cluster` describes one of terraform-aws-eks, in the spelling of the provider's function; of
# clusters.json of the recordings, but for names and addresses.
RESEARCH: Final[dict[str, Any]] = {
    "name": "research",
    "arn": f"arn:aws:eks:us-west-2:{ACCOUNT}:cluster/research",
    "endpoint": "https://0123456789ABCDEF.gr7.us-west-2.eks.amazonaws.com",
    "certificateAuthorities": [{"data": "Q0E="}],
    "version": "1.34",
    "status": "ACTIVE",
    "accessConfigs": [{"authenticationMode": "API_AND_CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": True}],
    "computeConfigs": [{"enabled": False, "nodePools": [], "nodeRoleArn": ""}],
    "vpcConfig": {
        "vpcId": "vpc-0000000a",
        "subnetIds": list(SUBNETS),
        "clusterSecurityGroupId": "sg-0000000a",
        "endpointPrivateAccess": True,
        "endpointPublicAccess": True,
        "publicAccessCidrs": ["198.51.100.0/24"],
        "securityGroupIds": [],
    },
    "upgradePolicies": [{"supportType": "STANDARD"}],
}
CLASSES: Final = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/kube-system/deployments"
# https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/examples/v1/general-purpose.yaml, with what companies add;
# its status as https://karpenter.sh/v1.14/concepts/nodeclasses/ has it.
TAGGED: Final = [{"tags": {"karpenter.sh/discovery": "research"}}]
DEFAULT: Final[dict[str, Any]] = {
    "spec": {
        "role": "KarpenterNodeRole-research",
        "subnetSelectorTerms": TAGGED,
        "securityGroupSelectorTerms": TAGGED,
        "amiSelectorTerms": [{"alias": "al2023@v20250807"}],
        "kubelet": {"maxPods": 58},
        "tags": {"cost-center": "42"},
        "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 2, "httpProtocolIPv6": "enabled"},
        "blockDeviceMappings": [
            {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi", "encrypted": True, "kmsKeyID": "alias/company"}}
        ],
    },
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "subnets": [{"id": f"subnet-0000000{each}", "zone": f"us-west-2{each}"} for each in "ab"],
    },
}
GENERAL: Final[dict[str, Any]] = {
    "spec": {
        "template": {
            "spec": {
                "requirements": [
                    {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
                    {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["2"]},
                ]
            }
        }
    }
}
CONTROLLER: Final = "public.ecr.aws/karpenter/controller:1.14.1"


def deployment(image: str, *variables: str, **spec: Any) -> dict[str, Any]:
    container = {"image": image, "env": [{"name": each, "value": "x"} for each in variables]}
    return {"spec": {**spec, "template": {"spec": {"containers": [container]}}}}


def _named(path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {path: {"metadata": {"name": path.rpartition("/")[2], "uid": "theirs"}, **fields}}


OTHER: Final = {**DEFAULT, "spec": {**DEFAULT["spec"], "role": "another"}}
KARPENTER: Final[dict[str, Any]] = {
    "/apis/karpenter.sh": {"versions": [{"version": "v1"}]},
    "/apis/karpenter.k8s.aws": {"versions": [{"version": "v1"}]},
    **_named(f"{CLASSES}/default", DEFAULT),
    **_named(f"{CLASSES}/other", OTHER),
    **_named("/apis/karpenter.sh/v1/nodepools/general", GENERAL),
    **_named(f"{DEPLOYMENTS}/karpenter", deployment(CONTROLLER, "INTERRUPTION_QUEUE")),
    **_named("/api/v1/nodes/ip-10-20-0-9", {"spec": {}, "status": {"capacity": {"cpu": "4"}}}),
}
"""What the API server of such a cluster has, by path."""
# As terraform-aws-eks makes a managed node group: a template of its own, with the group of the nodes.
SYSTEM: Final[dict[str, Any]] = {
    "nodeGroupName": "system",
    "nodeRoleArn": f"arn:aws:iam::{ACCOUNT}:role/platform-nodes",
    "subnetIds": ["subnet-0000000a", "subnet-0000000b"],
    "labels": {},
    "launchTemplates": [{"id": "lt-0000000a", "name": "system", "version": "1"}],
}
NODE_GROUPS: Final[dict[str, dict[str, Any]]] = {"system": SYSTEM}
TEMPLATES: Final[dict[str, dict[str, Any]]] = {"lt-0000000a": {"vpcSecurityGroupIds": ["sg-0000000b"]}}
SCALING: Final[dict[str, Any]] = {"desiredCapacity": 0, "availabilityZones": ["us-west-2a"]}
"""Those of such a cluster, and the Auto Scaling groups behind them; a test may have others."""
DISCOVERY: Final = "k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/research"


def autoscaler(*flags: str, discovery: str | None = DISCOVERY, tag: str = "v1.34.1", **spec: Any) -> dict[str, Any]:
    """The Deployment of https://github.com/kubernetes/autoscaler/blob/master/charts/cluster-autoscaler, as far as it
    is looked at."""
    found = [] if discovery is None else [f"--node-group-auto-discovery=asg:tag={discovery}"]
    command = ["./cluster-autoscaler", "--cloud-provider=aws", "--namespace=kube-system", *found, *flags]
    container = {"image": f"registry.k8s.io/autoscaling/cluster-autoscaler:{tag}", "command": command}
    return {"spec": {**spec, "template": {"spec": {"containers": [container]}}}}


AUTOSCALER: Final[dict[str, Any]] = {
    **_named(f"{DEPLOYMENTS}/cluster-autoscaler", autoscaler()),
    **_named("/api/v1/nodes/ip-10-20-0-9", {"spec": {}, "status": {"capacity": {"cpu": "4"}}}),
}
"""What the API server of a cluster with cluster-autoscaler has, by path."""
CLUSTERS: Final[dict[str, dict[str, Any]]] = {
    "research": RESEARCH,
    "another": {**RESEARCH, "arn": f"{RESEARCH['arn']}-2"},
}
"""The clusters of others by name; a test may have others."""


def _cluster(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A cluster of others, or the stack's own; the provider's error for one that is ``missing``:
    https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2045"""
    if asked["name"] == "missing":
        raise LookupError("reading EKS Cluster (missing): couldn't find resource")
    return CLUSTERS.get(asked["name"], CLUSTER)


def _template(asked: Mapping[str, Any]) -> dict[str, Any]:
    """One by its id or name, or the provider's error:
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/tfresource/not_found_error.go"""
    known = next((TEMPLATES[asked[key]] for key in ("id", "name") if asked.get(key) in TEMPLATES), None)
    if known is None:
        raise LookupError("no matching EC2 Launch Template found")
    return {**asked, **known}


def _subnet(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {**asked, **{**SUBNETS, **COMPANYS, **PUBLIC_SUBNETS}[asked["id"]]}


CALLS: Final[dict[str, dict[str, Any] | Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    # An account without clusters, and without their logs.
    "aws:cloudwatch/getLogGroups:getLogGroups": {"logGroupNames": []},
    "aws:ec2/getRouteTable:getRouteTable": lambda asked: {**asked, **ROUTE_TABLES[asked["routeTableId"]]},
    "aws:ec2/getRouteTables:getRouteTables": lambda asked: {"ids": list(ROUTE_TABLES)},
    "aws:ec2/getSubnet:getSubnet": _subnet,
    "aws:ec2/getSubnets:getSubnets": lambda asked: {"ids": list(PUBLIC_SUBNETS)},
    "aws:ec2/getVpc:getVpc": lambda asked: {**asked, **VPC},
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:efs/getFileSystem:getFileSystem": {"fileSystemId": "fs-0123456789abcdef0"},
    "aws:autoscaling/getGroup:getGroup": lambda asked: {**asked, **SCALING},
    "aws:ec2/getLaunchTemplate:getLaunchTemplate": _template,
    "aws:eks/getClusters:getClusters": {"names": []},
    "aws:eks/getNodeGroup:getNodeGroup": lambda asked: {**asked, **NODE_GROUPS[asked["nodeGroupName"]]},
    "aws:eks/getNodeGroups:getNodeGroups": lambda asked: {"names": [*NODE_GROUPS]},
    "aws:eks/getAddonVersion:getAddonVersion": lambda asked: {
        "version": {
            "coredns": "v1.13.2-eksbuild.4",
            "kube-proxy": f"v{asked['kubernetesVersion']}.7-eksbuild.1",
        }[asked["addonName"]]
    },
    "aws:index/getCallerIdentity:getCallerIdentity": {"accountId": ACCOUNT, "arn": f"arn:aws:iam::{ACCOUNT}:user/me"},
    "aws:index/getPartition:getPartition": {"partition": "aws"},
}


def outputs(type_token: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """The properties that the provider computes, of resources whose properties the program reads."""
    called = inputs.get("name", name)
    if type_token == "aws:eks/cluster:Cluster":
        network = {**inputs["vpcConfig"], "clusterSecurityGroupId": "sg-of-the-cluster"}
        state = {"endpoint": "https://control-plane.example", "certificateAuthority": {"data": "Q0E="}}
        issuer = [{"oidcs": [{"issuer": "https://oidc.example/id"}]}]
        return {**state, "vpcConfig": network, "identities": issuer}
    if type_token == "aws:eks/nodeGroup:NodeGroup":
        group = f"eks-{inputs['nodeGroupName']}-0c5b2e4a-1f0d-4c7e-9a51-3d2f6b8e7a90"
        return {"resources": [{"autoscalingGroups": [{"name": group}]}]}
    if type_token == "aws:ec2/launchTemplate:LaunchTemplate":
        return {"latestVersion": 1}
    if type_token == "aws:iam/role:Role":
        return {"arn": f"arn:aws:iam::{ACCOUNT}:role{inputs.get('path', '/')}{called}"}
    if type_token == "aws:kms/key:Key":
        return {"arn": f"arn:aws:kms:us-west-2:{ACCOUNT}:key/{name}", "keyId": name}
    if type_token == "aws:ecr/repository:Repository":
        return {"repositoryUrl": f"{ACCOUNT}.dkr.ecr.us-west-2.amazonaws.com/{called}"}
    if type_token == "aws:s3/bucket:Bucket":
        return {"arn": f"arn:aws:s3:::{inputs['bucket']}"}
    if type_token == "aws:efs/fileSystem:FileSystem":
        return {"arn": f"arn:aws:elasticfilesystem:us-west-2:{ACCOUNT}:file-system/{name}-id"}
    if type_token == "aws:sqs/queue:Queue":
        return {"arn": f"arn:aws:sqs:us-west-2:{ACCOUNT}:{called}", "url": f"https://sqs.example/{called}"}
    return {}
