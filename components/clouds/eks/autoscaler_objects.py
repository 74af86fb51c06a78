"""The objects of cluster-autoscaler in the cluster: its rights there, its Deployment, its disruption budget.

Rights as upstream grants them: https://github.com/kubernetes/autoscaler/blob/master/charts/cluster-autoscaler
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from components.clouds.eks.in_cluster import (
    RESTRICTED_CONTAINER,
    RESTRICTED_POD,
    bound_role,
    metadata,
    service_account,
)
from components.clouds.priority_expander import CONFIG_MAP
from facts.concepts.pool import ROLE_LABEL

NAME: Final = "cluster-autoscaler"
"""Of the Deployment, its service account and all the rest."""

_METRICS_PORT: Final = 8085
_LABELS: Final = {"k8s-app": NAME}
_SEE: Final = ("get", "list", "watch")


def access() -> list[dict[str, Any]]:
    """The service account and its permissions in the cluster."""
    return [
        service_account(NAME, _LABELS),
        *bound_role("ClusterRole", NAME, _LABELS, _cluster_rules()),
        *bound_role("Role", NAME, _LABELS, _own_rules()),
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
        "securityContext": dict(RESTRICTED_CONTAINER),
    }
    annotations = {"prometheus.io/scrape": "true", "prometheus.io/port": str(_METRICS_PORT)}
    pod = {
        "serviceAccountName": NAME,
        "priorityClassName": "system-cluster-critical",
        # Never on a node that it could remove: without it nothing would add the node again.
        "nodeSelector": {ROLE_LABEL: "admin"},
        "securityContext": dict(RESTRICTED_POD),
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(NAME, _LABELS),
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
        "metadata": metadata(NAME, _LABELS),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(_LABELS)}},
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
