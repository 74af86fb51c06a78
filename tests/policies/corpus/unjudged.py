"""Programs of which the gate cannot know, at the update neither, whether they are right: it says so, and why."""

from __future__ import annotations

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.aws import LINK, TEMPLATE, UNTAINTED
from tests.policies.corpus.case import Case
from tests.policies.corpus.ec2 import group
from tests.policies.corpus.karpenter import FAMILY, node_pool

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
SIZES = {"minSize": 2, "maxSize": 4, "desiredSize": 2}
GKE_POOL = "gcp:container/nodePool:NodePool"
AKS_POOL = "azure-native:containerservice:AgentPool"
OTHER_CLOUD = {"group": "karpenter.k8s.gcp", "kind": "GCENodeClass", "name": "default"}

BLOCKED = [
    Case(
        id="eks-type-newer-than-the-catalogue",
        story="The newest GPU machine, on the day after its launch.",
        resources=((NODE_GROUP, "gpu", {"instanceTypes": ["p9e-xb400.36xlarge"], "scalingConfig": SIZES}),),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="eks-gpu-image-without-a-type",
        story="The AMI type is NVIDIA's; which machine it is for stands in another program's launch template.",
        resources=(
            (
                NODE_GROUP,
                "gpu",
                {
                    "amiType": "AL2023_x86_64_NVIDIA",
                    "scalingConfig": SIZES,
                    "launchTemplate": {"id": "lt-0a1b", "version": "7"},
                },
            ),
        ),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="eks-gpu-image-in-the-template",
        story="A template with the GPU image of EKS, whose machines are chosen by attributes.",
        resources=(
            (
                TEMPLATE,
                "machine",
                {
                    "imageId": "resolve:ssm:/aws/service/eks/optimized-ami/1.34/amazon-linux-2-gpu/image_id",
                    "instanceRequirements": {"vcpuCount": {"min": 8}, "memoryMib": {"min": 32768}},
                    "userData": UNTAINTED,
                },
            ),
            group(minSize=1),
        ),
        rule="gpu-zero-minimum",
        links=LINK,
    ),
    Case(
        id="karpenter-family-newer-than-the-catalogue",
        story="A NodePool for a family that came after the catalogue, with a fixed size.",
        resources=(node_pool({"key": FAMILY, "operator": "In", "values": ["p9e-xb400"]}, replicas=2),),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="karpenter-generation-newer-than-the-catalogue",
        story="Any accelerated machine of a generation that nobody lists yet, open to every pod.",
        resources=(
            node_pool(
                {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["g", "p"]},
                {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["40"]},
                taints=(),
            ),
        ),
        rule="gpu-taint",
    ),
]

ALLOWED = [
    Case(
        id="karpenter-amd-family",
        story="AMD's GPUs are no matter of NVIDIA's taint.",
        resources=(node_pool({"key": FAMILY, "operator": "In", "values": ["g4ad"]}, taints=()),),
    ),
    Case(
        id="eks-cpu-types-beside-a-foreign-template",
        story="The template of the platform team brings disks and tags; the group names its machines itself.",
        resources=(
            (
                NODE_GROUP,
                "cpu",
                {
                    "instanceTypes": ["m7i.large", "m7a.large"],
                    "scalingConfig": SIZES,
                    "launchTemplate": {"id": "lt-0a1b", "version": "7"},
                },
            ),
        ),
    ),
]

UNJUDGED = [
    Case(
        id="eks-template-of-another-stack",
        story="The launch template comes from the platform team's stack, machines and all.",
        resources=(
            (NODE_GROUP, "workers", {"scalingConfig": SIZES, "launchTemplate": {"id": "lt-0a1b", "version": "7"}}),
        ),
        unjudged="launch template is not declared in this program",
    ),
    Case(
        id="eks-template-by-an-output-of-another-stack",
        story="The same, with an id that the preview does not know yet: no update will tell more than the id.",
        resources=(
            (NODE_GROUP, "workers", {"scalingConfig": SIZES, "launchTemplate": {"id": UNKNOWN, "version": "7"}}),
        ),
        unjudged="launch template is not declared in this program",
    ),
    Case(
        id="eks-family-nobody-knows",
        story="A family of machines that no table has.",
        resources=((NODE_GROUP, "workers", {"instanceTypes": ["q1.large"], "scalingConfig": SIZES}),),
        unjudged="type 'q1.large'",
    ),
    Case(
        id="gke-family-nobody-knows",
        story="A machine family that Google may sell one day.",
        resources=(
            (
                GKE_POOL,
                "workers",
                {
                    "cluster": "ml",
                    "location": "us-central1-a",
                    "autoscaling": {"minNodeCount": 1, "maxNodeCount": 4},
                    "nodeConfig": {"machineType": "q1-standard-8"},
                },
            ),
        ),
        unjudged="type 'q1-standard-8'",
    ),
    Case(
        id="aks-size-nobody-knows",
        story="A size that Azure may sell one day.",
        resources=((AKS_POOL, "workers", {"vmSize": "Standard_NQ8_v9", "count": 2}),),
        unjudged="type 'Standard_NQ8_v9'",
    ),
    Case(
        id="asg-taints-from-a-shell-variable",
        story="A self-managed group whose boot script composes the kubelet's taints.",
        resources=(
            (
                TEMPLATE,
                "machine",
                {
                    "instanceType": "g5.xlarge",
                    "userData": "/etc/eks/bootstrap.sh ml --kubelet-extra-args '--register-with-taints=$TAINTS'",
                },
            ),
            group(),
        ),
        links=LINK,
        unjudged="a shell variable",
    ),
    Case(
        id="karpenter-node-class-of-another-cloud",
        story="Karpenter for a cloud whose machines the gate does not know.",
        resources=(node_pool({"key": FAMILY, "operator": "Exists"}, node_class=OTHER_CLOUD, replicas=1),),
        unjudged="GCENodeClass",
    ),
    Case(
        id="ec2-instance-requirements-without-a-word-on-gpus",
        story="Machines by vCPUs and memory; EC2 may choose one with GPUs.",
        resources=(
            (TEMPLATE, "machine", {"instanceRequirements": {"vcpuCount": {"min": 8}}, "userData": UNTAINTED}),
            group(minSize=1),
        ),
        links=LINK,
        unjudged="let EC2 choose",
    ),
]
