"""The pods that AWS runs in a cluster: one set for each EKS add-on, applied by the fleet when the add-on exists.

Requests: facts/catalog/eks/nodes.py, where their source is; those of the optional add-ons are estimates.
DaemonSets tolerate every taint, so they run on GPU nodes too and never keep one alive. Images have no tag: simulated
nodes pull none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Containers = Mapping[str, tuple[str, str]]
"""Container → its requests of CPU and memory, ``""`` for none."""

_SIDECAR: Final = ("10m", "40Mi")
_ANYWHERE: Final = [{"operator": "Exists"}]
# Only what the charts themselves tolerate: a tainted pool is not for them.
_CRITICAL: Final = [
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
]


@dataclass(frozen=True)
class SystemWorkload:
    """One DaemonSet (``replicas`` 0) or Deployment with its service account."""

    name: str
    containers: Containers
    service_account: str
    replicas: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    section: str = "controller"
    """Of the add-on's configuration, where a Deployment's node selector is; without one, the configuration's own."""
    anywhere: bool = False
    """Whether a Deployment tolerates every taint, as DaemonSets do."""


@dataclass(frozen=True)
class SystemAddon:
    """One EKS add-on: its ``version`` where the program names none, its pods, and whether its DaemonSets use the
    nodes' network."""

    version: str
    workloads: tuple[SystemWorkload, ...]
    namespace: str = "kube-system"
    host_network: bool = True
    keys: tuple[str, ...] | None = None
    """Of its configuration, at the top: EKS refuses others. ``None`` where its schema is not published."""

    @property
    def needs_nodes(self) -> bool:
        """Whether it becomes ACTIVE only with nodes: a DaemonSet without nodes has all the pods it wants."""
        return any(workload.replicas for workload in self.workloads)


def _driver(short: str, version: str, *sidecars: str) -> SystemAddon:
    node = dict.fromkeys((f"{short}-plugin", "node-driver-registrar", "liveness-probe"), _SIDECAR)
    controller = dict.fromkeys((f"{short}-plugin", *sidecars, "liveness-probe"), _SIDECAR)
    return SystemAddon(
        version,
        (
            SystemWorkload(f"{short}-csi-node", node, f"{short}-csi-node-sa"),
            SystemWorkload(f"{short}-csi-controller", controller, f"{short}-csi-controller-sa", replicas=2),
        ),
    )


# Versions are of the right form and not looked up: what EKS would choose changes by the week.
ADDONS: Final[Mapping[str, SystemAddon]] = {
    "amazon-cloudwatch-observability": SystemAddon(
        "v4.1.0-eksbuild.1",
        (
            SystemWorkload("cloudwatch-agent", {"otc-container": ("250m", "128Mi")}, "cloudwatch-agent"),
            SystemWorkload("fluent-bit", {"fluent-bit": ("50m", "25Mi")}, "cloudwatch-agent"),
            SystemWorkload(
                "amazon-cloudwatch-observability-controller-manager",
                {"manager": ("100m", "64Mi")},
                "amazon-cloudwatch-observability-controller-manager",
                replicas=1,
                # https://github.com/aws/containers-roadmap/issues/2462
                section="manager",
                anywhere=True,
            ),
        ),
        namespace="amazon-cloudwatch",
        host_network=False,
    ),
    "aws-ebs-csi-driver": _driver(
        "ebs", "v1.48.0-eksbuild.2", "csi-provisioner", "csi-attacher", "csi-snapshotter", "csi-resizer"
    ),
    "aws-efs-csi-driver": _driver("efs", "v2.1.11-eksbuild.1", "csi-provisioner"),
    "aws-fsx-csi-driver": _driver("fsx", "v1.6.0-eksbuild.1", "csi-provisioner", "csi-resizer"),
    "coredns": SystemAddon(
        "v1.12.4-eksbuild.1",
        (
            SystemWorkload(
                "coredns", {"coredns": ("100m", "70Mi")}, "coredns", replicas=2, labels=(("k8s-app", "kube-dns"),)
            ),
        ),
        # https://github.com/aws-ia/terraform-aws-eks-blueprints-addons/issues/157, and what later versions add.
        keys=(
            *("affinity", "autoScaling", "computeType", "corefile", "nodeSelector", "podAnnotations"),
            *("podDisruptionBudget", "podLabels", "replicaCount", "resources", "tolerations"),
            "topologySpreadConstraints",
        ),
    ),
    # Without the DaemonSet ``dcgm-server``, which asks for nothing, on GPU nodes.
    "eks-node-monitoring-agent": SystemAddon(
        "v1.7.0-eksbuild.1",
        (
            SystemWorkload(
                "eks-node-monitoring-agent", {"eks-node-monitoring-agent": ("10m", "30Mi")}, "eks-node-monitoring-agent"
            ),
        ),
        # https://github.com/aws/eks-node-monitoring-agent/blob/main/charts/configuration.schema.json
        keys=("dcgmAgent", "extraObjects", "global", "nodeAgent"),
    ),
    "eks-pod-identity-agent": SystemAddon(
        "v1.3.8-eksbuild.2",
        (SystemWorkload("eks-pod-identity-agent", {"eks-pod-identity-agent": ("", "")}, "default"),),
    ),
    "kube-proxy": SystemAddon(
        "v1.34.0-eksbuild.4", (SystemWorkload("kube-proxy", {"kube-proxy": ("100m", "")}, "kube-proxy"),)
    ),
    "vpc-cni": SystemAddon(
        "v1.20.3-eksbuild.1",
        (SystemWorkload("aws-node", {"aws-node": ("25m", ""), "aws-eks-nodeagent": ("25m", "")}, "aws-node"),),
    ),
}

