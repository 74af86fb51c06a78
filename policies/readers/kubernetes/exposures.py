"""Reads rights in a cluster that everybody has: every account, every pod."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.declared import Exposure, UnknownReason
from facts.concepts.kubernetes import EVERYBODY
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    at,
    both,
    coalesce,
    either,
    flag,
    holds_unknown,
    items,
    mapping,
    negation,
)
from policies.readers.resource import Declared, Item, Program, Reader, Referrer

# Every node, whose credentials a pod that escapes has, and whoever has a token by which machines join. Kubernetes and
# network plugins bind roles of their own to them:
# https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
_NODES: Final = ("system:nodes", "system:bootstrappers")
_NAMESPACE_GROUP: Final = "system:serviceaccounts:"
_ACCOUNT: Final = "system:serviceaccount:"
_SYSTEM: Final = "kube-system"

# Kubernetes binds all but view and the reader of that ConfigMap to everybody itself; view shows no Secrets:
# https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
_HARMLESS_ROLES: Final = (
    ("ClusterRole", "system:basic-user"),
    ("ClusterRole", "system:discovery"),
    ("ClusterRole", "system:public-info-viewer"),
    ("ClusterRole", "system:service-account-issuer-discovery"),
    ("ClusterRole", "view"),
    ("Role", "extension-apiserver-authentication-reader"),
)
_BOUND_TO_EVERYBODY: Final = tuple(name for kind, name in _HARMLESS_ROLES if kind == "ClusterRole" and name != "view")
_BUILT_IN_ROLE: Final = re.compile(r"admin|cluster-admin|edit|system:.*")
_TO_VIEW: Final = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
_BUILT_IN: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
# The labels of Kubernetes' own roles that are powerful:
# https://github.com/kubernetes/kubernetes/blob/master/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata/cluster-roles.yaml
_POWERFUL_LABELS: Final = (
    _BUILT_IN,
    {**_BUILT_IN, "rbac.authorization.k8s.io/aggregate-to-edit": "true"},
    {**_BUILT_IN, "rbac.authorization.k8s.io/aggregate-to-admin": "true"},
)

_READING: Final = re.compile(r"get|list|watch|head")
# "get" of a subresource may run commands (https://github.com/kubernetes/kubernetes/issues/78741), and * includes all of
# them. Operators keep keys in kinds of their own, such as Rancher's tokens and OpenShift's oauthclients.
_READABLE: Final = re.compile(
    r"(?!.*(?:credential|kubeconfig|oauth|secret|token))[a-z0-9.-]+(?:/(?:scale|status))?|"
    r"pods/log|nodes/(?:metrics|stats)"
)
_READABLE_URL: Final = re.compile(
    r"/(?:\.well-known|apis?|healthz|livez|metrics|openapi|openid/v1/jwks|readyz|version)(?:/.*|\*)?"
)
_CREATING: Final = re.compile(r"create")
_OWN_REVIEW: Final = re.compile(r"selfsubject(?:access|rules)?reviews")

_RBAC: Final = "kubernetes:rbac.authorization.k8s.io/"

_NOT_DECLARED: Final = UnknownReason(
    "no resource of this program is a role of that name",
    "Declare the role as a resource of this program, or name the users, groups or service accounts that need it.",
)


_IN_TEMPLATE: Final = UnknownReason(
    "the resource that holds it may fill it in later",
    "Name the users, groups or service accounts that need the role, and the role, without a placeholder.",
)


def read_binding(declared: Declared) -> Iterable[Item]:
    """A RoleBinding or ClusterRoleBinding of a role with more than harmless rights."""
    _, name = _role(declared)
    elsewhere = not _is_declared(declared)
    everybody, rights = _everybody(declared), _role_exceeds(declared)
    exposed = both((everybody, either((rights, UNKNOWN if elsewhere else False))))
    exposed = either((exposed, both((_nodes(declared), _is_administrators(declared)))))
    if exposed is not False:
        what = f"{declared.kind} '{declared.name}'" + (f" with role '{name}'" if isinstance(name, str) else "")
        reason = _NOT_DECLARED if elsewhere and everybody is True and exposed is UNKNOWN else None
        if exposed is UNKNOWN and declared.holder and not declared.holder.startswith("kubernetes:yaml"):
            reason = reason or _IN_TEMPLATE
        yield Exposure("rights", what, exposed, declared.urn, reason)


def read_role(declared: Declared) -> Iterable[Item]:
    """A role, or a patch of one, that Kubernetes' own bindings give to everybody."""
    exceeds = _rules_exceed(declared) if declared.object_name in _BOUND_TO_EVERYBODY else False
    if exceeds is not False:
        what = f"{declared.kind} '{declared.object_name}', which Kubernetes binds to everybody,"
        yield Exposure("rights", what, exceeds, declared.urn)


