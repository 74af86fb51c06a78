"""An EKS cluster of a platform team: a managed node group, Karpenter with node pools of theirs, and the company's
workloads.

It knows nothing of this project.
"""

import json
import pathlib
import string
from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s
import yaml

config = pulumi.Config()
name, zones = config.require("name"), config.require_object("zones")
DISCOVERY = {"karpenter.sh/discovery": "platform"}
AWS_POLICIES = "arn:aws:iam::aws:policy"
HERE = pathlib.Path(__file__).parent


def role(
    name: str, principal: str, *policies: str, action: str | Sequence[str] = "sts:AssumeRole"
) -> tuple[aws.iam.Role, list[aws.iam.RolePolicyAttachment]]:
    """A role for an AWS service, with AWS's own policies."""
    statement = {"Effect": "Allow", "Principal": {"Service": principal}, "Action": action}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    made = aws.iam.Role(name, name=f"platform-{name}", assume_role_policy=document)
    attached = [
        aws.iam.RolePolicyAttachment(f"{name}-{policy}", role=made.name, policy_arn=f"{AWS_POLICIES}/{policy}")
        for policy in policies
    ]
    return made, attached


def route(name: str, target: str, id: pulumi.Input[str]) -> aws.ec2.RouteTable:
    """A route table with one way out."""
    return aws.ec2.RouteTable(name, vpc_id=vpc.id, routes=[{"cidr_block": "0.0.0.0/0", target: id}])


vpc = aws.ec2.Vpc("company", cidr_block="10.60.0.0/16", enable_dns_hostnames=True, enable_dns_support=True)
gateway = aws.ec2.InternetGateway("company", vpc_id=vpc.id)
public_routes = route("public", "gateway_id", gateway.id)
public, private = [], []
for index, zone in enumerate(zones):
    public.append(
        aws.ec2.Subnet(f"public-{index}", vpc_id=vpc.id, availability_zone=zone, cidr_block=f"10.60.{index}.0/24")
    )
    aws.ec2.RouteTableAssociation(f"public-{index}", subnet_id=public[-1].id, route_table_id=public_routes.id)
address = aws.ec2.Eip("nat", domain="vpc")
nat = aws.ec2.NatGateway(
    "nat", subnet_id=public[0].id, allocation_id=address.id, opts=pulumi.ResourceOptions(depends_on=[gateway])
)
private_routes = route("private", "nat_gateway_id", nat.id)
for index, zone in enumerate(zones):
    block = f"10.60.{32 + index * 32}.0/19"
    private.append(
        aws.ec2.Subnet(f"private-{index}", vpc_id=vpc.id, availability_zone=zone, cidr_block=block, tags=DISCOVERY)
    )
    aws.ec2.RouteTableAssociation(f"private-{index}", subnet_id=private[-1].id, route_table_id=private_routes.id)
subnets = [subnet.id for subnet in private]

