"""What a stack on EKS does not support, and how it writes names and IDs: one row each."""

from __future__ import annotations

import re
from typing import Final

from components.settings.fields.answers import Form, Refused

REFUSED: Final[tuple[Refused, ...]] = (
    Refused(
        keys=("gpuPools.drivers",),
        value="daemonset",
        message="the driver on EKS is part of the node image",
        remedy="Write drivers: managed, or none if you install the device plugin yourself",
    ),
    Refused(
        keys=("gpuPools.drivers",),
        value="none",
        together={"image": "bottlerocket"},
        message="Bottlerocket always runs the driver and the device plugin",
        remedy="Write image: al2023, or drivers: managed",
    ),
    Refused(
        keys=("gpuPools.driverVersion",),
        value="latest",
        message="the driver version on EKS comes with the node image",
        remedy="Write driverVersion: default",
    ),
    # https://github.com/kubernetes-sigs/karpenter/issues/729
    Refused(
        keys=("gpuPools.timeSharing",),
        autoscaler="karpenter",
        message="Karpenter counts whole GPUs, not shares, and would create a node for every share",
        remedy="Leave it out, or write autoscaling.autoscaler: cluster-autoscaler",
    ),
    # https://github.com/NVIDIA/k8s-device-plugin#with-cuda-mps: a privileged daemon of its own on each node
    Refused(
        keys=("gpuPools.mps",),
        message="EKS does not share GPUs by MPS",
        remedy="Leave it out. By hand: NVIDIA's GPU Operator (drivers: none), whose shares no autoscaler knows of "
        "an empty pool",
    ),
    Refused(
        keys=("gpuPools.mig",),
        autoscaler="cluster-autoscaler",
        together={"image": "al2023"},
        message="EKS's image al2023 partitions no GPU",
        remedy="Write image: bottlerocket, which does when a machine starts",
    ),
    Refused(
        keys=("gpuPools.mig",),
        autoscaler="karpenter",
        message="Karpenter counts whole GPUs, not slices, and would create a node for every slice",
        remedy="Leave it out, or write autoscaling.autoscaler: cluster-autoscaler, and image: bottlerocket",
    ),
    Refused(
        keys=("gpuPools.placement",),
        message="placing nodes close to each other is not supported on EKS",
        remedy="Leave it out and keep each job on one node. If nodes talk to each other, write one zone",
    ),
    Refused(
        keys=("gpuPools.computeClass",),
        message="a ComputeClass is of GKE: EKS tries the capacity types in any order that capacity lists",
        remedy="Leave it out; pods that select no pool use the order, too",
    ),
    Refused(
        keys=("gpuPools.imageStreaming",),
        message="image streaming is not supported on EKS: a container starts once its image is pulled",
        remedy="Leave it out, and keep images small or in the cluster's region",
    ),
    # Its pools of a fixed size are an alpha feature, off by default, and do not grow with the pods:
    # https://karpenter.sh/v1.14/concepts/nodepools/#specreplicas
    Refused(
        keys=("cpuPools.minNodes",),
        autoscaler="karpenter",
        message="Karpenter keeps no nodes without pods",
        remedy="Leave it out: running replicas keep a node. Or write autoscaling.autoscaler: cluster-autoscaler",
    ),
    Refused(
        keys=("adminPool.maxNodes",),
        autoscaler="karpenter",
        message="Karpenter runs on the admin pool and does not scale it",
        remedy="Leave it out, or write autoscaling.autoscaler: cluster-autoscaler",
    ),
    Refused(
        keys=("pools.upgrade",),
        autoscaler="karpenter",
        message="Karpenter has no upgrade setting per pool: it replaces idle nodes, CPU nodes one at a time in the "
        "window",
        remedy="Leave it out, or write autoscaling.autoscaler: cluster-autoscaler",
    ),
    # https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    Refused(
        keys=("pools.upgrade.maxSurge",),
        autoscaler="cluster-autoscaler",
        message="EKS itself decides how many extra nodes it starts",
        remedy="Write maxSurge: 0 for none, or leave it out",
    ),
    Refused(
        keys=("pools.upgrade.maxUnavailable",),
        autoscaler="cluster-autoscaler",
        value=0,
        message="EKS upgrades at least 1 node at a time",
        remedy="Write maxUnavailable: 1",
    ),
    Refused(
        keys=("pools.upgrade.drainMinutes",),
        autoscaler="cluster-autoscaler",
        message="EKS always gives pods 15 minutes to leave a node, then stops the upgrade",
        remedy="Leave it out",
    ),
    # Karpenter's budgets cannot name dates.
    Refused(
        keys=("maintenance.exclusions",),
        message="EKS supports no exclusions; there are {count}",
        remedy="Leave it out, and run no `pulumi up` with another version on those days",
    ),
    Refused(
        keys=("network.dnsEndpoint",),
        message="EKS has no DNS endpoint: access to the control plane is restricted by address",
        remedy="Leave it out, and write your own address in authorizedNetworks",
    ),
    Refused(
        keys=("network.controlPlaneCidr",),
        message="the control plane on EKS uses addresses of the nodes' range",
        remedy="Leave it out",
    ),
    Refused(
        keys=("network.podCidr",),
        message="pods on EKS use addresses of the nodes' range",
        remedy="Leave it out. For more pods, write a larger nodeCidr",
    ),
    Refused(
        keys=("network.existing.podRange",),
        message="pods on EKS use addresses of the nodes' subnets",
        remedy="Leave it out",
    ),
    Refused(
        keys=("network.existing.serviceRange",),
        message="service addresses on EKS are not part of the VPC",
        remedy="Leave it out, or write network.serviceCidr",
    ),
    Refused(
        keys=("network.existing.privateDnsZone",),
        message="on this cloud the control plane's name needs no zone",
        remedy="Leave it out",
    ),
    Refused(
        keys=("existingCluster.nodeClass",),
        autoscaler="cluster-autoscaler",
        message="an EC2NodeClass is Karpenter's, and node groups have the role and the subnets of those that are there",
        remedy="Leave it out, or write autoscaling.autoscaler: karpenter",
    ),
    Refused(
        keys=("existingCluster.subnets", "existingCluster.securityGroups"),
        autoscaler="karpenter",
        message="nodes have those of their node class",
        remedy="Leave it out, and write nodeClass",
    ),
    Refused(
        keys=("existingCluster.nodeIdentity",),
        autoscaler="karpenter",
        message="nodes have the role of their node class",
        remedy="Leave it out, and write nodeClass",
    ),
    Refused(
        keys=("existingCluster.location",),
        message="a region of EKS has one cluster of a name",
        remedy="Leave it out",
    ),
    Refused(
        keys=("existingCluster.resourceGroup",),
        message="clusters of EKS are in an account, without groups",
        remedy="Leave it out; your login decides about the account",
    ),
    Refused(
        keys=("security.dataKey",),
        message="on EKS the program encrypts registry and bucket with the cloud's own key",
        remedy="Leave it out, or declare registry and bucket in your own program",
    ),
    # Karpenter, the drivers and the add-ons have roles as well, each with the least that it needs.
    Refused(
        keys=("security.nodeIdentity", "security.controlPlaneIdentity"),
        message="the program creates the roles of a cluster on EKS, for nodes, control plane and a dozen controllers",
        remedy="Leave it out; permissionsBoundary and rolePath hold all of them within what your administrators allow",
    ),
)

