"""Karpenter NodePools as users write them, for Amazon's and Azure's node classes and for EKS Auto Mode."""

from __future__ import annotations

from typing import Any

from tests.policies.corpus.case import Draft, Resource, draft, resource


def one_of(key: str, *values: str) -> dict[str, Any]:
    """A requirement: the label has one of these values."""
    return {"key": key, "operator": "In", "values": list(values)}


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
CPU_ONLY = one_of(CATEGORY, "c", "m", "r")
GPU_FAMILIES = one_of(FAMILY, "g5", "g6")
LIMITS = {"nvidia.com/gpu": 16}


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


def blocked(id: str, rule: str, story: str) -> Draft:
    return draft(f"karpenter-{id}", story, rule=rule)


def allowed(id: str, story: str) -> Draft:
    return draft(f"karpenter-{id}", story)


BLOCKED = [
    blocked("gpu-no-taint", "gpu-taint", "A NodePool for GPU families; Karpenter adds no taint by itself.").of(
        node_pool(taints=())
    ),
    blocked(
        "gpu-startup-taint", "gpu-taint", "The taint is a startup taint, which Karpenter expects somebody to remove."
    ).of(
        resource(
            NODE_POOL,
            spec={
                "template": {"spec": {"nodeClassRef": EC2, "startupTaints": [TAINT], "requirements": [GPU_FAMILIES]}},
                "limits": LIMITS,
            },
        )
    ),
    blocked(
        "open-pool",
        "gpu-taint",
        "The default pool without a word on machines: a GPU pod gets it a GPU node without a taint.",
    ).of(cpu_pool(one_of("kubernetes.io/arch", "amd64"), name="default")),
    blocked("open-by-exclusion", "gpu-taint", "Excluding one GPU family leaves the others.").of(
        cpu_pool({"key": FAMILY, "operator": "NotIn", "values": ["p4d", "p5"]}, name="default")
    ),
    blocked("generation-only", "gpu-taint", "Newer generations only, of any category.").of(
        cpu_pool({"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["4"]})
    ),
    blocked("gpu-no-limits", "gpu-ceiling", "Limits are optional, and a job array has none either.").of(
        node_pool(limits=None)
    ),
    blocked("gpu-limit-below-one-node", "gpu-ceiling", "A limit of 4 GPUs on machines that have 8.").of(
        node_pool(one_of(FAMILY, "p4d"), limits={"nvidia.com/gpu": 4})
    ),
    blocked("gpu-never-consolidated", "gpu-idle-time", "Consolidation is off because it once moved a training job.").of(
        node_pool(disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"})
    ),
    blocked("gpu-budget-zero", "gpu-idle-time", "A budget of no disruption at any time keeps empty nodes, too.").of(
        node_pool(disruption={"consolidateAfter": "5m", "budgets": [{"nodes": "0"}]})
    ),
    blocked("gpu-do-not-disrupt", "gpu-idle-time", "The annotation that protects pods, put on the nodes.").of(
        node_pool(metadata={"annotations": {"karpenter.sh/do-not-disrupt": "true"}})
    ),
    blocked("gpu-static", "gpu-zero-minimum", "A static NodePool: two GPU nodes at all times.").of(
        node_pool(replicas=2, limits={"nodes": 2})
    ),
    blocked("gpu-static-zero", "gpu-autoscaled", "A static NodePool of none, for somebody to scale by hand.").of(
        node_pool(replicas=0, limits=None)
    ),
    blocked("beta-no-taint", "gpu-taint", "A v1beta1 NodePool by GPU count.").of(
        node_pool(
            {"key": GPU_COUNT, "operator": "Gt", "values": ["0"]},
            kind=BETA_NODE_POOL,
            node_class={"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "default"},
            taints=(),
        )
    ),
    blocked("instance-type-list", "gpu-taint", "One type by its name, under the well-known label.").of(
        node_pool(one_of("node.kubernetes.io/instance-type", "m5.large", "g4dn.xlarge"), taints=())
    ),
    blocked(
        "family-as-label", "gpu-taint", "The family is a template label, which Karpenter takes for a requirement."
    ).of(node_pool(one_of("kubernetes.io/arch", "amd64"), metadata={"labels": {FAMILY: "g5"}}, taints=())),
    blocked("auto-mode-gpu-no-taint", "gpu-taint", "EKS Auto Mode with its own labels.").of(
        node_pool(one_of("eks.amazonaws.com/instance-gpu-manufacturer", "nvidia"), node_class=AUTO, taints=())
    ),
    blocked("azure-gpu-no-taint", "gpu-taint", "AKS node auto-provisioning for the N family.").of(
        node_pool(one_of("karpenter.azure.com/sku-family", "N"), node_class=AKS, taints=())
    ),
    blocked("provisioner-no-taint", "gpu-taint", "A cluster that still has Provisioners.").of(
        resource(
            PROVISIONER,
            metadata={"name": "gpu"},
            spec={
                "requirements": [GPU_FAMILIES],
                "ttlSecondsAfterEmpty": 30,
                "limits": {"resources": {"nvidia.com/gpu": "8"}},
            },
        )
    ),
    blocked(
        "device-plugin-without-toleration",
        "gpu-daemonset-tolerates",
        "A device plugin for GPU nodes that tolerates the GPU taint but not the team's own.",
    ).of(
        node_pool(
            taints=(TAINT, {"key": "team", "value": "ml", "effect": "NoSchedule"}), metadata={"labels": {"gpu": "true"}}
        ),
        resource(
            DAEMON_SET,
            "plugin",
            metadata={"name": "plugin", "namespace": "kube-system"},
            spec={
                "template": {
                    "spec": {
                        "nodeSelector": {"gpu": "true"},
                        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                        "containers": [{"name": "plugin", "image": "plugin"}],
                    }
                }
            },
        ),
    ),
]

ALLOWED = [
    allowed("good", "Two GPU families, tainted, with a limit.").of(
        node_pool(disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"})
    ),
    allowed("cpu-categories", "The default pool of the getting-started page: c, m and r.").of(cpu_pool(name="default")),
    allowed("cpu-by-exclusion", "Every category but those with accelerators.").of(
        cpu_pool({"key": CATEGORY, "operator": "NotIn", "values": ["g", "gr", "p", "inf", "trn", "dl", "vt"]})
    ),
    allowed("cpu-no-gpu-label", "Machines without the GPU count label at all.").of(
        cpu_pool({"key": GPU_COUNT, "operator": "DoesNotExist"})
    ),
    allowed("cpu-by-limit", "An open pool that may not hold any GPU.").of(
        cpu_pool(one_of("kubernetes.io/os", "linux"), limits={"nvidia.com/gpu": 0})
    ),
    allowed("cpu-never-consolidated", "A CPU pool named after the GPU team that is never consolidated.").of(
        cpu_pool(name="gpu-team-services", disruption={"consolidateAfter": "Never"})
    ),
    allowed("windows", "Windows machines: none of the types with GPUs is offered with it here.").of(
        cpu_pool(one_of("kubernetes.io/os", "windows"), CPU_ONLY)
    ),
    allowed("graviton", "Graviton machines, whose families end in g.").of(
        cpu_pool(one_of(FAMILY, "m7g", "c7g", "r7g", "im4gn"))
    ),
    allowed("neuron", "Inferentia and Trainium.").of(cpu_pool(one_of(FAMILY, "inf2", "trn1"))),
    allowed("amd-gpus", "AMD's GPUs by their maker.").of(
        cpu_pool(one_of("karpenter.k8s.aws/instance-gpu-manufacturer", "amd"))
    ),
    allowed("mixed-sizes", "Karpenter chooses the size for each pod, so one pool may have several.").of(
        node_pool(one_of(GPU_COUNT, "1", "4", "8"))
    ),
    allowed("gpu-budget-by-day", "No disruption of running pods in office hours; empty nodes go.").of(
        node_pool(
            disruption={
                "budgets": [
                    {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h", "reasons": ["Drifted", "Underutilized"]}
                ]
            }
        )
    ),
    allowed("gpu-budget-for-drift", "Drift and underuse never move a training job; empty nodes go.").of(
        node_pool(disruption={"budgets": [{"nodes": "0", "reasons": ["Drifted", "Underutilized"]}]})
    ),
    allowed("gpu-cpu-limit", "The limit is in vCPUs, which bounds the GPUs as well.").of(
        node_pool(limits={"cpu": "192", "memory": "2Ti"})
    ),
    allowed("azure-cpu", "AKS node auto-provisioning for the D family.").of(
        cpu_pool(one_of("karpenter.azure.com/sku-family", "D"), node_class=AKS)
    ),
    allowed("azure-good", "AKS node auto-provisioning for NVIDIA GPUs, tainted.").of(
        node_pool(one_of("karpenter.azure.com/sku-gpu-manufacturer", "nvidia"), node_class=AKS)
    ),
]