def read_constraints(declared: Declared) -> Iterable[Item]:
    """OpenShift's ``SecurityContextConstraints``: whether all pods may be what their node is.

    https://github.com/openshift/api/blob/master/security/v1/types.go
    """
    properties = declared.properties
    subjects = [{"name": each} for key in ("users", "groups") for each in items(properties.get(key))]
    everybody = either(either((_is_everybody(each), _is_of_a_namespace(each))) for each in subjects)
    allowed = [flag(properties.get(key)) for key in _AS_THE_NODE]
    allowed += [
        UNKNOWN if each is UNKNOWN else each in _NODES_CAPABILITIES
        for each in items(properties.get("allowedCapabilities"))
    ]
    exposed = both((everybody, either(allowed)))
    if exposed is not False:
        yield Exposure("rights", f"{declared.kind} '{declared.object_name}'", exposed, declared.urn)


_AS_THE_NODE: Final = ("allowPrivilegedContainer", "allowHostDirVolumePlugin", "allowHostPID", "allowHostNetwork")
_NODES_CAPABILITIES: Final = ("*", "ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE")


def _everybody(binding: Declared) -> Maybe[bool]:
    """Whether a subject is everybody. Of rights in the whole cluster or in its system's namespace, so are all pods of
    another namespace, and its account ``default``: that of every pod which names none."""
    namespace = coalesce(at(binding.properties, "metadata", "namespace"), binding.provider.get("namespace"))
    everywhere = binding.kind == "ClusterRoleBinding" or (UNKNOWN if namespace is UNKNOWN else namespace == _SYSTEM)
    subjects = items(binding.properties.get("subjects"))
    return either(either((_is_everybody(each), both((everywhere, _is_of_a_namespace(each))))) for each in subjects)


def _nodes(binding: Declared) -> Maybe[bool]:
    names = (at(each, "name") for each in items(binding.properties.get("subjects")))
    return either(UNKNOWN if name is UNKNOWN else str(name) in _NODES for name in names)


def _is_administrators(binding: Declared) -> Maybe[bool]:
    """Whether its role lets change everything: one of Kubernetes' own for people, or by ``*``."""
    kind, name = _role(binding)
    if name is UNKNOWN:
        return UNKNOWN
    rules = (rule for role in binding.references for rule in items(role.properties.get("rules")))
    everything = (all("*" in items(at(rule, key)) for key in ("verbs", "resources")) for rule in rules)
    return (kind != "Role" and name in _ADMINISTRATORS) or any(everything)


_ADMINISTRATORS: Final = ("admin", "cluster-admin", "edit")


def _is_everybody(subject: Any) -> Maybe[bool]:
    name = at(subject, "name")
    return UNKNOWN if name is UNKNOWN else str(name) in EVERYBODY


def _is_of_a_namespace(subject: Any) -> Maybe[bool]:
    name, namespace = at(subject, "name"), at(subject, "namespace")
    if name is UNKNOWN:
        return UNKNOWN
    text = str(name)
    if text.startswith(_NAMESPACE_GROUP):
        return text != f"{_NAMESPACE_GROUP}{_SYSTEM}"
    if text.startswith(_ACCOUNT):
        namespace, _, text = text.removeprefix(_ACCOUNT).partition(":")
    elif at(subject, "kind") != "ServiceAccount":
        return False
    return text == "default" and namespace != _SYSTEM


def _role(binding: Declared) -> tuple[Any, Any]:
    """The kind and name of its role. A patch may leave them out; Kubernetes' own bindings have their roles' names."""
    role = binding.properties.get("roleRef")
    if role is None:
        return "ClusterRole", binding.object_name
    return at(role, "kind"), at(role, "name")


def _built_in_exceeds(binding: Declared) -> Maybe[bool | None]:
    """Whether its role, by name, is one of Kubernetes' with more than harmless rights; ``None`` for any other role."""
    kind, name = _role(binding)
    if name is UNKNOWN:
        return UNKNOWN
    if (kind, name) in _HARMLESS_ROLES:
        return False
    return True if kind != "Role" and _BUILT_IN_ROLE.fullmatch(str(name)) else None