FORMS: Final[tuple[Form, ...]] = (
    Form(
        keys=("existingCluster.nodeIdentity",),
        written=re.compile(r"arn:aws:iam::\d{12}:role/[\w+=,.@/-]+"),
        is_not="the ARN of an IAM role",
        remedy="Write arn:aws:iam::<account>:role/<name>, as aws eks describe-nodegroup prints it in nodeRole",
    ),
    # https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html. An account is of one partition
    # (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html), and no region of this program of another.
    Form(
        keys=("access[].who",),
        written=re.compile(r"arn:aws:iam::\d{12}:(role|user)/[\w+=,.@/-]+"),
        is_not="the ARN of an IAM role or user, the principals that this program can grant access",
        remedy="Write arn:aws:iam::<account>:role/<name>, with the role's path. Members of a group can assume a role",
    ),
    Form(
        keys=("security.kmsKey", "security.diskKey", "security.dataKey"),
        written=re.compile(r"arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):\d{12}:key/[a-z0-9-]+"),
        is_not="the ARN of a KMS key",
        remedy="Write arn:aws:kms:{region}:<account>:key/<id>, not an alias",
        elsewhere="Use a key in {region}",
    ),
    # https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html (PermissionsBoundary, Path)
    Form(
        keys=("security.permissionsBoundary",),
        written=re.compile(r"(?a)arn:aws:iam::(\d{12}|aws):policy/[\w+=,.@/-]+"),
        is_not="the ARN of an IAM policy",
        remedy="Write arn:aws:iam::<account>:policy/<name>",
    ),
    Form(
        keys=("security.rolePath",),
        written=re.compile(r"/([!-~]{1,510}/)?"),
        is_not="an IAM path",
        remedy="Begin and end it with '/', as in /platform/gpu/; 512 characters at most",
    ),
    # https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
    Form(
        keys=("identities[].read", "identities[].write"),
        written=re.compile(r"[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]"),
        is_not="a valid bucket name",
        remedy="Write for example my-datasets",
    ),
    # https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html
    Form(
        keys=("identities[].secrets",),
        written=re.compile(r"(?a)[-\w/+=.@]{1,512}"),
        is_not="a valid secret name",
        remedy="Write for example research/wandb-key",
    ),
    Form(
        keys=("network.existing.network",),
        written=re.compile(r"vpc-([0-9a-f]{8}|[0-9a-f]{17})"),
        is_not="a VPC ID",
        remedy="Write vpc-0123456789abcdef0",
    ),
    Form(
        keys=("network.existing.subnets[]", "existingCluster.subnets[]"),
        written=re.compile(r"subnet-([0-9a-f]{8}|[0-9a-f]{17})"),
        is_not="a subnet ID",
        remedy="Write the IDs of private subnets, one per zone: [subnet-0123456789abcdef0, …]",
    ),
    Form(
        keys=("existingCluster.securityGroups[]",),
        written=re.compile(r"sg-([0-9a-f]{8}|[0-9a-f]{17})"),
        is_not="the ID of a security group",
        remedy="Write IDs, such as sg-0123456789abcdef0",
    ),
)
