"""Reads what everybody may use: rights in a cluster that every account has, and load balancers on the internet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.addresses import open_to_internet
from facts.concepts.declared import Exposure
from facts.concepts.unknown import UNKNOWN, Maybe, at, either, holds_unknown, items
from policies.readers.resource import Declared, Item, Program, Reader, Referrer

# Every Google account, Gmail's too, is in system:authenticated on GKE:
# https://docs.cloud.google.com/kubernetes-engine/docs/best-practices/rbac#avoid-default-roles
# All pods are in system:serviceaccounts: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects
# Users that log in to OpenShift and Rancher have a group of their own, all of them:
# https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/authentication_and_authorization
_EVERYBODY: Final = (
    "system:anonymous",
    "system:authenticated",
    "system:authenticated:oauth",
    "system:cattle:authenticated",
    "system:serviceaccounts",
    "system:unauthenticated",
)
_NAMESPACE_GROUP: Final = "system:serviceaccounts:"
_ACCOUNT: Final = "system:serviceaccount:"
_SYSTEM: Final = "kube-system"
_WRITING_ROLES: Final = ("admin", "cluster-admin", "edit")
_WRITING_VERBS: Final = (
    "*",
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "impersonate",
    "patch",
    "update",
)
# By one of these kinds a user has the rights of every pod, or gives them to others; * is all of them.
# https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
_POWERFUL: Final = re.compile(
    r"\*(?:/\*)?|pods(?:/(?:\*|exec|attach|ephemeralcontainers))?|(?:daemon|replica|stateful)sets|deployments|(?:cron)?jobs|"
    r"replicationcontrollers|secrets|serviceaccounts(?:/token)?|(?:cluster)?roles?(?:bindings)?|nodes(?:/proxy)?|namespaces|"
    r"(?:mutating|validating)webhookconfigurations|users|groups|certificatesigningrequests/approval"
)
_AGGREGATED: Final = re.compile(r"rbac\.authorization\.k8s\.io/aggregate-to-(?:admin|edit)")
_RBAC: Final = "kubernetes:rbac.authorization.k8s.io/"

# https://cloud.google.com/kubernetes-engine/docs/how-to/internal-load-balancing,
# https://learn.microsoft.com/azure/aks/internal-lb, https://cloud-provider-aws.sigs.k8s.io/service_controller/
_INTERNAL: Final = {
    "networking.gke.io/load-balancer-type": "internal",
    "cloud.google.com/load-balancer-type": "internal",
    "service.beta.kubernetes.io/azure-load-balancer-internal": "true",
    "service.beta.kubernetes.io/aws-load-balancer-internal": "true",
    "service.beta.kubernetes.io/aws-load-balancer-scheme": "internal",
}
# With either, AWS' own controller makes the load balancer, an internal one unless its scheme says otherwise:
# https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/service/nlb
_CONTROLLER: Final = ("service.beta.kubernetes.io/aws-load-balancer-type", ("external", "nlb-ip"))
_SCHEME: Final = "service.beta.kubernetes.io/aws-load-balancer-scheme"


def read_binding(declared: Declared) -> Iterable[Item]:
    """A RoleBinding or ClusterRoleBinding of a role that writes."""
    role, writes = at(declared.properties, "roleRef", "name"), _writes(declared)
    if writes is not False:
        everybody = _everybody(declared)
        open_to_everybody = UNKNOWN if writes is UNKNOWN and everybody is True else everybody
        what = f"{declared.kind} '{declared.name}'" + (f" with role '{role}'" if isinstance(role, str) else "")
        yield Exposure("rights", what, open_to_everybody, declared.urn)


def _everybody(binding: Declared) -> Maybe[bool]:
    everywhere = binding.kind == "ClusterRoleBinding"
    return either(_is_everybody(subject, everywhere) for subject in items(binding.properties.get("subjects")))


def _is_everybody(subject: Any, everywhere: bool) -> Maybe[bool]:
    """Whether a subject is everybody, or, of rights that hold ``everywhere``, all pods of a namespace but the system's.

    A namespace's account ``default`` is that of every pod which names none.
    """
    name, namespace = at(subject, "name"), at(subject, "namespace")
    if name is UNKNOWN:
        return UNKNOWN
    text = str(name)
    if text in _EVERYBODY:
        return True
    if text.startswith(_NAMESPACE_GROUP):
        return everywhere and text != f"{_NAMESPACE_GROUP}{_SYSTEM}"
    if text.startswith(_ACCOUNT):
        namespace, _, text = text.removeprefix(_ACCOUNT).partition(":")
    elif at(subject, "kind") != "ServiceAccount":
        return False
    return everywhere and text == "default" and namespace != _SYSTEM


def _writes(binding: Declared) -> Maybe[bool]:
    """Whether its role can change what runs: by name, or by the rules of a role that the program declares."""
    role = at(binding.properties, "roleRef", "name")
    if role is UNKNOWN or role in _WRITING_ROLES:
        return UNKNOWN if role is UNKNOWN else True
    return either(_role_writes(each.properties) for each in binding.references)


def _role_writes(role: Mapping[str, Any]) -> Maybe[bool]:
    if holds_unknown(role.get("rules")):
        return UNKNOWN
    selected = at(role, "aggregationRule", "clusterRoleSelectors")
    return _AGGREGATED.search(str(selected)) is not None or any(_rule_writes(each) for each in items(role.get("rules")))


def _rule_writes(rule: Any) -> bool:
    groups, verbs = items(at(rule, "apiGroups")), items(at(rule, "verbs"))
    own = any(group == "*" or "." not in str(group) or str(group).endswith(".k8s.io") for group in groups)
    powerful = any(_POWERFUL.fullmatch(str(each)) for each in items(at(rule, "resources")))
    return own and powerful and any(verb in _WRITING_VERBS for verb in verbs) and not items(at(rule, "resourceNames"))


def _roles(binding: Declared, everything: Program) -> Iterable[Declared]:
    kind, name = (at(binding.properties, "roleRef", key) for key in ("kind", "name"))
    for role in everything.of_kinds(kind):
        own = role.type.startswith(_RBAC) and (kind != "Role" or role.namespace == binding.namespace)
        if own and isinstance(name, str) and role.object_name == name:
            yield role


def read_service(declared: Declared) -> Iterable[Item]:
    """A Service of type LoadBalancer, or one with addresses of its own."""
    spec = declared.properties.get("spec")
    addresses = at(spec, "externalIPs")
    taken = UNKNOWN if addresses is UNKNOWN else bool(addresses)
    if taken is not False:
        yield Exposure("addresses", f"Service '{declared.name}'", taken, declared.urn)
    if at(spec, "type") == "LoadBalancer":
        public = _public(at(declared.properties, "metadata", "annotations"), spec)
        yield Exposure("network", f"Service '{declared.name}'", public, declared.urn)


def _public(annotations: Any, spec: Any) -> Maybe[bool]:
    ranges = items(at(spec, "loadBalancerSourceRanges"))
    if ranges and (reached := open_to_internet(ranges)) is not True:
        return reached
    values = {key: at(annotations, key) for key in (*_INTERNAL, _CONTROLLER[0], _SCHEME)}
    if UNKNOWN in values.values():
        return UNKNOWN
    if any(str(values[key]).lower() == internal for key, internal in _INTERNAL.items()):
        return False
    by_controller = at(spec, "loadBalancerClass") is not None or values[_CONTROLLER[0]] in _CONTROLLER[1]
    return values[_SCHEME] == "internet-facing" if by_controller else True


REFERRERS: Final[Mapping[str, Referrer]] = {
    # Only then the role's rules decide; any other binding is checked before its creation.
    "kubernetes:rbac.authorization.k8s.io/*Binding*": Referrer(
        refers=lambda declared: _writes(declared) is False and _everybody(declared) is not False, finds=_roles
    )
}

READERS: Final[Mapping[str, Reader]] = {
    "kubernetes:rbac.authorization.k8s.io/*Binding*": read_binding,
    "kubernetes:core/v1:Service": read_service,
}
