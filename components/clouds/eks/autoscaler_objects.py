"""The objects of cluster-autoscaler in the cluster: its rights there, its Deployment, its disruption budget.

Rights as upstream grants them: https://github.com/kubernetes/autoscaler/blob/master/charts/cluster-autoscaler
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from components.clouds.priority_expander import CONFIG_MAP
from facts.concepts.pool import ROLE_LABEL

NAMESPACE: Final = "kube-system"
NAME: Final = "cluster-autoscaler"
"""Of the Deployment, its service account and all the rest."""

_METRICS_PORT: Final = 8085
_LABELS: Final = {"k8s-app": NAME}
_RBAC: Final = "rbac.authorization.k8s.io"
_SEE: Final = ("get", "list", "watch")


def access() -> list[dict[str, Any]]:
    """The service account and its permissions in the cluster."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata()}
    return [
        account,
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": _metadata(False), "rules": _cluster_rules()},
        _binding("ClusterRole"),
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": _metadata(), "rules": _own_rules()},
        _binding("Role"),
    ]


def deployment(image: str, flags: Sequence[str], region: str) -> dict[str, Any]:
    """One pod on the admin pool; ``flags`` follow the program's name."""
    container = {
        "name": NAME,
        "image": image,
        "command": ["./cluster-autoscaler", *flags],
        "env": [{"name": "AWS_REGION", "value": region}],
        "ports": [{"name": "metrics", "containerPort": _METRICS_PORT}],
        "livenessProbe": {"httpGet": {"path": "/health-check", "port": _METRICS_PORT}},
        "resources": {"requests": {"cpu": "100m", "memory": "600Mi"}, "limits": {"memory": "600Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    annotations = {"prometheus.io/scrape": "true", "prometheus.io/port": str(_METRICS_PORT)}
    pod = {
        "serviceAccountName": NAME,
        "priorityClassName": "system-cluster-critical",
        # Never on a node that it could remove: without it nothing would add the node again.
        "nodeSelector": {ROLE_LABEL: "admin"},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(),
        "spec": {
            "replicas": 1,
            # A second one would only wait for the lease of the first.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": dict(_LABELS)},
            "template": {"metadata": {"labels": dict(_LABELS), "annotations": annotations}, "spec": pod},
        },
    }


def disruption_budget() -> dict[str, Any]:
    """It may be moved, and so never blocks the upgrade of its node."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(_LABELS)}},
    }


def _metadata(namespaced: bool = True) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": NAME, "labels": dict(_LABELS)}
    return {**metadata, "namespace": NAMESPACE} if namespaced else metadata


def _binding(role: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{role}Binding",
        "metadata": _metadata(role == "Role"),
        "roleRef": {"apiGroup": _RBAC, "kind": role, "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str], *names: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return {**rule, "resourceNames": list(names)} if names else rule


def _cluster_rules() -> list[dict[str, Any]]:
    return [
        _rule("", ["events", "endpoints"], ["create", "patch"]),
        _rule("", ["pods/eviction"], ["create"]),
        _rule("", ["pods/status"], ["update"]),
        _rule("", ["endpoints"], ["get", "update"], NAME),
        _rule("", ["nodes"], [*_SEE, "update"]),
        _rule("", ["namespaces", "pods", "services", "replicationcontrollers"], _SEE),
        _rule("", ["persistentvolumeclaims", "persistentvolumes"], _SEE),
        _rule("apps", ["daemonsets", "replicasets", "statefulsets"], _SEE),
        _rule("batch", ["jobs", "cronjobs"], _SEE),
        _rule("batch", ["jobs"], ["patch"]),
        _rule("policy", ["poddisruptionbudgets"], _SEE),
        _rule("storage.k8s.io", ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities"], _SEE),
        _rule("storage.k8s.io", ["volumeattachments"], _SEE),
        _rule("resource.k8s.io", ["deviceclasses", "resourceclaims", "resourceslices"], _SEE),
    ]


def _own_rules() -> list[dict[str, Any]]:
    return [
        _rule("", ["configmaps"], ["create", "list", "watch"]),
        _rule("", ["configmaps"], ["get", "update", "delete"], "cluster-autoscaler-status"),
        # It reads the order of pools, and never changes it.
        _rule("", ["configmaps"], ["get"], CONFIG_MAP),
        _rule("coordination.k8s.io", ["leases"], ["create"]),
        _rule("coordination.k8s.io", ["leases"], ["get", "update"], NAME),
    ]
