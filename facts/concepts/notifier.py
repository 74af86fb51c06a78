"""The account by which a pod waits for the end of a job of its namespace, as ``gpu submit --notify`` has it.

Users may create pods and Secrets in their namespace, but no roles, so the program makes the account.
"""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.kubernetes import RBAC, manifest

NOTIFIER: Final = "gpu-notifier"
"""The name of the service account, and of its role and binding."""


def notifier_account(namespace: str) -> list[dict[str, Any]]:
    """The service account, its role and the binding: it reads one Job by name and lists pods, as all users may."""
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    reference = {"apiGroup": RBAC, "kind": "Role", "name": NOTIFIER}
    subject = {"kind": "ServiceAccount", "name": NOTIFIER, "namespace": namespace}
    return [
        manifest("v1", "ServiceAccount", NOTIFIER, namespace, automountServiceAccountToken=False),
        manifest(f"{RBAC}/v1", "Role", NOTIFIER, namespace, rules=rules),
        manifest(f"{RBAC}/v1", "RoleBinding", NOTIFIER, namespace, roleRef=reference, subjects=[subject]),
    ]
