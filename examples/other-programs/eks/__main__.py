"""An EKS cluster of plain resources: managed node groups, cluster-autoscaler and NVIDIA's device plugin."""

import json
from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

config = pulumi.Config()
NAME = "ml"
ZONES = aws.get_availability_zones(state="available").names[:2]
AUTOSCALER = "k8s.io/cluster-autoscaler"
GPU_TAINT = "nvidia.com/gpu"
AWS_POLICIES = "arn:aws:iam::aws:policy"


def role(
    name: str, principal: str, *policies: str, action: str | Sequence[str] = "sts:AssumeRole"
) -> tuple[aws.iam.Role, list[aws.iam.RolePolicyAttachment]]:
    """A role for an AWS service, with AWS's own policies."""
    statement = {"Effect": "Allow", "Principal": {"Service": principal}, "Action": action}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    made = aws.iam.Role(name, assume_role_policy=document)
    attached = [
        aws.iam.RolePolicyAttachment(f"{name}-{policy}", role=made.name, policy_arn=f"{AWS_POLICIES}/{policy}")
        for policy in policies
    ]
    return made, attached


def route(name: str, target: str, id: pulumi.Input[str]) -> aws.ec2.RouteTable:
    """A route table with one way out."""
    return aws.ec2.RouteTable(name, vpc_id=vpc.id, routes=[{"cidr_block": "0.0.0.0/0", target: id}])


vpc = aws.ec2.Vpc(NAME, cidr_block="10.20.0.0/16", enable_dns_hostnames=True, enable_dns_support=True)
gateway = aws.ec2.InternetGateway(NAME, vpc_id=vpc.id)
public_routes = route("public", "gateway_id", gateway.id)
public, private = [], []
for index, zone in enumerate(ZONES):
    public.append(
        aws.ec2.Subnet(f"public-{index}", vpc_id=vpc.id, availability_zone=zone, cidr_block=f"10.20.{index}.0/24")
    )
    aws.ec2.RouteTableAssociation(f"public-{index}", subnet_id=public[-1].id, route_table_id=public_routes.id)
address = aws.ec2.Eip("nat", domain="vpc")
nat = aws.ec2.NatGateway(
    "nat", subnet_id=public[0].id, allocation_id=address.id, opts=pulumi.ResourceOptions(depends_on=[gateway])
)
private_routes = route("private", "nat_gateway_id", nat.id)
for index, zone in enumerate(ZONES):
    private.append(
        aws.ec2.Subnet(
            f"private-{index}", vpc_id=vpc.id, availability_zone=zone, cidr_block=f"10.20.{16 + index * 16}.0/20"
        )
    )
    aws.ec2.RouteTableAssociation(f"private-{index}", subnet_id=private[-1].id, route_table_id=private_routes.id)

