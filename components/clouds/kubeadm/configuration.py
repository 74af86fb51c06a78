"""kubeadm's configuration, as it takes it from a file.

https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/
The plugin adds what follows from the machine: its name and address, labels and taints, the exact version that is
installed, the key that encrypts secrets, and a worker's token with the CA's hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from components.settings.own.resolved import OwnMachines

_API: Final = "kubeadm.k8s.io/v1beta4"
_AUDIT: Final = "/etc/kubernetes/gpucluster/audit.yaml"
"""The plugin mounts its folder into the API server."""
_AUDIT_LOGS: Final = "/var/log/kubernetes/audit"
_SECRET: Final = ["secrets", "configmaps", "serviceaccounts/token"]
_INTO_PODS: Final = ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy"]
AUDIT_POLICY: Final[Mapping[str, Any]] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        # What they say is secret, and what machines write by the second says nothing.
        {
            "level": "Metadata",
            "resources": [
                {"group": "", "resources": _SECRET},
                {"group": "authentication.k8s.io", "resources": ["tokenreviews"]},
            ],
        },
        # Who went into which pod; over a WebSocket that is a `get`.
        {"level": "Metadata", "resources": [{"group": "", "resources": _INTO_PODS}]},
        {"level": "None", "users": ["system:kube-proxy"], "verbs": ["watch"]},
        {"level": "None", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Request"},
    ],
}
"""Who changed what: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/"""


def control_plane(cluster: str, own: OwnMachines) -> list[dict[str, Any]]:
    """The documents of ``kubeadm init``."""
    arguments = {
        # Pods that ask for a GPU tolerate its taint by themselves, as on GKE and AKS:
        # https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#extendedresourcetoleration
        "enable-admission-plugins": "NodeRestriction,ExtendedResourceToleration",
        "audit-policy-file": _AUDIT,
        "audit-log-path": f"{_AUDIT_LOGS}/audit.log",
        "audit-log-maxage": "30",
        "audit-log-maxbackup": "10",
        "audit-log-maxsize": "100",
        "profiling": "false",
    }
    logs = {"name": "audit", "hostPath": _AUDIT_LOGS, "mountPath": _AUDIT_LOGS, "pathType": "DirectoryOrCreate"}
    return [
        {
            "apiVersion": _API,
            "kind": "ClusterConfiguration",
            "clusterName": cluster,
            "networking": {"podSubnet": own.pod_cidr, "serviceSubnet": own.service_cidr},
            "apiServer": {"extraArgs": _arguments(arguments), "extraVolumes": [logs]},
            "controllerManager": {"extraArgs": _arguments({"profiling": "false"})},
            "scheduler": {"extraArgs": _arguments({"profiling": "false"})},
        },
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            # A reboot ends pods in order: https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/
            "shutdownGracePeriod": "60s",
            "shutdownGracePeriodCriticalPods": "20s",
        },
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            # The kernel's own limit of connections stays: it grows with the memory, and other software may have set it.
            "conntrack": {"maxPerCore": 0},
        },
    ]


def files() -> list[dict[str, str]]:
    """The files that the API server reads."""
    return [{"path": _AUDIT, "content": json.dumps(AUDIT_POLICY, indent=1) + "\n"}]


def _arguments(arguments: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in arguments.items()]
