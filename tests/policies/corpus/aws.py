"""Programs with pulumi-aws: EKS clusters, managed node groups, Fargate profiles, keys."""

from __future__ import annotations

import base64
from typing import Any

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Case

CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
FARGATE = "aws:eks/fargateProfile:FargateProfile"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"

Resource = tuple[str, str, dict[str, Any]]

TAINTS = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
SCALING = {"minSize": 0, "maxSize": 4, "desiredSize": 0}


def encoded(script: str) -> str:
    return base64.b64encode(script.encode()).decode()


JOIN = "#!/bin/bash\n/etc/eks/bootstrap.sh ml --kubelet-extra-args '--node-labels=pool=gpu{}'\n"
UNTAINTED = encoded(JOIN.format(""))
TAINTED = encoded(JOIN.format(" --register-with-taints=nvidia.com/gpu=present:NoSchedule"))
NODEADM = encoded("""\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: ml}
  kubelet:
    config:
      registerWithTaints:
        - {key: nvidia.com/gpu, value: present, effect: NoSchedule}

--//--
""")
BOTTLEROCKET = encoded("""\
[settings.kubernetes]
cluster-name = "ml"

[settings.kubernetes.node-taints]
"nvidia.com/gpu" = ["present:NoSchedule"]
""")


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
    Case(
        id="eks-gpu-minimum-one",
        story="A first GPU group with the sizes of the getting-started page.",
        resources=(node_group(scalingConfig={"minSize": 1, "maxSize": 4, "desiredSize": 1}),),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="eks-gpu-desired-one",
        story="The minimum is 0, but one node starts with the group to see whether it works.",
        resources=(node_group(scalingConfig={"minSize": 0, "maxSize": 4, "desiredSize": 1}),),
        rule="gpu-starts-empty",
    ),
    Case(
        id="eks-gpu-no-taint",
        story="Unlike GKE, EKS adds no taint to GPU nodes.",
        resources=(node_group(taints=None),),
        rule="gpu-taint",
    ),
    Case(
        id="eks-gpu-prefer-no-schedule",
        story="The taint is there with the soft effect, which system pods ignore when CPU nodes are full.",
        resources=(node_group(taints=[{**TAINTS[0], "effect": "PREFER_NO_SCHEDULE"}]),),
        rule="gpu-taint",
    ),
    Case(
        id="eks-gpu-taint-misspelled",
        story="The taint's key is the label's key.",
        resources=(node_group(taints=[{"key": "nvidia.com/gpu.present", "value": "true", "effect": "NO_SCHEDULE"}]),),
        rule="gpu-taint",
    ),
    Case(
        id="eks-gpu-mixed-counts",
        story="More types for more spot capacity: 1 and 4 GPUs in one group.",
        resources=(node_group(instanceTypes=["g5.xlarge", "g5.12xlarge"], capacityType="SPOT"),),
        rule="gpu-uniform-sizes",
    ),
    Case(
        id="eks-gpu-beside-cpu-type",
        story="A CPU type as a fallback in the list of a GPU group.",
        resources=(node_group(instanceTypes=["g4dn.xlarge", "m5.xlarge"]),),
        rule="gpu-uniform-sizes",
    ),
    Case(
        id="eks-gpu-mixed-models",
        story="More types for more spot capacity: one GPU each, of 16, 24 and 24 GB.",
        resources=(node_group(instanceTypes=["g4dn.xlarge", "g5.xlarge", "g6.xlarge"], capacityType="SPOT"),),
        rule="gpu-uniform-models",
    ),
    Case(
        id="eks-gpu-maximum-zero",
        story="Parked until somebody needs it; pods wait forever.",
        resources=(node_group(scalingConfig={"minSize": 0, "maxSize": 0, "desiredSize": 0}),),
        rule="gpu-autoscaled",
    ),
    Case(
        id="eks-gpu-type-in-template",
        story="The instance type is in the launch template, whose id is not known before the update.",
        resources=(
            template(user_data=UNTAINTED),
            node_group(instanceTypes=None, amiType="CUSTOM", taints=None, launchTemplate={"id": UNKNOWN}),
        ),
        rule="gpu-taint",
        links=LINK,
    ),
    Case(
        id="eks-gpu-running-warm-pool",
        story="A warm pool of running instances, so that jobs start at once.",
        resources=(node_group(warmPoolConfig={"poolState": "RUNNING", "maxGroupPreparedCapacity": 2}),),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="eks-only-gpu-groups",
        story="One cluster, one GPU group: CoreDNS has nowhere to run.",
        resources=((CLUSTER, "ml", {"name": "ml"}), node_group()),
        rule="system-pods-home",
    ),
    Case(
        id="eks-fargate-for-tests-only",
        story="Fargate serves the namespace of tests, and system pods have no home.",
        resources=(
            (CLUSTER, "ml", {"name": "ml"}),
            node_group(),
            (FARGATE, "tests", {"clusterName": "ml", "selectors": [{"namespace": "tests"}]}),
        ),
        rule="system-pods-home",
    ),
    Case(
        id="aws-access-key",
        story="A user with an access key for the training jobs' bucket.",
        resources=(("aws:iam/accessKey:AccessKey", "trainer", {"user": "trainer"}),),
        rule="no-static-keys",
    ),
]

