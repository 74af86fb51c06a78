"""Programs with pulumi-aws: EKS clusters, managed node groups, Fargate profiles, keys."""

from __future__ import annotations

import base64
from typing import Any

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Resource, allowed, blocked, resource

CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
FARGATE = "aws:eks/fargateProfile:FargateProfile"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"

TAINTS = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
SCALING = {"minSize": 0, "maxSize": 4, "desiredSize": 0}


def encoded(script: str) -> str:
    return base64.b64encode(script.encode()).decode()


JOIN = "#!/bin/bash\n/etc/eks/bootstrap.sh ml --kubelet-extra-args '--node-labels=pool=gpu{}'\n"
UNTAINTED = encoded(JOIN.format(""))
TAINTED = encoded(JOIN.format(" --register-with-taints=nvidia.com/gpu=present:NoSchedule"))


def node_group(name: str = "gpu", **changes: Any) -> Resource:
    """A GPU node group as it should be."""
    good = {
        "clusterName": "ml",
        "nodeGroupName": name,
        "instanceTypes": ["g5.xlarge"],
        "amiType": "AL2023_x86_64_NVIDIA",
        "scalingConfig": SCALING,
        "taints": TAINTS,
    }
    return NODE_GROUP, name, {**good, **changes}


def cpu_group(name: str = "system") -> Resource:
    scaling = {"minSize": 2, "maxSize": 4, "desiredSize": 2}
    return node_group(
        name, instanceTypes=["m7i.large"], amiType="AL2023_x86_64_STANDARD", taints=None, scalingConfig=scaling
    )


def template(kind: str = "g5.xlarge", user_data: Any = TAINTED, **changes: Any) -> Resource:
    return TEMPLATE, "machine", {"namePrefix": "gpu-", "instanceType": kind, "userData": user_data, **changes}


LINK = (("gpu", "launchTemplate", "machine"),)


BLOCKED = [
    blocked(
        "eks-gpu-minimum-one", "gpu-zero-minimum", "A first GPU group with the sizes of the getting-started page."
    ).of(node_group(scalingConfig={"minSize": 1, "maxSize": 4, "desiredSize": 1})),
    blocked(
        "eks-gpu-desired-one",
        "gpu-starts-empty",
        "The minimum is 0, but one node starts with the group to see whether it works.",
    ).of(node_group(scalingConfig={"minSize": 0, "maxSize": 4, "desiredSize": 1})),
    blocked("eks-gpu-no-taint", "gpu-taint", "Unlike GKE, EKS adds no taint to GPU nodes.").of(node_group(taints=None)),
    blocked(
        "eks-gpu-prefer-no-schedule",
        "gpu-taint",
        "The taint is there with the soft effect, which system pods ignore when CPU nodes are full.",
    ).of(node_group(taints=[{**TAINTS[0], "effect": "PREFER_NO_SCHEDULE"}])),
    blocked("eks-gpu-beside-cpu-type", "gpu-uniform-sizes", "A CPU type as a fallback in the list of a GPU group.").of(
        node_group(instanceTypes=["g4dn.xlarge", "m5.xlarge"])
    ),
    blocked("eks-gpu-maximum-zero", "gpu-autoscaled", "Parked until somebody needs it; pods wait forever.").of(
        node_group(scalingConfig={"minSize": 0, "maxSize": 0, "desiredSize": 0})
    ),
    blocked(
        "eks-gpu-type-in-template",
        "gpu-taint",
        "The instance type is in the launch template, whose id is not known before the update.",
        links=LINK,
    ).of(
        template(user_data=UNTAINTED),
        node_group(instanceTypes=None, amiType="CUSTOM", taints=None, launchTemplate={"id": UNKNOWN}),
    ),
    blocked(
        "eks-fargate-for-tests-only",
        "system-pods-home",
        "Fargate serves the namespace of tests, and system pods have no home.",
    ).of(
        (CLUSTER, "ml", {"name": "ml"}),
        node_group(),
        (FARGATE, "tests", {"clusterName": "ml", "selectors": [{"namespace": "tests"}]}),
    ),
    blocked("aws-access-key", "no-static-keys", "A user with an access key for the training jobs' bucket.").of(
        ("aws:iam/accessKey:AccessKey", "trainer", {"user": "trainer"})
    ),
]

ALLOWED = [
    allowed("eks-good", "A cluster with an always-on CPU group and a GPU group that is empty until a pod comes.").of(
        (CLUSTER, "ml", {"name": "ml"}), cpu_group(), node_group()
    ),
    allowed("eks-good-spot-of-one-count", "Several types for spot, all with one GPU of one model.").of(
        node_group(instanceTypes=["g5.xlarge", "g5.2xlarge", "g5.4xlarge"], capacityType="SPOT")
    ),
    allowed("eks-cpu-group-named-gpu", "A CPU group for the GPU operator's controllers, named after it.").of(
        cpu_group("gpu-operator-system")
    ),
    allowed("eks-inferentia-and-trainium", "Accelerators that are no GPUs and no nvidia.com/gpu resource.").of(
        node_group(
            "inf",
            instanceTypes=["inf2.xlarge"],
            taints=None,
            scalingConfig={"minSize": 1, "maxSize": 2, "desiredSize": 1},
        ),
        node_group(
            "trn",
            instanceTypes=["trn1.32xlarge"],
            taints=[{"key": "aws.amazon.com/neuron", "value": "true", "effect": "NO_SCHEDULE"}],
        ),
    ),
    allowed("eks-windows", "A Windows group beside the GPU group.").of(
        cpu_group(),
        node_group(
            "windows",
            instanceTypes=["m5.xlarge"],
            amiType="WINDOWS_FULL_2022_x86_64",
            taints=[{"key": "os", "value": "windows", "effect": "NO_SCHEDULE"}],
            scalingConfig={"minSize": 1, "maxSize": 2, "desiredSize": 1},
        ),
        node_group(),
    ),
    allowed(
        "eks-karpenter-on-fargate", "Karpenter and CoreDNS run on Fargate; the GPU group is the only managed one."
    ).of(
        (CLUSTER, "ml", {"name": "ml"}),
        resource(
            FARGATE, "system", clusterName="ml", selectors=[{"namespace": "kube-system"}, {"namespace": "karpenter"}]
        ),
        node_group(),
    ),
    allowed("eks-auto-mode", "Auto Mode's own node pools hold system pods and have no GPUs.").of(
        (CLUSTER, "ml", {"name": "ml", "computeConfig": {"enabled": True, "nodePools": ["general-purpose", "system"]}}),
        node_group(),
    ),
    allowed("eks-stopped-warm-pool", "A warm pool of stopped instances, which cost their disks only.").of(
        node_group(warmPoolConfig={"poolState": "STOPPED", "minSize": 1})
    ),
]
