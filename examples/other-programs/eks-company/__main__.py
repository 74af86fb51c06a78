"""An EKS cluster of a platform team: a managed node group, Karpenter with node pools of theirs, or cluster-autoscaler
with node groups, and the company's workloads.

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
scaler = config.get("autoscaler") or "karpenter"
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


def node_group(group: str, machine: str, kind: str, sizes: tuple[int, int], **more: Any) -> aws.eks.NodeGroup:
    """A managed node group; sizes are the fewest and the most nodes."""
    least, most = sizes
    return aws.eks.NodeGroup(
        group,
        cluster_name=cluster.name,
        node_group_name=group,
        node_role_arn=node_role.arn,
        subnet_ids=subnets,
        instance_types=[machine],
        ami_type=f"AL2023_x86_64_{kind}",
        scaling_config={"min_size": least, "max_size": most, "desired_size": least},
        opts=pulumi.ResourceOptions(depends_on=[*node_policies, network], ignore_changes=["scalingConfig.desiredSize"]),
        **more,
    )


nodes: dict[str, Any] = {}
if scaler == "cluster-autoscaler":
    # As terraform-aws-eks has it: nodes are in their own security group, by a launch template.
    template = aws.ec2.LaunchTemplate(
        "nodes",
        vpc_security_group_ids=[nodes_group.id],
        metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 2},
    )
    nodes = {"launch_template": {"id": template.id, "version": template.latest_version.apply(str)}}
system = node_group("system", "m6i.xlarge", "STANDARD", (2, 3), **nodes)
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

caller = aws.get_caller_identity()


def rights(file: str, **values: Any) -> str:
    """A policy of the controller, in this account, region and cluster."""
    text = string.Template((HERE / file).read_text())
    place = {"account": caller.account_id, "region": aws.config.region, "cluster": name}
    return json.dumps({"Version": "2012-10-17", "Statement": yaml.safe_load(text.substitute(place, **values))})


def identity(account: str, policy: pulumi.Input[str]) -> list[pulumi.Resource]:
    """The role of a service account of kube-system, with a policy."""
    own, _ = role(account, "pods.eks.amazonaws.com", action=["sts:AssumeRole", "sts:TagSession"])
    return [
        aws.iam.RolePolicy(account, role=own.name, policy=policy),
        aws.eks.PodIdentityAssociation(
            account,
            cluster_name=cluster.name,
            namespace="kube-system",
            service_account=account,
            role_arn=own.arn,
        ),
    ]


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


def karpenter() -> pulumi.Resource:
    """Karpenter: https://karpenter.sh/docs/getting-started/."""
    machines, policies = role("karpenter-nodes", "ec2.amazonaws.com", *WORKER_POLICIES)
    entry = aws.eks.AccessEntry(
        "karpenter-nodes", cluster_name=cluster.name, principal_arn=machines.arn, type="EC2_LINUX"
    )
    own = identity("karpenter", machines.name.apply(lambda nodes: rights("karpenter-policy.yaml", nodes=nodes)))
    charts, version = "oci://public.ecr.aws/karpenter", "1.14.1"
    kinds = k8s.helm.v3.Release(
        "karpenter-crd",
        chart=f"{charts}/karpenter-crd",
        name="karpenter-crd",
        version=version,
        namespace="kube-system",
        opts=pulumi.ResourceOptions(provider=provider),
    )
    values: dict[str, Any] = {
        "replicas": 1,
        "settings": {"clusterName": name, "clusterEndpoint": cluster.endpoint},
        "controller": {"resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}},
    }
    return k8s.helm.v3.Release(
        "karpenter",
        chart=f"{charts}/karpenter",
        name="karpenter",
        version=version,
        namespace="kube-system",
        skip_crds=True,
        values=values,
        opts=pulumi.ResourceOptions(provider=provider, depends_on=[kinds, entry, *own, *policies]),
    )


def cluster_autoscaler() -> pulumi.Resource:
    """cluster-autoscaler, which discovers the node groups, and a group with GPUs of the company's own."""
    taint = {"key": "company.example/inference", "effect": "NO_SCHEDULE"}
    labels = {"company.example/tier": "inference", "k8s.amazonaws.com/accelerator": "nvidia-l4"}
    gpus = node_group("inference", "g6.2xlarge", "NVIDIA", (0, 2), labels=labels, taints=[taint], **nodes)
    scaling_group = gpus.resources.apply(lambda resources: resources[0]["autoscaling_groups"][0]["name"])
    tags = {
        "label/company.example/tier": "inference",
        "label/k8s.amazonaws.com/accelerator": "nvidia-l4",
        "taint/company.example/inference": ":NoSchedule",
        "resources/nvidia.com/gpu": "1",
    }
    for key, value in tags.items():
        tag = {"key": f"k8s.io/cluster-autoscaler/node-template/{key}", "value": value, "propagate_at_launch": False}
        aws.autoscaling.Tag(f"inference-{key}", autoscaling_group_name=scaling_group, tag=tag)
    own = identity("cluster-autoscaler", rights("cluster-autoscaler-policy.yaml"))
    text = string.Template((HERE / "cluster-autoscaler.yaml").read_text())
    return k8s.yaml.ConfigGroup(
        "cluster-autoscaler",
        yaml=[text.substitute(cluster=name, region=aws.config.region)],
        opts=pulumi.ResourceOptions(provider=provider, depends_on=own),
    )


def custom(manifest: dict[str, Any]) -> k8s.apiextensions.CustomResource:
    """An object of one of the controller's kinds."""
    name, keys = manifest["metadata"]["name"], {key: each for key, each in manifest.items() if key != "apiVersion"}
    return k8s.apiextensions.CustomResource(name, api_version=manifest["apiVersion"], opts=in_cluster, **keys)


controller = karpenter() if scaler == "karpenter" else cluster_autoscaler()
in_cluster = pulumi.ResourceOptions(provider=provider, depends_on=[controller])
works = config.get("workloads") != "none"
if works:
    k8s.yaml.ConfigFile("company", str(HERE / "company.yaml"), opts=in_cluster)
if scaler == "karpenter":
    node_class, *node_pools = yaml.safe_load_all((HERE / "karpenter.yaml").read_text())
    node_class = custom(node_class)
    for each in node_pools if works else ():
        custom(each)
pulumi.export("cluster", cluster.name)
