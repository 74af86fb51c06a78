"""kubeadm's configuration of the control plane and of a worker, as it takes it from a file.

https://kubernetes.io/docs/reference/config-api/kubeadm-config.v1beta4/
The plugin adds what only the machine knows: the exact version that is installed, the token and the CA's hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.settings.own.resolve import OwnMachines
from components.settings.own.sections import Machine
from facts.concepts.pool import Pool

API_PORT: Final = 6443
_API: Final = "kubeadm.k8s.io/v1beta4"
_SOCKET: Final = "unix:///run/containerd/containerd.sock"
_FOLDER: Final = "/etc/kubernetes/gpucluster"
ENCRYPTION: Final = f"{_FOLDER}/encryption.yaml"
"""Made on the machine with a random key, which never leaves it."""
AUDIT: Final = f"{_FOLDER}/audit.yaml"
_AUDIT_LOGS: Final = "/var/log/kubernetes/audit"

_SECRET: Final = ["secrets", "configmaps", "serviceaccounts/token"]
AUDIT_POLICY: Final[Mapping[str, Any]] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        # What they say is secret, and what machines write by the second says nothing.
        {
            "level": "Metadata",
            "resources": [{"group": "", "resources": ["secrets", "configmaps", "serviceaccounts/token"]}],
        },
        {"level": "None", "users": ["system:kube-proxy"], "verbs": ["watch"]},
        {"level": "None", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Request"},
    ],
}
"""Who changed what: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/"""


def control_plane(cluster: str, own: OwnMachines, pool: Pool) -> list[dict[str, Any]]:
    """The documents of ``kubeadm init``, without the exact version."""
    machine = own.control_plane
    arguments = {
        # Pods that ask for a GPU tolerate its taint by themselves, as on GKE and AKS:
        # https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#extendedresourcetoleration
        "enable-admission-plugins": "NodeRestriction,ExtendedResourceToleration",
        "encryption-provider-config": ENCRYPTION,
        "audit-policy-file": AUDIT,
        "audit-log-path": f"{_AUDIT_LOGS}/audit.log",
        "audit-log-maxage": "30",
        "audit-log-maxbackup": "10",
        "audit-log-maxsize": "100",
        "profiling": "false",
    }
    folders = [("gpucluster", _FOLDER, True, "Directory"), ("audit", _AUDIT_LOGS, False, "DirectoryOrCreate")]
    return [
        {
            "apiVersion": _API,
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": machine.address, "bindPort": API_PORT},
            "nodeRegistration": _registration(machine, pool),
        },
        {
            "apiVersion": _API,
            "kind": "ClusterConfiguration",
            "clusterName": cluster,
            "controlPlaneEndpoint": f"{machine.address}:{API_PORT}",
            "networking": {"podSubnet": own.pod_cidr, "serviceSubnet": own.service_cidr},
            "apiServer": {
                "extraArgs": _arguments(arguments),
                "extraVolumes": [
                    {"name": name, "hostPath": path, "mountPath": path, "readOnly": read_only, "pathType": type}
                    for name, path, read_only, type in folders
                ],
            },
            "controllerManager": {"extraArgs": _arguments({"profiling": "false"})},
            "scheduler": {"extraArgs": _arguments({"profiling": "false"})},
        },
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "cgroupDriver": "systemd",
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


def worker(machine: Machine, pool: Pool) -> list[dict[str, Any]]:
    """The document of ``kubeadm join``, without ``discovery``."""
    return [{"apiVersion": _API, "kind": "JoinConfiguration", "nodeRegistration": _registration(machine, pool)}]


def taints(pool: Pool) -> list[dict[str, str]]:
    """The pool's taints as Kubernetes writes them."""
    return [{"key": taint.key, "value": taint.value or "", "effect": taint.effect} for taint in pool.taints]


def _registration(machine: Machine, pool: Pool) -> dict[str, Any]:
    labels = ",".join(f"{key}={value}" for key, value in sorted(pool.labels.items()))
    return {
        "name": machine.name,
        "criSocket": _SOCKET,
        "kubeletExtraArgs": _arguments({"node-ip": machine.address, "node-labels": labels}),
        # Not those of kubeadm: system pods run on the control plane too.
        "taints": taints(pool),
    }


def _arguments(arguments: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in arguments.items()]