ALLOWED = [
    Case(
        id="eks-good",
        story="A cluster with an always-on CPU group and a GPU group that is empty until a pod comes.",
        resources=((CLUSTER, "ml", {"name": "ml"}), cpu_group(), node_group()),
    ),
    Case(
        id="eks-good-spot-of-one-count",
        story="Several types for spot, all with one GPU of one model.",
        resources=(node_group(instanceTypes=["g5.xlarge", "g5.2xlarge", "g5.4xlarge"], capacityType="SPOT"),),
    ),
    Case(
        id="eks-cpu-group-named-gpu",
        story="A CPU group for the GPU operator's controllers, named after it.",
        resources=(cpu_group("gpu-operator-system"),),
    ),
    Case(
        id="eks-amd-gpus",
        story="Render machines with AMD GPUs, which the NVIDIA rules are not about.",
        resources=(
            node_group(
                instanceTypes=["g4ad.xlarge"],
                amiType="AL2_x86_64",
                taints=None,
                scalingConfig={"minSize": 1, "maxSize": 2, "desiredSize": 1},
            ),
        ),
    ),
    Case(
        id="eks-inferentia-and-trainium",
        story="Accelerators that are no GPUs and no nvidia.com/gpu resource.",
        resources=(
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
    ),
    Case(
        id="eks-families-with-similar-names",
        story="Graviton and storage machines whose families begin like GPU ones.",
        resources=tuple(
            node_group(
                kind.partition(".")[0],
                instanceTypes=[kind],
                taints=None,
                scalingConfig={"minSize": 1, "maxSize": 2, "desiredSize": 1},
            )
            for kind in ("m6g.large", "c7g.xlarge", "im4gn.large", "r8gd.xlarge", "hpc7g.16xlarge")
        ),
    ),
    Case(
        id="eks-windows",
        story="A Windows group beside the GPU group.",
        resources=(
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
    ),
    Case(
        id="eks-default-type",
        story="Neither type nor template: EKS takes t3.medium.",
        resources=(
            node_group(
                instanceTypes=None,
                amiType=None,
                taints=None,
                scalingConfig={"minSize": 1, "maxSize": 2, "desiredSize": 1},
            ),
        ),
    ),
    Case(
        id="eks-taints-in-nodeadm",
        story="A custom image whose taints are in the launch template's NodeConfig.",
        resources=(
            template(user_data=NODEADM),
            node_group(instanceTypes=None, taints=None, launchTemplate={"id": UNKNOWN}),
        ),
        links=LINK,
    ),
    Case(
        id="eks-taints-in-bottlerocket",
        story="Bottlerocket's settings carry the taint.",
        resources=(
            template(user_data=BOTTLEROCKET),
            node_group(
                instanceTypes=None, amiType="BOTTLEROCKET_x86_64_NVIDIA", taints=None, launchTemplate={"id": UNKNOWN}
            ),
        ),
        links=LINK,
    ),
    Case(
        id="eks-karpenter-on-fargate",
        story="Karpenter and CoreDNS run on Fargate; the GPU group is the only managed one.",
        resources=(
            (CLUSTER, "ml", {"name": "ml"}),
            (
                FARGATE,
                "system",
                {"clusterName": "ml", "selectors": [{"namespace": "kube-system"}, {"namespace": "karpenter"}]},
            ),
            node_group(),
        ),
    ),
    Case(
        id="eks-auto-mode",
        story="Auto Mode's own node pools hold system pods and have no GPUs.",
        resources=(
            (
                CLUSTER,
                "ml",
                {"name": "ml", "computeConfig": {"enabled": True, "nodePools": ["general-purpose", "system"]}},
            ),
            node_group(),
        ),
    ),
    Case(
        id="eks-stopped-warm-pool",
        story="A warm pool of stopped instances, which cost their disks only.",
        resources=(node_group(warmPoolConfig={"poolState": "STOPPED", "minSize": 1}),),
    ),
    Case(
        id="eks-unknown-minimum",
        story="The minimum comes from another stack's output: not known in the preview, decided at the update.",
        resources=(node_group(scalingConfig={"minSize": UNKNOWN, "maxSize": 4, "desiredSize": 0}),),
    ),
]
