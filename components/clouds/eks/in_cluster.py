"""What programs that the stack runs in an EKS cluster share: an account, its roles and bindings, a restricted pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

NAMESPACE: Final = "kube-system"

# https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
RESTRICTED_POD: Final[Mapping[str, Any]] = {
    "runAsNonRoot": True,
    "runAsUser": 65534,
    "seccompProfile": {"type": "RuntimeDefault"},
}
RESTRICTED_CONTAINER: Final[Mapping[str, Any]] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}

_RBAC: Final = "rbac.authorization.k8s.io"


def metadata(name: str, labels: Mapping[str, str], *, namespaced: bool = True) -> dict[str, Any]:
    """Metadata in ``NAMESPACE``, or of an object without a namespace."""
    return {"name": name, "labels": dict(labels), **({"namespace": NAMESPACE} if namespaced else {})}


def service_account(name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The account ``name``."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name, labels)}


def bound_role(
    kind: Literal["ClusterRole", "Role"], name: str, labels: Mapping[str, str], rules: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The role ``name`` with ``rules``, and its binding to the account of the same name."""
    where = metadata(name, labels, namespaced=kind == "Role")
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": where,
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
    }
    return [{"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": where, "rules": list(rules)}, binding]
