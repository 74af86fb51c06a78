"""Whether each principal in the stack file has exactly the permissions of its role.

The API server answers (SubjectAccessReview) for the user and groups that the cloud maps the principal to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from components.settings.access import Access, Role
from rehearsal.cluster.api import Api
from rehearsal.scenario.check import Check
from rehearsal.simulation import UserInfo

# Where nobody has a role by name.
_ELSEWHERE: Final = "kube-system"
_DEVELOPERS: Final = frozenset[Role]({"admin", "developer"})
_ALL: Final = frozenset[Role]({"admin", "developer", "viewer"})


@dataclass(frozen=True)
class _Try:
    """A request in a namespace (``""``: cluster-wide); ``may``: the roles that are permitted to make it."""

    verb: str
    resource: str
    may: frozenset[Role]
    group: str = ""


_IN_OWN_NAMESPACE: Final = (
    _Try("create", "jobs", _DEVELOPERS, "batch"),
    _Try("delete", "pods", _DEVELOPERS),
    _Try("get", "secrets", _DEVELOPERS),
    _Try("list", "pods", _ALL),
    _Try("create", "rolebindings", frozenset({"admin"}), "rbac.authorization.k8s.io"),
    _Try("delete", "resourcequotas", frozenset({"admin"})),
)
_IN_ANOTHER: Final = (
    _Try("create", "jobs", frozenset({"admin"}), "batch"),
    _Try("get", "secrets", frozenset({"admin"})),
)
_IN_NONE: Final = (
    _Try("list", "nodes", _ALL),
    _Try("delete", "nodes", frozenset({"admin"})),
    _Try("create", "clusterrolebindings", frozenset({"admin"}), "rbac.authorization.k8s.io"),
    _Try("delete", "validatingadmissionpolicies", frozenset({"admin"}), "admissionregistration.k8s.io"),
)


def people_checks(api: Api, access: Sequence[Access], identities: Mapping[str, UserInfo]) -> Iterator[Check]:
    """A check for each entry of ``access``; ``identities``: principal → its user and groups in the cluster."""
    for entry in access:
        title = f"{entry.name} has exactly the permissions of the role {entry.role}"
        login = identities.get(entry.who)
        if login is None:
            yield Check(
                f"access:{entry.name}", title, False, f"the cloud does not grant {entry.who} access to the cluster"
            )
            continue
        tried = [(one, where) for where in entry.namespaces or ("default",) for one in _IN_OWN_NAMESPACE]
        tried += [(one, _ELSEWHERE) for one in _IN_ANOTHER] + [(one, "") for one in _IN_NONE]
        wrong = [
            f"{'may not' if entry.role in one.may else 'may'} {one.verb} {one.resource} in {where or 'no namespace'}"
            for one, where in tried
            if _may(api, login, one, where) != (entry.role in one.may)
        ]
        allowed = sum(entry.role in one.may for one, _ in tried)
        detail = "; ".join(wrong) or f"{allowed} of {len(tried)} permissions granted, as declared"
        yield Check(f"access:{entry.name}", title, not wrong, f"{entry.who} {detail}" if wrong else detail)


def _may(api: Api, login: UserInfo, one: _Try, namespace: str) -> bool:
    attributes = {"group": one.group, "resource": one.resource, "verb": one.verb, "namespace": namespace}
    return api.permits(login.user, login.groups, attributes)
