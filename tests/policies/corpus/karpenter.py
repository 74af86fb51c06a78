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
    blocked("generation-only", "gpu-taint", "Newer generations only, of any category.").of(
        cpu_pool({"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["4"]})
    ),
    blocked("gpu-limit-below-one-node", "gpu-ceiling", "A limit of 4 GPUs on machines that have 8.").of(
        node_pool(one_of(FAMILY, "p4d"), limits={"nvidia.com/gpu": 4})
    ),
    blocked("gpu-do-not-disrupt", "gpu-autoscaled", "The annotation that protects pods, put on the nodes.").of(
        node_pool(metadata={"annotations": {"karpenter.sh/do-not-disrupt": "true"}})
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
    blocked(
        "family-as-label", "gpu-taint", "The family is a template label, which Karpenter takes for a requirement."
    ).of(node_pool(one_of("kubernetes.io/arch", "amd64"), metadata={"labels": {FAMILY: "g5"}}, taints=())),
    blocked("auto-mode-gpu-no-taint", "gpu-taint", "EKS Auto Mode with its own labels.").of(
        node_pool(one_of("eks.amazonaws.com/instance-gpu-manufacturer", "nvidia"), node_class=AUTO, taints=())
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
    allowed("cpu-never-consolidated", "A CPU pool named after the GPU team that is never consolidated.").of(
        cpu_pool(name="gpu-team-services", disruption={"consolidateAfter": "Never"})
    ),
    allowed("graviton", "Graviton machines, whose families end in g.").of(
        cpu_pool(one_of(FAMILY, "m7g", "c7g", "r7g", "im4gn"))
    ),
    allowed("neuron", "Inferentia and Trainium.").of(cpu_pool(one_of(FAMILY, "inf2", "trn1"))),
    allowed("mixed-sizes", "Karpenter chooses the size for each pod, so one pool may have several.").of(
        node_pool(one_of(GPU_COUNT, "1", "4", "8"))
    ),
    allowed("azure-good", "AKS node auto-provisioning for NVIDIA GPUs, tainted.").of(
        node_pool(one_of("karpenter.azure.com/sku-gpu-manufacturer", "nvidia"), node_class=AKS)
    ),
]
