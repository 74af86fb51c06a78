"""What the program does in a cluster, as rights that its user needs there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from components.settings import Settings
from facts.concepts.kubernetes import CLUSTER_RESOURCE_RULES, RBAC, USER_ROLES

_ADMISSION: Final = "admissionregistration.k8s.io"
_LOOK: Final = ("get", "list", "watch")
_MANAGE: Final = (*_LOOK, "create", "patch", "delete")
_EVERYTHING: Final = {"group": "*", "resource": "*", "verbs": ["*"]}
# Group and kinds of objects that the program makes without any part of ``workloads``.
_OBJECTS: Final = (
    ("", ("configmaps", "serviceaccounts")),
    ("apps", ("daemonsets",)),
    ("policy", ("poddisruptionbudgets",)),
    ("scheduling.k8s.io", ("priorityclasses",)),
    (_ADMISSION, ("validatingadmissionpolicies", "validatingadmissionpolicybindings")),
    (RBAC, ("roles", "rolebindings", "clusterroles", "clusterrolebindings")),
)


def rights(settings: Settings) -> list[dict[str, Any]]:
    """``{group, resource, name?, verbs}`` in all namespaces.

    Parts of ``workloads`` are charts, whose objects the program does not know: their user may do anything.
    """
    if settings.workloads.tools:
        return [_EVERYTHING]
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for right in (*_looks(), *_objects(settings), *_grants(settings)):
        verbs.setdefault((right["group"], right["resource"], right.get("name", "")), []).extend(right["verbs"])
    return [
        {**_right(group, resource, [*dict.fromkeys(each)]), **({"name": name} if name else {})}
        for (group, resource, name), each in verbs.items()
    ]


def _looks() -> Iterator[dict[str, Any]]:
    yield _right("", "nodes", (*_LOOK, "patch"))
    yield _right("", "namespaces", (*_LOOK, "create", "patch"))
    yield from (_right("", kind, _LOOK) for kind in ("pods", "events"))
    yield _right("batch", "jobs", _LOOK)
    yield _right("apiextensions.k8s.io", "customresourcedefinitions", ("get",))


def _objects(settings: Settings) -> Iterator[dict[str, Any]]:
    for group, kinds in _OBJECTS:
        yield from (_right(group, kind, _MANAGE) for kind in kinds)
    if settings.teams:
        yield _right("", "resourcequotas", _MANAGE)


def _grants(settings: Settings) -> Iterator[dict[str, Any]]:
    """Kubernetes lets a user grant what the user may do, and bind roles with the right to bind them.

    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
    """
    for role in dict.fromkeys(USER_ROLES[entry.role] for entry in settings.access):
        yield {**_right(RBAC, "clusterroles", ("bind",)), "name": role}
    if settings.access:
        for rule in CLUSTER_RESOURCE_RULES:
            yield from (_right(group, kind, rule["verbs"]) for group in rule["apiGroups"] for kind in rule["resources"])


def _right(group: str, resource: str, verbs: Sequence[str]) -> dict[str, Any]:
    return {"group": group, "resource": resource, "verbs": list(verbs)}
