"""Rights in a cluster as Rancher and OpenShift spell them, as Kubernetes' own roles and bindings.

https://github.com/rancher/rancher/blob/main/pkg/apis/management.cattle.io/v3/authz_types.go, in Pulumi also
https://www.pulumi.com/registry/packages/rancher2/, https://github.com/openshift/api/blob/master/authorization/v1/types.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, flag, items
from policies.dialects.operators import binding
from policies.readers.kubernetes.objects import apart
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, respelled

_RBAC: Final = "rbac.authorization.k8s.io/v1"
# Rancher's own roles, of which these only read what is no secret, or let somebody log in:
# https://github.com/rancher/rancher/blob/main/pkg/data/management/role_data.go
_HARMLESS: Final = ("nodes-view", "read-only", "user-base", "view")
_OWN: Final = (
    *("admin", "cluster-admin", "cluster-member", "cluster-owner", "edit", "project-member", "project-owner"),
    *("restricted-admin", "user"),
)
_ALL_USERS: Final = "system:cattle:authenticated"
_EVERYTHING: Final = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
_INHERITED: Final = "management.cattle.io/inherited"


def _name_of(role: Any) -> Any:
    """The role of Kubernetes that is as strong as one of Rancher's own; any other has a name of its own."""
    if not isinstance(role, str):
        return role
    return "view" if role in _HARMLESS else "cluster-admin" if role in _OWN else f"rancher:{role}"


def _read_binding(declared: Declared) -> Iterable[Declared]:
    properties = declared.properties
    role = coalesce(
        *(properties.get(f"{kind}{end}") for kind in ("globalRole", "roleTemplate") for end in ("Name", "Id"))
    )
    groups = [properties.get(key) for key in ("groupPrincipalName", "groupPrincipalId", "groupName", "groupId")]
    users = [properties.get(key) for key in ("userName", "userId")]
    kind = "RoleBinding" if declared.kind.startswith("Project") else "ClusterRoleBinding"
    return apart(declared, [binding(kind, declared.object_name, _name_of(role), _subjects(users, groups))], properties)


def _read_role(declared: Declared) -> Iterable[Declared]:
    """A role with its rules, those of the roles that it inherits, and for a new user's role its binding."""
    properties = declared.properties
    name = _name_of(declared.object_name)
    inherited = [
        each
        for key in ("roleTemplateNames", "roleTemplateIds", "inheritedClusterRoles")
        for each in items(properties.get(key))
    ]
    rules = [_lower(rule) for rule in items(properties.get("rules"))]
    rules += [UNKNOWN] if flag(properties.get("external")) is not False or UNKNOWN in inherited else []
    rules += [_EVERYTHING] if any(_name_of(each) == "cluster-admin" for each in inherited) else []
    selectors = [{"matchLabels": {_INHERITED: each}} for each in inherited if each is not UNKNOWN]
    role = {
        "apiVersion": _RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {_INHERITED: declared.object_name}},
        "rules": rules,
        "aggregationRule": {"clusterRoleSelectors": selectors},
    }
    everybody = flag(properties.get("newUserDefault"))
    bound = [binding("ClusterRoleBinding", declared.object_name, name, _subjects([], [_ALL_USERS]))]
    return apart(declared, [role, *(bound if everybody is True else [])], properties)


def _subjects(users: Iterable[Any], groups: Iterable[Any]) -> list[Any]:
    named = ((kind, name) for kind, names in (("User", users), ("Group", groups)) for name in names)
    return [{"kind": kind, "name": name} for kind, name in named if name is not None]


def _lower(rule: Any) -> Any:
    if not isinstance(rule, Mapping) or "nonResourceUrls" not in rule:
        return rule
    return {**rule, "nonResourceURLs": rule["nonResourceUrls"]}


def _of_openshift(declared: Declared) -> Iterable[Declared]:
    """The names of users and groups, where it has some, are the subjects; a role with a namespace is in that one."""
    properties = declared.properties
    names = [items(properties.get(key)) for key in ("userNames", "groupNames")]
    subjects = items(properties.get("subjects"))
    role = properties.get("roleRef")
    changed: dict[str, Any] = {}
    if declared.kind.endswith("Binding"):
        kind = "ClusterRole" if at(role, "namespace") is None else "Role"
        changed = {
            "roleRef": {"kind": kind, "name": at(role, "name")},
            "subjects": _subjects(*names) if any(names) else [_subject(each) for each in subjects],
        }
    yield respelled(declared, f"kubernetes:{_RBAC}:{declared.kind}", {**properties, **changed})


def _subject(subject: Any) -> Any:
    kind = at(subject, "kind")
    return {**subject, "kind": kind.removeprefix("System")} if isinstance(kind, str) else subject


_BINDINGS: Final = ("GlobalRoleBinding", "ClusterRoleTemplateBinding", "ProjectRoleTemplateBinding")
_ROLES: Final = ("GlobalRole", "RoleTemplate")
SPELLINGS: Final[Mapping[str, Spelling]] = {
    **{
        token: spelling
        for kinds, spelling in ((_BINDINGS, _read_binding), (_ROLES, _read_role))
        for kind in kinds
        for token in (f"kubernetes:management.cattle.io/*:{kind}", f"rancher2:index/{kind[0].lower()}{kind[1:]}:{kind}")
    },
    **{
        f"kubernetes:authorization.openshift.io/*:{kind}": _of_openshift
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    },
}