BOOTSTRAPPED: Final = ("vpc-cni", "kube-proxy", "coredns")
"""The add-ons that a cluster has by default, unless ``bootstrapSelfManagedAddons`` is false.

https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
"""


# Without parameters, so its volumes are encrypted only where the account encrypts all: ``ebs-csi-default-sc.yaml`` in
# https://github.com/kubernetes-sigs/aws-ebs-csi-driver/tree/master/charts/aws-ebs-csi-driver/templates
_DEFAULT_CLASS: Final[dict[str, Any]] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "ebs-csi-default-sc", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "ebs.csi.aws.com",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowVolumeExpansion": True,
}


def addon_namespace(name: str) -> str:
    """Where an add-on's pods are."""
    return ADDONS[name].namespace


def workloads(name: str, values: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """An add-on's objects in the order in which they can be applied.

    Of its configuration ``values`` the node selectors count (``nodeSelector``, or a section's), and whether the EBS
    driver is to have a StorageClass.
    """
    addon = ADDONS[name]
    values = values or {}
    objects: list[dict[str, Any]] = []
    if addon.namespace != "kube-system":
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": addon.namespace}})
    for account in dict.fromkeys(workload.service_account for workload in addon.workloads):
        if account != "default":
            metadata = {"name": account, "namespace": addon.namespace}
            objects.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    for workload in addon.workloads:
        selector = (values.get(workload.section) or {}).get("nodeSelector") or values.get("nodeSelector") or {}
        objects.append(_object(workload, addon, selector))
    if (values.get("defaultStorageClass") or {}).get("enabled"):
        objects.append(_DEFAULT_CLASS)
    return objects


def _object(workload: SystemWorkload, addon: SystemAddon, selector: Mapping[str, str]) -> dict[str, Any]:
    labels = dict(workload.labels) or {"app.kubernetes.io/name": workload.name}
    deployment = workload.replicas > 0
    critical = "system-cluster-critical" if deployment else "system-node-critical"
    pod: dict[str, Any] = {
        "serviceAccountName": workload.service_account,
        "priorityClassName": critical,
        "tolerations": _CRITICAL if deployment and not workload.anywhere else _ANYWHERE,
        "containers": [_container(name, requests) for name, requests in workload.containers.items()],
    }
    if addon.host_network and not deployment:
        pod["hostNetwork"] = True
    if deployment and selector:
        pod["nodeSelector"] = dict(selector)
    spec: dict[str, Any] = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    if deployment:
        spec["replicas"] = workload.replicas
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment" if deployment else "DaemonSet",
        "metadata": {"name": workload.name, "namespace": addon.namespace, "labels": labels},
        "spec": spec,
    }


def _container(name: str, requests: tuple[str, str]) -> dict[str, Any]:
    amounts = {key: amount for key, amount in zip(("cpu", "memory"), requests, strict=True) if amount}
    return {"name": name, "image": f"public.ecr.aws/eks/{name}", "resources": {"requests": amounts}}
