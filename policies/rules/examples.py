"""One example of what breaks each rule, for the documentation: what a rule says to it is asked of the rule itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from policies.rules.model import (
    GPU_TAINT,
    Autoscaler,
    Carbon,
    Cluster,
    Credential,
    GpuSharing,
    NodeGroup,
    PodRole,
    Right,
    ScalingGroup,
    Stack,
    Taint,
    Toleration,
    Violation,
    Workload,
    size_taint,
)
from policies.rules.registry import BY_ID

_GPUS: Final = NodeGroup(
    "l4", "cloud", gpus_per_node=1, autoscaled=True, max_nodes=4, taints=(GPU_TAINT,), max_hourly_usd=6.0
)
_CPUS: Final = NodeGroup("web", "cloud", autoscaled=True, max_nodes=3, max_hourly_usd=0.6)
_CLUSTER: Final = Cluster("ml", "cloud", region="europe-central2")
_JOB: Final = Workload("train", "research", "Job", gpus=1, tolerations=(Toleration(GPU_TAINT.key, "Exists"),))
_WEB: Final = Workload("shop", "default", "Deployment")
_DRIVERS: Final = Workload("drivers", "kube-system", "DaemonSet", tolerations=_JOB.tolerations, device_plugin=True)
_SPOT: Final = replace(_GPUS, taints=(GPU_TAINT, Taint("spot", "true", "NoSchedule")))
_TAGS: Final = {"k8s.io/cluster-autoscaler/ml": "owned"}


def _scaler(cluster: str) -> Workload:
    """An autoscaler that looks for the groups of one cluster."""
    scaler = Autoscaler("scaler", (Right("SetSize", on_group=True),), ({f"k8s.io/cluster-autoscaler/{cluster}": ""},))
    return Workload("scaler", "kube-system", "Deployment", scales_nodes=True, autoscaler=scaler)


def _stack(*parts: NodeGroup | Workload | Cluster | GpuSharing) -> Stack:
    return Stack(
        tuple(part for part in parts if isinstance(part, NodeGroup)),
        tuple(part for part in parts if isinstance(part, Workload)),
        tuple(part for part in parts if isinstance(part, Cluster)),
        sharing=tuple(part for part in parts if isinstance(part, GpuSharing)),
    )


_EXAMPLES: Final[Mapping[str, tuple[Any, Mapping[str, Any]]]] = {
    "gpu-zero-minimum": (replace(_GPUS, min_nodes=1), {}),
    "gpu-starts-empty": (replace(_GPUS, initial_nodes=2), {}),
    "gpu-autoscaled": (replace(_GPUS, autoscaled=False), {}),
    "gpu-ceiling": (replace(_GPUS, max_nodes=100), {"maxGpus": 64}),
    "gpu-taint": (replace(_GPUS, taints=()), {}),
    "gpu-present-label": (_GPUS, {}),
    "gpu-uniform-sizes": (replace(_GPUS, other_gpus_per_node=(4,)), {}),
    "gpu-uniform-models": (replace(_GPUS, gpu_models=("L4", "T4")), {}),
    "gpu-not-only-pool": (_stack(_CLUSTER, _GPUS), {}),
    "system-pods-home": (_stack(_CLUSTER, _GPUS, _CPUS), {}),
    "gpu-workload-placeable": (_stack(_GPUS, replace(_JOB, gpus=8)), {}),
    "gpu-workload-tolerates": (_stack(_GPUS, replace(_JOB, tolerations=())), {}),
    "gpu-daemonset-tolerates": (_stack(_SPOT, _DRIVERS), {}),
    "no-blanket-toleration": (_stack(_GPUS, replace(_WEB, tolerations=(Toleration(None, "Exists"),))), {}),
    "gpu-nodes-for-gpus": (_stack(_GPUS, replace(_WEB, tolerations=_JOB.tolerations)), {}),
    "autoscaler-present": (_stack(replace(_CLUSTER, managed_autoscaler=False), _GPUS, _WEB), {}),
    "autoscaler-sees-group": (_stack(replace(_GPUS, scaling=ScalingGroup("l4", _TAGS)), _scaler("other")), {}),
    "autoscaler-knows-template": (_stack(replace(_GPUS, scaling=ScalingGroup("l4", _TAGS)), _scaler("ml")), {}),
    "autoscaler-permitted": (
        replace(
            _stack(_GPUS, _scaler("ml")),
            pod_roles=(PodRole("scaler", "kube-system", "scaler", ({"Statement": []},)),),
        ),
        {},
    ),
    "system-pods-evictable": (_stack(_CPUS, replace(_WEB, name="metrics", namespace="kube-system")), {}),
    "gpu-sharing-visible": (_stack(_GPUS, GpuSharing("ConfigMap 'device-plugin'", 4)), {}),
    "private-nodes": (replace(_CLUSTER, private_nodes=False), {}),
    "gpu-nodes-private": (_stack(replace(_GPUS, private=False)), {}),
    "secrets-encryption": (_CLUSTER, {}),
    "control-plane-access": (replace(_CLUSTER, open_api=True), {}),
    "no-local-accounts": (replace(_CLUSTER, local_accounts=True), {}),
    "disk-encryption": (_GPUS, {"customerKey": True}),
    "no-static-keys": (Credential("the service account key 'ci'", True, ""), {}),
    "hourly-cost-ceiling": (_stack(_GPUS, _CPUS), {"maxHourlyUsd": 5}),
    "idle-cost-ceiling": (_stack(_GPUS, replace(_CPUS, min_nodes=3)), {"maxIdleUsd": 0.5}),
    "gpu-stack-ceiling": (
        _stack(_GPUS, replace(_GPUS, name="l4-4", gpus_per_node=4, taints=(GPU_TAINT, size_taint(4)))),
        {"maxGpus": 16},
    ),
    "allowed-regions": (_CLUSTER, {"regions": ["europe-west4"]}),
    "low-carbon-region": (replace(_CLUSTER, carbon=Carbon(42, 590, 2025, "the cloud's table")), {}),
}


def example(rule: str) -> Violation:
    """The first violation that the rule with this id finds in its example.

    Raises:
        KeyError: no such rule, or none with an example.
    """
    subject, limits = _EXAMPLES[rule]
    return BY_ID[rule].check(subject, BY_ID[rule].limits(limits))[0]