def _is_declared(binding: Declared) -> bool:
    """Whether Kubernetes or the program declares its role in its cluster, and something for each aggregation of it."""
    if _built_in_exceeds(binding) is None and not any(role.place.same(binding.place) for role in binding.references):
        return False
    labels = [_TO_VIEW | _BUILT_IN, *(at(role.properties, "metadata", "labels") for role in binding.references)]
    selectors = (selector for role in binding.references for selector in _selectors(role))
    return all(either(_selects(selector, each) for each in labels) is not False for selector in selectors)


def _role_exceeds(binding: Declared) -> Maybe[bool]:
    """Whether its role allows more than harmless rights: by name, or by the rules that the program declares."""
    built_in, (_, name) = _built_in_exceeds(binding), _role(binding)
    answers: list[Maybe[bool]] = [False if built_in is None else built_in]
    for role in binding.references:
        certain = role.object_name == name or not holds_unknown(at(role.properties, "metadata", "labels"))
        answers.append(both((_rules_exceed(role), True if certain else UNKNOWN)))
    return either(answers)


def _rules_exceed(role: Declared) -> Maybe[bool]:
    """Whether the rules of a role, or those of Kubernetes' own roles that it selects, are more than harmless."""
    rules = (_rule_exceeds(rule) for rule in items(role.properties.get("rules")))
    return either((*rules, *(_selects(each, labels) for each in _selectors(role) for labels in _POWERFUL_LABELS)))


def _rule_exceeds(rule: Any) -> Maybe[bool]:
    verbs, resources, urls = (items(at(rule, key)) for key in ("verbs", "resources", "nonResourceURLs"))
    reads = (_all(verbs, _READING), _all(resources, _READABLE), _all(urls, _READABLE_URL))
    reviews = (_all(verbs, _CREATING), _all(resources, _OWN_REVIEW), not urls)
    return negation(either((both(reads), both(reviews))))


def _all(values: Iterable[Any], pattern: re.Pattern[str]) -> Maybe[bool]:
    return both(UNKNOWN if each is UNKNOWN else pattern.fullmatch(str(each)) is not None for each in values)


def _selectors(role: Declared) -> list[Any]:
    return items(at(role.properties, "aggregationRule", "clusterRoleSelectors"))


def _selects(selector: Any, labels: Any) -> Maybe[bool]:
    """Whether a label selector selects an object with these labels; without conditions it selects every object."""
    equal = mapping(at(selector, "matchLabels"))
    if selector is UNKNOWN or equal is UNKNOWN:
        return UNKNOWN
    conditions = [{"key": key, "operator": "In", "values": [value]} for key, value in equal.items()]
    return both(_holds(each, labels) for each in (*conditions, *items(at(selector, "matchExpressions"))))


def _holds(condition: Any, labels: Any) -> Maybe[bool]:
    operator, values = at(condition, "operator"), items(at(condition, "values"))
    label = at(labels, str(at(condition, "key")))
    if label is UNKNOWN or holds_unknown(condition):
        return UNKNOWN
    held = label is not None if operator in ("Exists", "DoesNotExist") else label in values
    return held if operator in ("Exists", "In") else not held


def _roles(binding: Declared, everything: Program) -> Iterable[Declared]:
    """The program's roles of its role's name, and those whose rules such a role gets, as it selects their labels."""
    kind, name = _role(binding)
    roles = [role for role in everything.of_kinds(kind) if role.type.startswith(_RBAC)]
    if kind == "Role":
        roles = [role for role in roles if role.namespace == binding.namespace]
    bound = [role for role in roles if isinstance(name, str) and role.object_name == name]
    selectors = [{"matchLabels": _TO_VIEW}] if (kind, name) == ("ClusterRole", "view") else []
    for role in bound:
        selectors += [each for each in _selectors(role) if not holds_unknown(each)]
    while selectors:
        selector = selectors.pop()
        for role in roles:
            if role not in bound and _selects(selector, at(role.properties, "metadata", "labels")) is not False:
                bound.append(role)
                selectors += [each for each in _selectors(role) if not holds_unknown(each)]
    return bound


REFERRERS: Final[Mapping[str, Referrer]] = {
    # Only then the role's rules decide; any other binding is checked before its creation.
    "kubernetes:rbac.authorization.k8s.io/*RoleBinding": Referrer(
        refers=lambda declared: (
            _built_in_exceeds(declared) in (False, None)
            and either((_everybody(declared), _nodes(declared))) is not False
        ),
        finds=_roles,
    )
}

READERS: Final[Mapping[str, Reader]] = {
    "kubernetes:rbac.authorization.k8s.io/*RoleBinding": read_binding,
    "kubernetes:rbac.authorization.k8s.io/*:ClusterRole": read_role,
    "kubernetes:security.openshift.io/*:SecurityContextConstraints": read_constraints,
}
