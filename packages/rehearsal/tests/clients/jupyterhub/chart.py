"""The part of JupyterHub's chart that a rehearsal's empty one leaves out, as far as a notebook needs it.

What the chart says by default: https://z2jh.jupyter.org/en/stable/resources/reference.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

NAMESPACE: Final = "notebook"
HUB: Final = "hub"
FILES: Final = "singleuser"
"""The Secret with the files that notebooks see."""

_DEDICATED: Final = {"operator": "Equal", "value": "user", "effect": "NoSchedule"}
DEFAULTS: Final[dict[str, Any]] = {
    "hub": {
        "allowNamedServers": False,
        "concurrentSpawnLimit": 64,
        "consecutiveFailureLimit": 5,
        "extraConfig": {},
        "extraEnv": {},
    },
    "singleuser": {
        "allowPrivilegeEscalation": False,
        "cloudMetadata": {"blockWithIptables": True, "ip": "169.254.169.254"},
        "cmd": "jupyterhub-singleuser",
        "events": True,
        "extraAnnotations": {},
        "extraFiles": {},
        "extraLabels": {"hub.jupyter.org/network-access-hub": "true"},
        "fsGid": 100,
        "memory": {"guarantee": "1G"},
        "networkTools": {"image": {"name": "quay.io/jupyterhub/k8s-network-tools", "tag": "4.4.0"}},
        "storage": {
            "dynamic": {"storageAccessModes": ["ReadWriteOnce"], "volumeNameTemplate": "volume-{user_server}"},
            "homeMountPath": "/home/jovyan",
        },
        "uid": 1000,
    },
    "scheduling": {
        "userPods": {
            "tolerations": [
                {"key": "hub.jupyter.org/dedicated", **_DEDICATED},
                {"key": "hub.jupyter.org_dedicated", **_DEDICATED},
            ]
        }
    },
}


def objects(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The hub's account with its rights, and the notebooks' files."""
    group = "rbac.authorization.k8s.io"
    everything = {"apiGroups": [""], "verbs": ["get", "watch", "list", "create", "delete"]}
    rules = [
        {**everything, "resources": ["pods", "persistentvolumeclaims", "secrets", "services"]},
        {"apiGroups": [""], "verbs": ["get", "watch", "list"], "resources": ["events"]},
    ]
    account = {"kind": "ServiceAccount", "name": HUB}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _named(HUB)},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": _named(HUB), "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": _named(HUB),
            "roleRef": {"apiGroup": group, "kind": "Role", "name": HUB},
            "subjects": [{**account, "namespace": NAMESPACE}],
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": _named(FILES),
            "stringData": {key: file["stringData"] for key, file in values["singleuser"]["extraFiles"].items()},
        },
    ]


def _named(name: str) -> dict[str, str]:
    return {"name": name, "namespace": NAMESPACE}
