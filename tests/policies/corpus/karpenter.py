"""Karpenter NodePools as users write them, for Amazon's and Azure's node classes and for EKS Auto Mode."""

from __future__ import annotations

from typing import Any

from tests.policies.corpus.case import Case

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
BETA_NODE_POOL = "kubernetes:karpenter.sh/v1beta1:NodePool"
PROVISIONER = "kubernetes:karpenter.sh/v1alpha5:Provisioner"
DAEMON_SET = "kubernetes:apps/v1:DaemonSet"

EC2 = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
AUTO = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
AKS = {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"}
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
CATEGORY = "karpenter.k8s.aws/instance-category"
FAMILY = "karpenter.k8s.aws/instance-family"
GPU_COUNT = "karpenter.k8s.aws/instance-gpu-count"
CPU_ONLY = {"key": CATEGORY, "operator": "In", "values": ["c", "m", "r"]}
GPU_FAMILIES = {"key": FAMILY, "operator": "In", "values": ["g5", "g6"]}
LIMITS = {"nvidia.com/gpu": 16}

Resource = tuple[str, str, dict[str, Any]]


def node_pool(
    *requirements: dict[str, Any],
    name: str = "gpu",
    kind: str = NODE_POOL,
    node_class: Any = EC2,
    taints: Any = (TAINT,),
    limits: Any = LIMITS,
    metadata: Any = None,
    **spec: Any,
) -> Resource:
    """A NodePool as it should be, unless changed; requirements default to two families with NVIDIA GPUs."""
    machine = {
        "nodeClassRef": node_class,
        "taints": list(taints),
        "requirements": list(requirements or (GPU_FAMILIES,)),
    }
    template = {"spec": machine, "metadata": metadata or {}}
    return kind, name, {"metadata": {"name": name}, "spec": {"template": template, "limits": limits, **spec}}


def cpu_pool(*requirements: dict[str, Any], **changes: Any) -> Resource:
    return node_pool(*(requirements or (CPU_ONLY,)), **{"taints": (), "limits": {"cpu": "1000"}, **changes})


BLOCKED = [
    Case(
        id="karpenter-gpu-no-taint",
        story="A NodePool for GPU families; Karpenter adds no taint by itself.",
        resources=(node_pool(taints=()),),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-gpu-startup-taint",
        story="The taint is a startup taint, which Karpenter expects somebody to remove.",
        resources=(
            (
                NODE_POOL,
                "gpu",
                {
                    "spec": {
                        "template": {
                            "spec": {"nodeClassRef": EC2, "startupTaints": [TAINT], "requirements": [GPU_FAMILIES]}
                        },
                        "limits": LIMITS,
                    }
                },
            ),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-open-pool",
        story="The default pool without a word on machines: a GPU pod gets it a GPU node without a taint.",
        resources=(cpu_pool({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}, name="default"),),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-open-by-exclusion",
        story="Excluding one GPU family leaves the others.",
        resources=(cpu_pool({"key": FAMILY, "operator": "NotIn", "values": ["p4d", "p5"]}, name="default"),),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-generation-only",
        story="Newer generations only, of any category.",
        resources=(cpu_pool({"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["4"]}),),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-gpu-no-limits",
        story="Limits are optional, and a job array has none either.",
        resources=(node_pool(limits=None),),
        rule="gpu-ceiling",
    ),
    Case(
        id="karpenter-gpu-limit-below-one-node",
        story="A limit of 4 GPUs on machines that have 8.",
        resources=(node_pool({"key": FAMILY, "operator": "In", "values": ["p4d"]}, limits={"nvidia.com/gpu": 4}),),
        rule="gpu-ceiling",
    ),
    Case(
        id="karpenter-gpu-never-consolidated",
        story="Consolidation is off because it once moved a training job.",
        resources=(node_pool(disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"}),),
        rule="gpu-autoscaled",
    ),
    Case(
        id="karpenter-gpu-budget-zero",
        story="A budget of no disruption at any time keeps empty nodes, too.",
        resources=(node_pool(disruption={"consolidateAfter": "5m", "budgets": [{"nodes": "0"}]}),),
        rule="gpu-autoscaled",
    ),
    Case(
        id="karpenter-gpu-do-not-disrupt",
        story="The annotation that protects pods, put on the nodes.",
        resources=(node_pool(metadata={"annotations": {"karpenter.sh/do-not-disrupt": "true"}}),),
        rule="gpu-autoscaled",
    ),
    Case(
        id="karpenter-gpu-static",
        story="A static NodePool: two GPU nodes at all times.",
        resources=(node_pool(replicas=2, limits={"nodes": 2}),),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="karpenter-gpu-static-zero",
        story="A static NodePool of none, for somebody to scale by hand.",
        resources=(node_pool(replicas=0, limits=None),),
        rule="gpu-autoscaled",
    ),
    Case(
        id="karpenter-beta-no-taint",
        story="A v1beta1 NodePool by GPU count.",
        resources=(
            node_pool(
                {"key": GPU_COUNT, "operator": "Gt", "values": ["0"]},
                kind=BETA_NODE_POOL,
                node_class={"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"},
                taints=(),
            ),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-instance-type-list",
        story="One type by its name, under the well-known label.",
        resources=(
            node_pool(
                {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large", "g4dn.xlarge"]},
                taints=(),
            ),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-family-as-label",
        story="The family is a template label, which Karpenter takes for a requirement.",
        resources=(
            node_pool(
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                metadata={"labels": {FAMILY: "g5"}},
                taints=(),
            ),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-auto-mode-gpu-no-taint",
        story="EKS Auto Mode with its own labels.",
        resources=(
            node_pool(
                {"key": "eks.amazonaws.com/instance-gpu-manufacturer", "operator": "In", "values": ["nvidia"]},
                node_class=AUTO,
                taints=(),
            ),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-azure-gpu-no-taint",
        story="AKS node auto-provisioning for the N family.",
        resources=(
            node_pool(
                {"key": "karpenter.azure.com/sku-family", "operator": "In", "values": ["N"]}, node_class=AKS, taints=()
            ),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-provisioner-no-taint",
        story="A cluster that still has Provisioners.",
        resources=(
            (
                PROVISIONER,
                "gpu",
                {
                    "metadata": {"name": "gpu"},
                    "spec": {
                        "requirements": [GPU_FAMILIES],
                        "ttlSecondsAfterEmpty": 30,
                        "limits": {"resources": {"nvidia.com/gpu": "8"}},
                    },
                },
            ),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="karpenter-device-plugin-without-toleration",
        story="A device plugin for GPU nodes that tolerates the GPU taint but not the team's own.",
        resources=(
            node_pool(
                taints=(TAINT, {"key": "team", "value": "ml", "effect": "NoSchedule"}),
                metadata={"labels": {"gpu": "true"}},
            ),
            (
                DAEMON_SET,
                "plugin",
                {
                    "metadata": {"name": "plugin", "namespace": "kube-system"},
                    "spec": {
                        "template": {
                            "spec": {
                                "nodeSelector": {"gpu": "true"},
                                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                                "containers": [{"name": "plugin", "image": "plugin"}],
                            }
                        }
                    },
                },
            ),
        ),
        rule="gpu-daemonset-tolerates",
    ),
]

ALLOWED = [
    Case(
        id="karpenter-good",
        story="Two GPU families, tainted, with a limit.",
        resources=(node_pool(disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"}),),
    ),
    Case(
        id="karpenter-cpu-categories",
        story="The default pool of the getting-started page: c, m and r.",
        resources=(cpu_pool(name="default"),),
    ),
    Case(
        id="karpenter-cpu-by-exclusion",
        story="Every category but those with accelerators.",
        resources=(
            cpu_pool({"key": CATEGORY, "operator": "NotIn", "values": ["g", "gr", "p", "inf", "trn", "dl", "vt"]}),
        ),
    ),
    Case(
        id="karpenter-cpu-no-gpu-label",
        story="Machines without the GPU count label at all.",
        resources=(cpu_pool({"key": GPU_COUNT, "operator": "DoesNotExist"}),),
    ),
    Case(
        id="karpenter-cpu-by-limit",
        story="An open pool that may not hold any GPU.",
        resources=(
            cpu_pool({"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}, limits={"nvidia.com/gpu": 0}),
        ),
    ),
    Case(
        id="karpenter-cpu-never-consolidated",
        story="A CPU pool named after the GPU team that is never consolidated.",
        resources=(cpu_pool(name="gpu-team-services", disruption={"consolidateAfter": "Never"}),),
    ),
    Case(
        id="karpenter-windows",
        story="Windows machines: none of the types with GPUs is offered with it here.",
        resources=(cpu_pool({"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}, CPU_ONLY),),
    ),
    Case(
        id="karpenter-graviton",
        story="Graviton machines, whose families end in g.",
        resources=(cpu_pool({"key": FAMILY, "operator": "In", "values": ["m7g", "c7g", "r7g", "im4gn"]}),),
    ),
    Case(
        id="karpenter-neuron",
        story="Inferentia and Trainium.",
        resources=(cpu_pool({"key": FAMILY, "operator": "In", "values": ["inf2", "trn1"]}),),
    ),
    Case(
        id="karpenter-amd-gpus",
        story="AMD's GPUs by their maker.",
        resources=(
            cpu_pool({"key": "karpenter.k8s.aws/instance-gpu-manufacturer", "operator": "In", "values": ["amd"]}),
        ),
    ),
    Case(
        id="karpenter-mixed-sizes",
        story="Karpenter chooses the size for each pod, so one pool may have several.",
        resources=(node_pool({"key": GPU_COUNT, "operator": "In", "values": ["1", "4", "8"]}),),
    ),
    Case(
        id="karpenter-gpu-budget-by-day",
        story="No disruption of running pods in office hours; empty nodes go.",
        resources=(
            node_pool(
                disruption={
                    "budgets": [
                        {
                            "nodes": "0",
                            "schedule": "0 9 * * 1-5",
                            "duration": "8h",
                            "reasons": ["Drifted", "Underutilized"],
                        }
                    ]
                }
            ),
        ),
    ),
    Case(
        id="karpenter-gpu-budget-for-drift",
        story="Drift and underuse never move a training job; empty nodes go.",
        resources=(node_pool(disruption={"budgets": [{"nodes": "0", "reasons": ["Drifted", "Underutilized"]}]}),),
    ),
    Case(
        id="karpenter-gpu-cpu-limit",
        story="The limit is in vCPUs, which bounds the GPUs as well.",
        resources=(node_pool(limits={"cpu": "192", "memory": "2Ti"}),),
    ),
    Case(
        id="karpenter-azure-cpu",
        story="AKS node auto-provisioning for the D family.",
        resources=(
            cpu_pool({"key": "karpenter.azure.com/sku-family", "operator": "In", "values": ["D"]}, node_class=AKS),
        ),
    ),
    Case(
        id="karpenter-azure-good",
        story="AKS node auto-provisioning for NVIDIA GPUs, tainted.",
        resources=(
            node_pool(
                {"key": "karpenter.azure.com/sku-gpu-manufacturer", "operator": "In", "values": ["nvidia"]},
                node_class=AKS,
            ),
        ),
    ),
]