cluster_role, cluster_policies = role("cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
key = aws.kms.Key("secrets", enable_key_rotation=True)
cluster = aws.eks.Cluster(
    NAME,
    name=NAME,
    role_arn=cluster_role.arn,
    vpc_config={
        "subnet_ids": [subnet.id for subnet in private],
        "endpoint_private_access": True,
        "endpoint_public_access": True,
        "public_access_cidrs": [config.require("office")],
    },
    encryption_config={"provider": {"key_arn": key.arn}, "resources": ["secrets"]},
    access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": True},
    opts=pulumi.ResourceOptions(depends_on=cluster_policies),
)

node_role, node_policies = role(
    "node",
    "ec2.amazonaws.com",
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryReadOnly",
)
template = aws.ec2.LaunchTemplate(
    "nodes",
    block_device_mappings=[
        {"device_name": "/dev/xvda", "ebs": {"volume_size": 100, "volume_type": "gp3", "encrypted": "true"}}
    ],
    metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
)


def node_group(
    name: str, instance_type: str, ami_type: str, sizes: tuple[int, int], label: str, taints: Sequence[Any] = ()
) -> aws.eks.NodeGroup:
    """A managed node group; sizes are the fewest and the most nodes."""
    least, most = sizes
    return aws.eks.NodeGroup(
        name,
        cluster_name=cluster.name,
        node_role_arn=node_role.arn,
        subnet_ids=[subnet.id for subnet in private],
        instance_types=[instance_type],
        ami_type=ami_type,
        labels={"role": label},
        taints=taints,
        scaling_config={"min_size": least, "max_size": most, "desired_size": least},
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        opts=pulumi.ResourceOptions(depends_on=[*node_policies, network], ignore_changes=["scalingConfig.desiredSize"]),
    )


network = aws.eks.Addon("vpc-cni", cluster_name=cluster.name, addon_name="vpc-cni")
system = node_group("system", "m6i.large", "AL2023_x86_64_STANDARD", (2, 2), "system")
for name in ("coredns", "kube-proxy", "eks-pod-identity-agent"):
    aws.eks.Addon(name, cluster_name=cluster.name, addon_name=name, opts=pulumi.ResourceOptions(depends_on=[system]))

taint = {"key": GPU_TAINT, "value": "present", "effect": "NO_SCHEDULE"}
gpu = node_group("a10g", "g5.xlarge", "AL2023_x86_64_NVIDIA", (0, 4), "gpu", [taint])
group = gpu.resources.apply(lambda resources: resources[0]["autoscaling_groups"][0]["name"])
for tag, value in {
    f"{AUTOSCALER}/node-template/label/role": "gpu",
    f"{AUTOSCALER}/node-template/taint/{GPU_TAINT}": "present:NoSchedule",
    f"{AUTOSCALER}/node-template/resources/{GPU_TAINT}": "1",
}.items():
    aws.autoscaling.Tag(
        f"a10g-{tag.rpartition('/')[2]}-{tag.split('/')[3]}",
        autoscaling_group_name=group,
        tag={"key": tag, "value": value, "propagate_at_launch": False},
    )

scaler_role, _ = role("autoscaler", "pods.eks.amazonaws.com", action=["sts:AssumeRole", "sts:TagSession"])
statements = [
    {
        "Effect": "Allow",
        "Action": [
            "autoscaling:DescribeAutoScalingGroups",
            "autoscaling:DescribeAutoScalingInstances",
            "autoscaling:DescribeLaunchConfigurations",
            "autoscaling:DescribeScalingActivities",
            "ec2:DescribeImages",
            "ec2:DescribeInstanceTypes",
            "ec2:DescribeLaunchTemplateVersions",
            "ec2:GetInstanceTypesFromInstanceRequirements",
            "eks:DescribeNodegroup",
        ],
        "Resource": "*",
    },
    {
        "Effect": "Allow",
        "Action": ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
        "Resource": "*",
        "Condition": {"StringEquals": {f"aws:ResourceTag/{AUTOSCALER}/{NAME}": "owned"}},
    },
]
policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
scaler_policy = aws.iam.RolePolicy("autoscaler", role=scaler_role.name, policy=policy)
identity = aws.eks.PodIdentityAssociation(
    "autoscaler",
    cluster_name=cluster.name,
    namespace="kube-system",
    service_account="cluster-autoscaler",
    role_arn=scaler_role.arn,
)


def kubeconfig(values: Sequence[Any]) -> str:
    """As `aws eks update-kubeconfig` writes it."""
    endpoint, authority, region = values
    arguments = ["eks", "get-token", "--cluster-name", NAME, "--region", region, "--output", "json"]
    login = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": arguments}
    server = {"server": endpoint, "certificate-authority-data": authority["data"]}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": NAME,
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
            "clusters": [{"name": NAME, "cluster": server}],
            "users": [{"name": NAME, "user": {"exec": login}}],
        }
    )


access = pulumi.Output.all(cluster.endpoint, cluster.certificate_authority, aws.config.region).apply(kubeconfig)
provider = k8s.Provider("eks", kubeconfig=access, opts=pulumi.ResourceOptions(depends_on=[system]))
k8s.yaml.ConfigFile(
    "in-cluster",
    "autoscaler.yaml",
    opts=pulumi.ResourceOptions(provider=provider, depends_on=[identity, scaler_policy]),
)

pulumi.export("cluster", cluster.name)
pulumi.export("kubeconfig", pulumi.Output.secret(access))
