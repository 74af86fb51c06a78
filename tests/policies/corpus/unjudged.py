"""Programs of which the gate cannot know, at the update neither, whether they are right: it says so, and why."""

from __future__ import annotations

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.aws import LINK, TEMPLATE, UNTAINTED
from tests.policies.corpus.case import allowed, blocked, resource, undecided
from tests.policies.corpus.ec2 import group
from tests.policies.corpus.karpenter import FAMILY, node_pool

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
SIZES = {"minSize": 2, "maxSize": 4, "desiredSize": 2}
GKE_POOL = "gcp:container/nodePool:NodePool"
AKS_POOL = "azure-native:containerservice:AgentPool"
OTHER_CLOUD = {"group": "karpenter.k8s.gcp", "kind": "GCENodeClass", "name": "default"}

BLOCKED = [
    blocked(
        "eks-type-newer-than-the-catalogue", "gpu-zero-minimum", "The newest GPU machine, on the day after its launch."
    ).of((NODE_GROUP, "gpu", {"instanceTypes": ["p9e-xb400.36xlarge"], "scalingConfig": SIZES})),
    blocked(
        "eks-gpu-image-without-a-type",
        "gpu-zero-minimum",
        "The AMI type is NVIDIA's; which machine it is for stands in another program's launch template.",
    ).of(
        resource(
            NODE_GROUP,
            amiType="AL2023_x86_64_NVIDIA",
            scalingConfig=SIZES,
            launchTemplate={"id": "lt-0a1b", "version": "7"},
        )
    ),
    blocked(
        "eks-gpu-image-in-the-template",
        "gpu-zero-minimum",
        "A template with the GPU image of EKS, whose machines are chosen by attributes.",
        links=LINK,
    ).of(
        resource(
            TEMPLATE,
            "machine",
            imageId="resolve:ssm:/aws/service/eks/optimized-ami/1.34/amazon-linux-2-gpu/image_id",
            instanceRequirements={"vcpuCount": {"min": 8}, "memoryMib": {"min": 32768}},
            userData=UNTAINTED,
        ),
        group(minSize=1),
    ),
    blocked(
        "karpenter-family-newer-than-the-catalogue",
        "gpu-zero-minimum",
        "A NodePool for a family that came after the catalogue, with a fixed size.",
    ).of(node_pool({"key": FAMILY, "operator": "In", "values": ["p9e-xb400"]}, replicas=2)),
    blocked(
        "karpenter-generation-newer-than-the-catalogue",
        "gpu-taint",
        "Any accelerated machine of a generation that nobody lists yet, open to every pod.",
    ).of(
        node_pool(
            {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["g", "p"]},
            {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["40"]},
            taints=(),
        )
    ),
]

ALLOWED = [
    allowed("karpenter-amd-family", "AMD's GPUs are no matter of NVIDIA's taint.").of(
        node_pool({"key": FAMILY, "operator": "In", "values": ["g4ad"]}, taints=())
    ),
    allowed(
        "eks-cpu-types-beside-a-foreign-template",
        "The template of the platform team brings disks and tags; the group names its machines itself.",
    ).of(
        resource(
            NODE_GROUP,
            "cpu",
            instanceTypes=["m7i.large", "m7a.large"],
            scalingConfig=SIZES,
            launchTemplate={"id": "lt-0a1b", "version": "7"},
        )
    ),
]

UNJUDGED = [
    undecided(
        "eks-template-of-another-stack",
        "launch template is not declared in this program",
        "The launch template comes from the platform team's stack, machines and all.",
    ).of((NODE_GROUP, "workers", {"scalingConfig": SIZES, "launchTemplate": {"id": "lt-0a1b", "version": "7"}})),
    undecided(
        "eks-template-by-an-output-of-another-stack",
        "launch template is not declared in this program",
        "The same, with an id that the preview does not know yet: no update will tell more than the id.",
    ).of((NODE_GROUP, "workers", {"scalingConfig": SIZES, "launchTemplate": {"id": UNKNOWN, "version": "7"}})),
    undecided("eks-family-nobody-knows", "type 'q1.large'", "A family of machines that no table has.").of(
        (NODE_GROUP, "workers", {"instanceTypes": ["q1.large"], "scalingConfig": SIZES})
    ),
    undecided("gke-family-nobody-knows", "type 'q1-standard-8'", "A machine family that Google may sell one day.").of(
        resource(
            GKE_POOL,
            "workers",
            cluster="ml",
            location="us-central1-a",
            autoscaling={"minNodeCount": 1, "maxNodeCount": 4},
            nodeConfig={"machineType": "q1-standard-8"},
        )
    ),
    undecided("aks-size-nobody-knows", "type 'Standard_NQ8_v9'", "A size that Azure may sell one day.").of(
        (AKS_POOL, "workers", {"vmSize": "Standard_NQ8_v9", "count": 2})
    ),
    undecided(
        "asg-taints-from-a-shell-variable",
        "a shell variable",
        "A self-managed group whose boot script composes the kubelet's taints.",
        links=LINK,
    ).of(
        resource(
            TEMPLATE,
            "machine",
            instanceType="g5.xlarge",
            userData="/etc/eks/bootstrap.sh ml --kubelet-extra-args '--register-with-taints=$TAINTS'",
        ),
        group(),
    ),
    undecided(
        "karpenter-node-class-of-another-cloud",
        "GCENodeClass",
        "Karpenter for a cloud whose machines the gate does not know.",
    ).of(node_pool({"key": FAMILY, "operator": "Exists"}, node_class=OTHER_CLOUD, replicas=1)),
    undecided(
        "ec2-instance-requirements-without-a-word-on-gpus",
        "let EC2 choose",
        "Machines by vCPUs and memory; EC2 may choose one with GPUs.",
        links=LINK,
    ).of(
        (TEMPLATE, "machine", {"instanceRequirements": {"vcpuCount": {"min": 8}}, "userData": UNTAINTED}),
        group(minSize=1),
    ),
]
