"""Amazon Elastic Kubernetes Service in the catalogue. Its tables in ``data`` say where they come from."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from facts.catalog.account import CloudAccount, CredentialPlugin
from facts.catalog.choices import Choices
from facts.catalog.cloud import CloudCatalog
from facts.catalog.eks import node_tags
from facts.catalog.eks.nodes import ADDRESSES_PER_PREFIX, allocatable, disk_mib, most_memory_mib
from facts.catalog.eks.quotas import quotas
from facts.catalog.labels import Labels
from facts.catalog.machines import Machines
from facts.catalog.model import Price
from facts.catalog.nodes import CloudNodes, system_pods
from facts.catalog.prices import Prices, fees
from facts.catalog.raw import raw_inputs
from facts.catalog.tags import RegistryName, TagGrammar
from facts.concepts.parts import Fabric

_FEES: Final = fees("eks")


def nat_price(nodes: int, gateways: int) -> Price:
    """NAT gateways with one address each in us-east-1, without traffic, however many ``nodes`` use them."""
    gateway = _FEES["nat gateway"]
    return replace(gateway, usd=gateways * (gateway.usd + _FEES["address"].usd))


# https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html, the same in
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions; all letters are letters.
# The program names machines and networks, and clusters and their controllers know theirs by tags.
_TAGS: Final = TagGrammar(
    key=re.compile(r"[\w .:/=+@-]{1,128}"),
    value=re.compile(r"[\w .:/=+@-]{0,256}"),
    allowed="letters, digits, spaces and . : / = + - _ @, at most 128 (a value: 256)",
    # 50 a resource, of which machines and networks need one for their name, and controllers some of their own.
    most=40,
    reserved=("aws:", "eks:", "kubernetes.io/", "k8s.io/", "karpenter.", "ebs.csi.aws.com/", "elbv2.k8s.aws/"),
    own=frozenset({"name"}),
    # https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
    discovery=re.compile(r"k8s\.io/cluster-autoscaler/[\w.-]+"),
)

CATALOG: Final = CloudCatalog(
    name="eks",
    account=CloudAccount(
        key="aws:region",
        example="us-west-2",
        form=re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+"),
        credential_plugin=CredentialPlugin(command="aws", arguments="eks get-token"),
        people=("arn:aws:iam::123456789012:role/ops", "arn:aws:iam::123456789012:user/ann"),
        registry_name=RegistryName(
            instead="in the registry's account, let the nodes' roles pull, all that `pulumi stack output network` "
            "names (https://docs.aws.amazon.com/AmazonECR/latest/userguide/repository-policy-examples.html)"
        ),
        quotas=quotas,
        quota_page="https://{region}.console.aws.amazon.com/servicequotas/home/services/ec2/quotas",
    ),
    machines=Machines(
        cloud="eks",
        # 2 vCPUs with 16 GiB; AMD's r5a and r6a cost a tenth less but are missing in most regions.
        default_admin="r6i.large",
        default_cpu="m6i.xlarge",
        # It plans an empty group in the first of its zones, so a pod that needs another (a volume, a selector) waits
        # for ever; once it has removed the idle node of one zone, AWS ends a working node of another to even them out
        # (https://github.com/aws/containers-roadmap/issues/1453); and it plans with the type that it saw last:
        # https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws
        uniform_groups=frozenset({"cluster-autoscaler"}),
        mixed_types=5,
        # Amazon's price list has no on-demand price for p5e: it is sold in capacity blocks, and p5en is the same size.
        last=frozenset({"p5e.48xlarge", "trn1n.32xlarge"}),
    ),
    prices=Prices(
        cloud="eks",
        reference_region="us-east-1",
        control_plane=_FEES["control plane"],
        extended_support=_FEES["extended support"],
        nat=nat_price,
    ),
    nodes=CloudNodes(
        cloud="eks",
        images=("al2023", "bottlerocket"),
        # https://karpenter.sh/v1.14/tasks/managing-amis/
        image_version=re.compile(r"v[0-9][0-9.]*"),
        allocatable=allocatable,
        most_memory_mib=most_memory_mib,
        disk_mib=disk_mib,
        # Addresses come in blocks of 16 (/28): 250 pods, the most that EKS gives a node, need 16 blocks.
        # https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
        pod_addresses=16 * ADDRESSES_PER_PREFIX,
        system_pods=system_pods("eks", "node", "cluster"),
        # They ask for what they use, and a T machine has all of its cores; what it has too few of are credits.
        starves_small_nodes=False,
        # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
        spot_notice_seconds=120,
        # Blocks end at 11:30 UTC: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-purchase.html.
        # EC2 terminates from 30 minutes before:
        # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
        block_ends="11:00",
        # https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html. Pods have no huge pages, and with
        # some PyTorch's data loaders may fail: https://github.com/aws/aws-ofi-nccl/blob/master/doc/efa-env-var.md
        fabric=Fabric(devices=0, resource="vpc.amazonaws.com/efa", env={"FI_EFA_USE_HUGE_PAGE": "0"}),
        # With EFA's libraries and NCCL's plugin for them: https://aws.github.io/deep-learning-containers/pytorch/
        fabric_image="public.ecr.aws/deep-learning-containers/pytorch:2.11-cu130-amzn2023",
        fabric_network="Libfabric",
    ),
    labels=Labels(
        cloud="eks",
        tags=_TAGS,
        # It marks a GPU node for the cluster autoscaler, which waits for its GPUs instead of adding more nodes:
        # https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws
        gpu="k8s.amazonaws.com/accelerator",
        # SkyPilot selects Karpenter's nodes by karpenter.k8s.aws/instance-gpu-name, which is on them by itself; and a
        # new label would replace nodes that run: https://karpenter.sh/docs/concepts/disruption/#drift
        skypilot=frozenset({"cluster-autoscaler"}),
        room=node_tags.room,
    ),
    choices=Choices(
        cloud="eks",
        autoscalers=("karpenter", "cluster-autoscaler"),
        joins_clusters=("karpenter", "cluster-autoscaler"),
        kubernetes_versions={"rapid": "1.36", "regular": "1.35", "stable": "1.35"},
        unsupported_capacity={
            # https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html
            "flex-start": "AWS lends no machines without a date; for some days it sells them as a capacity-block",
        },
        # Of both autoscalers, which the program starts itself; 10 is cluster-autoscaler's own default.
        unneeded_minutes={"optimize-utilization": 5, "balanced": 10},
        addons=("ebs", "efs", "fsx", "load-balancer", "cloudwatch"),
        pinned_addons={
            **dict.fromkeys(("coredns", "kube-proxy", "vpc-cni", "eks-pod-identity-agent", "aws-ebs-csi-driver"), ""),
            "aws-efs-csi-driver": "efs",
            "aws-fsx-csi-driver": "fsx",
            "amazon-cloudwatch-observability": "cloudwatch",
            "eks-node-monitoring-agent": "karpenter",
        },
        # https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
        control_plane_logs=("api", "audit", "authenticator", "controllerManager", "scheduler"),
        # https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html
        log_days=(
            1,
            3,
            5,
            7,
            14,
            30,
            60,
            90,
            120,
            150,
            180,
            365,
            400,
            545,
            731,
            1096,
            1827,
            2192,
            2557,
            2922,
            3288,
            3653,
        ),
        default_ranges={"node_cidr": "10.0.0.0/16", "pod_cidr": None, "service_cidr": "172.20.0.0/16"},
        # The first four and the last: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
        reserved_addresses=5,
        existing_network="vpc-<id>",
        # https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html (nodegroupName)
        max_name_length=63,
        raw=raw_inputs(
            "eks",
            cluster="aws:eks/cluster:Cluster",
            pool="aws:eks/nodeGroup:NodeGroup",
            karpenter="karpenter.k8s.aws/v1:EC2NodeClass",
        ),
    ),
    # https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html
    separate_regions=("us-gov-", "cn-", "us-iso", "eusc-"),
    # https://docs.aws.amazon.com/cli/latest/reference/s3/cp.html
    copy_command="aws s3 cp --recursive {url} {name}",
    # Fluent Bit of the add-on tolerates every taint and writes one JSON document per line, with the line in ``log``:
    # https://github.com/aws-observability/helm-charts/blob/main/charts/amazon-cloudwatch-observability/values.yaml;
    # https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/regex-expressions.html
    log_addon="cloudwatch",
    log_command=(
        "aws logs filter-log-events --region {region} --log-group-name /aws/containerinsights/{cluster}/application "
        """--filter-pattern '{{ $.kubernetes.namespace_name = "{namespace}" && $.kubernetes.pod_name = %{pods}% }}' """
        "--query 'events[].message' --output json | jq -r '.[] | fromjson | .log'"
    ),
    # For accounts older than November 2025: https://docs.aws.amazon.com/global-infrastructure/latest/regions/az-ids.html.
    # Karpenter starts a machine only where DescribeInstanceTypeOfferings lists it for the account.
    own_zone_names=frozenset(
        {"us-east-1", "us-west-1", "us-west-2", "ap-northeast-1", "ap-southeast-1", "ap-southeast-2"}
        | {"eu-west-1", "sa-east-1"}
    ),
)
