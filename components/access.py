"""Who may do what in the cluster: Kubernetes' own user-facing roles, bound to those whom the cloud lets in.

https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.clouds.base import Subject
from components.cluster import Cluster
from components.settings.access import Access as AccessSetting
from components.settings.teams import Team
from facts.concepts.kubernetes import DEFAULT_NAMESPACE

_API: Final = "rbac.authorization.k8s.io"
_ROLES: Final = {"admin": "cluster-admin", "developer": "edit", "viewer": "view"}

# What is in no namespace, and so in neither ``edit`` nor ``view``: a job that waits is understood by looking at nodes.
SURROUNDINGS: Final[dict[str, Any]] = {
    "apiVersion": f"{_API}/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "gpucluster:surroundings"},
    "rules": [
        {"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["get", "list"]},
        {
            "apiGroups": ["scheduling.k8s.io", "storage.k8s.io"],
            "resources": ["priorityclasses", "storageclasses"],
            "verbs": ["get", "list", "watch"],
        },
    ],
}


@dataclass(frozen=True, kw_only=True)
class AccessArgs:
    """Everybody who is let into ``cluster``, and the namespaces of its teams."""

    cluster: Cluster
    entries: Sequence[AccessSetting]
    teams: Sequence[Team] = ()


class Access(pulumi.ComponentResource):
    """Namespaces, and bindings of roles in them; nothing at all for nobody."""

    namespaces: Mapping[str, pulumi.Resource]

    def __init__(self, name: str, args: AccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:Access", name, None, opts)
        objects, cloud = args.cluster.objects, args.cluster.cloud
        made = {
            namespace: objects.namespace(namespace, self, name=f"{name}-namespace-{namespace}", kept=True)
            for namespace in namespaces(args.entries, args.teams)
            if namespace != DEFAULT_NAMESPACE
        }
        self.namespaces = made
        if args.entries:
            surroundings = objects.declare(f"{name}-surroundings", SURROUNDINGS, self)
            for entry in args.entries:
                for binding in bindings(entry, cloud.subject(entry)):
                    wanted = made.get(binding["metadata"].get("namespace", ""))
                    after = [surroundings] if wanted is None else [surroundings, wanted]
                    objects.declare(f"{name}-{_called(entry, binding)}", binding, self, *after)
        self.register_outputs({"namespaces": list(made)})


def namespaces(entries: Sequence[AccessSetting], teams: Sequence[Team] = ()) -> list[str]:
    """All that are named, each once."""
    named = [namespace for entry in entries for namespace in entry.namespaces]
    return list(dict.fromkeys((*named, *(team.name for team in teams))))


def bindings(entry: AccessSetting, subject: Subject) -> Iterator[dict[str, Any]]:
    """What gives an entry its role. The role is part of each name: Kubernetes changes no binding's role."""
    role = _ROLES[entry.role]
    for namespace in entry.namespaces:
        yield _binding(f"gpucluster:{entry.name}:{role}", role, subject, namespace)
    if not entry.namespaces:
        yield _binding(f"gpucluster:{entry.name}:{role}", role, subject)
    if entry.role != "admin":
        yield _binding(f"gpucluster:{entry.name}:surroundings", SURROUNDINGS["metadata"]["name"], subject)


def _binding(name: str, role: str, subject: Subject, namespace: str | None = None) -> dict[str, Any]:
    return {
        "apiVersion": f"{_API}/v1",
        "kind": "ClusterRoleBinding" if namespace is None else "RoleBinding",
        "metadata": {"name": name, **({} if namespace is None else {"namespace": namespace})},
        "roleRef": {"apiGroup": _API, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _API, "kind": subject.kind, "name": subject.name}],
    }


def _called(entry: AccessSetting, binding: Mapping[str, Any]) -> str:
    role, namespace = binding["roleRef"]["name"].rpartition(":")[2], binding["metadata"].get("namespace")
    return f"{entry.name}-{role}" + (f"-in-{namespace}" if namespace else "")
