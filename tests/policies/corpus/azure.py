"""Azure: agent pools of AKS in every spelling, scale sets and virtual machines."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Draft, Program, Resource, draft, resource

CLUSTER: Final = "azure-native:containerservice:ManagedCluster"
POOL: Final = "azure-native:containerservice:AgentPool"
MACHINE: Final = "azure-native:compute:VirtualMachine"
SCALE_SET: Final = "azure-native:compute:VirtualMachineScaleSet"
GENERIC: Final = "azure-native:resources:Resource"
CLASSIC: Final = "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool"

GPU: Final = "nvidia.com/gpu=present:NoSchedule"
SYSTEM: Final = {"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D2s_v5"}
T4: Final = {
    "agentPoolName": "t4",
    "resourceName": "ml",
    "mode": "User",
    "vmSize": "Standard_NC4as_T4_v3",
    "enableAutoScaling": True,
    "count": 0,
    "minCount": 0,
    "maxCount": 4,
    "nodeTaints": [GPU],
}


def cluster(*pools: Any, **changes: Any) -> Resource:
    """A cluster with these inline pools beside its system pool."""
    return (
        CLUSTER,
        "ml",
        {"resourceName": "ml", "location": "westeurope", "agentPoolProfiles": [SYSTEM, *pools], **changes},
    )


def pool(token: str = POOL, **changes: Any) -> Resource:
    """The T4 pool, with changes; a change to ``None`` leaves the property out."""
    return token, "t4", {key: value for key, value in {**T4, **changes}.items() if value is not None}


def inline(**changes: Any) -> dict[str, Any]:
    """The T4 pool as a profile of its cluster."""
    return {
        **{key: value for key, value in T4.items() if key not in ("agentPoolName", "resourceName")},
        "name": "t4",
        **changes,
    }


def with_cluster(resources: Program) -> Program:
    """The resources with a cluster, unless they bring one."""
    own = any(token.endswith(("ManagedCluster", "KubernetesCluster", "Resource")) for token, _, _ in resources)
    return resources if own else (cluster(), *resources)


def blocked(id: str, rule: str, story: str) -> Draft:
    """A case with a cluster of its own unless it brings one."""
    return draft(f"aks-{id}", story, rule=rule, around=with_cluster)


def allowed(id: str, story: str) -> Draft:
    """Likewise, for what must pass."""
    return draft(f"aks-{id}", story, around=with_cluster)


BLOCKED: Final = [
    blocked("minimum-one", "gpu-zero-minimum", "minCount copied from the system pool").of(pool(minCount=1)),
    blocked("system-mode-inline", "gpu-zero-minimum", "a cluster with one pool, of the size that training needs").of(
        resource(
            CLUSTER,
            "ml",
            resourceName="ml",
            agentPoolProfiles=[inline(mode="System", enableAutoScaling=True, minCount=0)],
        )
    ),
    blocked(
        "default-pool-of-the-older-provider",
        "gpu-zero-minimum",
        "the other provider's default pool is the one for system pods",
    ).of(
        resource(
            "azure:containerservice/kubernetesCluster:KubernetesCluster",
            "ml",
            defaultNodePool={"name": "gpu", "vmSize": "Standard_NC4as_T4_v3", "nodeCount": 1},
        )
    ),
    blocked("inline-minimum", "gpu-zero-minimum", "the pool is a profile of the cluster").of(
        cluster(inline(minCount=2))
    ),
    blocked(
        "old-api-version",
        "gpu-zero-minimum",
        "the token carries an API version, as in programs written for version 2 of the provider",
    ).of(pool("azure-native:containerservice/v20230801:AgentPool", minCount=1)),
    blocked("fixed-size", "gpu-autoscaled", "az aks nodepool add without the autoscaler").of(
        pool(enableAutoScaling=False)
    ),
    blocked("autoscaling-left-out", "gpu-autoscaled", "the default is a fixed size").of(pool(enableAutoScaling=None)),
    blocked("no-taint", "gpu-taint", "AKS taints Spot pools, not GPU pools").of(
        pool(nodeTaints=None, scaleSetPriority="Spot")
    ),
    blocked("initialization-taint", "gpu-taint", "taints that AKS removes once the node is set up").of(
        pool(nodeTaints=[], nodeInitializationTaints=[GPU])
    ),
    blocked("single-machines", "gpu-autoscaled", "a VirtualMachines pool scaled by hand").of(
        pool(
            vmSize=None,
            enableAutoScaling=None,
            type="VirtualMachines",
            virtualMachinesProfile={"scale": {"manual": [{"size": "Standard_NC6s_v3", "count": 2}]}},
        )
    ),
    blocked("gpus-only", "gpu-not-only-pool", "the first pool is the GPU pool").of(
        cluster(agentPoolProfiles=[inline()])
    ),
    blocked(
        "system-pool-tainted", "system-pods-home", "the only system pool is kept for a team: system pods find no place"
    ).of(cluster(inline(), agentPoolProfiles=[{**SYSTEM, "nodeTaints": ["team=web:NoSchedule"]}, inline()])),
    blocked("generic-resource", "gpu-zero-minimum", "the provider's generic resource speaks the API itself").of(
        resource(
            GENERIC,
            "t4",
            resourceProviderNamespace="Microsoft.ContainerService",
            parentResourcePath="managedClusters/ml",
            resourceType="agentPools",
            resourceName="t4",
            apiVersion="2025-09-01",
            properties={**inline(), "minCount": 1},
        )
    ),
    blocked("machine", "gpu-autoscaled", "a GPU workstation beside the cluster").of(
        (MACHINE, "box", {"hardwareProfile": {"vmSize": "Standard_NC6s_v3"}, "location": "westeurope"})
    ),
    blocked("scale-set-mix", "gpu-autoscaled", "GPUs hide in the second size of a mix").of(
        resource(
            SCALE_SET,
            "set",
            sku={"name": "Mix"},
            skuProfile={"vmSizes": [{"name": "Standard_D8s_v5"}, {"name": "Standard_NC8as_T4_v3"}]},
        )
    ),
    blocked("model-workspace", "gpu-autoscaled", "KAITO makes a GPU machine for each model, and keeps it").of(
        resource(
            "kubernetes:kaito.sh/v1beta1:Workspace",
            "phi",
            resource={"instanceType": "Standard_NC24ads_A100_v4"},
            inference={"preset": {"name": "phi-4"}},
        )
    ),
    blocked(
        "plugin-not-on-spot",
        "gpu-daemonset-tolerates",
        "AKS taints Spot nodes by itself, and the chart's tolerations know nothing of it",
    ).of(
        pool(scaleSetPriority="Spot"),
        ("kubernetes:helm.sh/v3:Release", "nvdp", {"chart": "nvidia-device-plugin", "namespace": "kube-system"}),
    ),
    blocked("time-slicing", "gpu-sharing-visible", "four pods per GPU, announced by the device plugin alone").of(
        pool(),
        resource(
            "kubernetes:core/v1:ConfigMap",
            "plugin",
            metadata={"name": "plugin"},
            data={"any": "sharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"},
        ),
    ),
]

ALLOWED: Final = [
    allowed("gpu-pool", "a GPU pool as it should be").of(pool()),
    allowed("spot-pool", "the same on Spot").of(pool(scaleSetPriority="Spot", spotMaxPrice=-1)),
    allowed("taint-without-value", "only the taint's key matters").of(pool(nodeTaints=["nvidia.com/gpu:NoSchedule"])),
    allowed("inline-pool", "everything in one resource").of(cluster(inline())),
    allowed("bounds-as-text", "bounds read from configuration").of(pool(minCount="0", maxCount="4", count="0")),
    allowed("cpu-pool", "a CPU pool with a name that says GPU").of(
        pool(vmSize="Standard_D8s_v5", agentPoolName="gpuprep", minCount=2, nodeTaints=[])
    ),
    allowed("windows-pool", "a Windows pool for .NET services").of(
        pool(vmSize="Standard_D4s_v5", osType="Windows", minCount=1, nodeTaints=["os=windows:NoSchedule"])
    ),
    allowed("bounds-unknown", "bounds that another resource computes: checked at update").of(
        pool(minCount=UNKNOWN, maxCount=UNKNOWN)
    ),
    allowed("node-auto-provisioning", "Karpenter picks the machines; its default pools are CPU pools").of(
        cluster(nodeProvisioningProfile={"mode": "Auto", "defaultNodePools": "Auto"})
    ),
    allowed("cpu-scale-set", "machines of another system").of(
        (SCALE_SET, "set", {"sku": {"name": "Standard_D8s_v5", "capacity": 3}})
    ),
    allowed("jump-host", "a jump host").of((MACHINE, "jump", {"hardwareProfile": {"vmSize": "Standard_B2s"}})),
    allowed("plugin-on-spot", "the device plugin with the toleration that Spot needs").of(
        pool(scaleSetPriority="Spot"),
        resource(
            "kubernetes:helm.sh/v3:Release",
            "nvdp",
            chart="nvidia-device-plugin",
            values={
                "tolerations": [
                    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                    {"key": "kubernetes.azure.com/scalesetpriority", "operator": "Exists"},
                ]
            },
        ),
    ),
]
