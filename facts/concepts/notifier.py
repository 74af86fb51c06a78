"""The account by which a pod waits for the end of a job of its namespace, as ``gpu submit --notify`` has it.

Users may create pods and Secrets in their namespace, but no roles, so the program makes the account.
"""

from __future__ import annotations

from typing import Any, Final

NOTIFIER: Final = "gpu-notifier"
"""The name of the service account, and of its role and binding."""

_RBAC: Final = "rbac.authorization.k8s.io"


def notifier_account(namespace: str) -> list[dict[str, Any]]:
    """The service account, its role and the binding: it reads one Job by name and lists pods, as all users may."""
    metadata = {"name": NOTIFIER, "namespace": namespace}
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    reference = {"apiGroup": _RBAC, "kind": "Role", "name": NOTIFIER}
    subject = {"kind": "ServiceAccount", **metadata}
    binding = {"apiVersion": f"{_RBAC}/v1", "kind": "RoleBinding", "metadata": metadata}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "automountServiceAccountToken": False},
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {**binding, "roleRef": reference, "subjects": [subject]},
    ]