# As terraform-aws-eks has it: a group of the nodes' own, which the control plane admits.
nodes_group = aws.ec2.SecurityGroup(
    "nodes",
    vpc_id=vpc.id,
    ingress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "cidr_blocks": ["10.60.0.0/16"]}],
    egress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "cidr_blocks": ["0.0.0.0/0"]}],
    tags=DISCOVERY,
)
control_plane_group = aws.ec2.SecurityGroup(
    "control-plane",
    vpc_id=vpc.id,
    ingress=[{"protocol": "tcp", "from_port": 443, "to_port": 443, "security_groups": [nodes_group.id]}],
)
key = aws.kms.Key("secrets", enable_key_rotation=True)
cluster_role, cluster_policies = role("cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
cluster = aws.eks.Cluster(
    "company",
    name=name,
    version="1.34",
    role_arn=cluster_role.arn,
    vpc_config={
        "subnet_ids": subnets,
        "security_group_ids": [control_plane_group.id],
        "endpoint_private_access": True,
        "endpoint_public_access": True,
        "public_access_cidrs": ["203.0.113.0/24"],
    },
    encryption_config={"provider": {"key_arn": key.arn}, "resources": ["secrets"]},
    access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": True},
    tags={"team": "platform"},
    opts=pulumi.ResourceOptions(depends_on=cluster_policies),
)

WORKER_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly")
node_role, node_policies = role("nodes", "ec2.amazonaws.com", *WORKER_POLICIES)
network = aws.eks.Addon("vpc-cni", cluster_name=cluster.name, addon_name="vpc-cni")
system = aws.eks.NodeGroup(
    "system",
    cluster_name=cluster.name,
    node_role_arn=node_role.arn,
    subnet_ids=subnets,
    instance_types=["m6i.xlarge"],
    ami_type="AL2023_x86_64_STANDARD",
    scaling_config={"min_size": 2, "max_size": 3, "desired_size": 2},
    opts=pulumi.ResourceOptions(depends_on=[*node_policies, network]),
)
for each in ("coredns", "kube-proxy", "eks-pod-identity-agent"):
    aws.eks.Addon(each, cluster_name=cluster.name, addon_name=each, opts=pulumi.ResourceOptions(depends_on=[system]))
disks_role, disks_policies = role(
    "disks",
    "pods.eks.amazonaws.com",
    "service-role/AmazonEBSCSIDriverPolicy",
    action=["sts:AssumeRole", "sts:TagSession"],
)
aws.eks.Addon(
    "disks",
    cluster_name=cluster.name,
    addon_name="aws-ebs-csi-driver",
    pod_identity_associations=[{"role_arn": disks_role.arn, "service_account": "ebs-csi-controller-sa"}],
    opts=pulumi.ResourceOptions(depends_on=[system, *disks_policies]),
)

# Karpenter: https://karpenter.sh/docs/getting-started/
karpenter_nodes, karpenter_policies = role("karpenter-nodes", "ec2.amazonaws.com", *WORKER_POLICIES)
entry = aws.eks.AccessEntry(
    "karpenter-nodes", cluster_name=cluster.name, principal_arn=karpenter_nodes.arn, type="EC2_LINUX"
)
karpenter_role, _ = role("karpenter", "pods.eks.amazonaws.com", action=["sts:AssumeRole", "sts:TagSession"])
caller = aws.get_caller_identity()


def policy(nodes: str) -> str:
    """The controller's rights, in this account and region."""
    text = string.Template((HERE / "karpenter-policy.yaml").read_text())
    values = {"account": caller.account_id, "region": aws.config.region, "cluster": name, "nodes": nodes}
    return json.dumps({"Version": "2012-10-17", "Statement": yaml.safe_load(text.substitute(values))})


rights = aws.iam.RolePolicy("karpenter", role=karpenter_role.name, policy=karpenter_nodes.name.apply(policy))
identity = aws.eks.PodIdentityAssociation(
    "karpenter",
    cluster_name=cluster.name,
    namespace="kube-system",
    service_account="karpenter",
    role_arn=karpenter_role.arn,
)


def kubeconfig(values: Sequence[Any]) -> str:
    """As `aws eks update-kubeconfig` writes it."""
    endpoint, authority = values
    arguments = ["eks", "get-token", "--cluster-name", name, "--region", aws.config.region, "--output", "json"]
    login = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws", "args": arguments}
    server = {"server": endpoint, "certificate-authority-data": authority["data"]}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": server}],
            "users": [{"name": name, "user": {"exec": login}}],
        }
    )


access = pulumi.Output.all(cluster.endpoint, cluster.certificate_authority).apply(kubeconfig)
provider = k8s.Provider("company", kubeconfig=access, opts=pulumi.ResourceOptions(depends_on=[system]))
CHARTS, VERSION = "oci://public.ecr.aws/karpenter", "1.14.1"
kinds = k8s.helm.v3.Release(
    "karpenter-crd",
    chart=f"{CHARTS}/karpenter-crd",
    name="karpenter-crd",
    version=VERSION,
    namespace="kube-system",
    opts=pulumi.ResourceOptions(provider=provider),
)
karpenter = k8s.helm.v3.Release(
    "karpenter",
    chart=f"{CHARTS}/karpenter",
    name="karpenter",
    version=VERSION,
    namespace="kube-system",
    skip_crds=True,
    values={
        "replicas": 1,
        "settings": {"clusterName": name, "clusterEndpoint": cluster.endpoint},
        "controller": {"resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}},
    },
    opts=pulumi.ResourceOptions(provider=provider, depends_on=[kinds, identity, rights, entry, *karpenter_policies]),
)
k8s.yaml.ConfigFile(
    "company",
    str(HERE / "company.yaml"),
    opts=pulumi.ResourceOptions(provider=provider, depends_on=[karpenter]),
)
pulumi.export("cluster", cluster.name)
