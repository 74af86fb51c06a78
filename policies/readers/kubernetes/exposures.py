"""Reads what everybody may use: rights in a cluster that every account has, and load balancers on the internet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.addresses import open_to_internet
from facts.concepts.declared import Exposure
from facts.concepts.unknown import UNKNOWN, Maybe, at, either, items
from policies.readers.resource import Declared, Item, Reader

# Every Google account, Gmail's too, is in system:authenticated on GKE:
# https://docs.cloud.google.com/kubernetes-engine/docs/best-practices/rbac#avoid-default-roles
_EVERYBODY: Final = ("system:anonymous", "system:authenticated", "system:unauthenticated")
_WRITING_ROLES: Final = ("admin", "cluster-admin", "edit")

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
    role, subjects = at(declared.properties, "roleRef", "name"), declared.properties.get("subjects")
    names = [at(subject, "name") for subject in items(subjects)]
    if role is UNKNOWN or role in _WRITING_ROLES:
        everybody = either(UNKNOWN if name is UNKNOWN else name in _EVERYBODY for name in names)
        open_to_everybody = UNKNOWN if role is UNKNOWN and everybody is True else everybody
        what = f"{declared.kind} '{declared.name}'" + (f" with role '{role}'" if isinstance(role, str) else "")
        yield Exposure("rights", what, open_to_everybody, declared.urn)


def read_service(declared: Declared) -> Iterable[Item]:
    """A Service of type LoadBalancer."""
    spec = declared.properties.get("spec")
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


READERS: Final[Mapping[str, Reader]] = {
    "kubernetes:rbac.authorization.k8s.io/*Binding*": read_binding,
    "kubernetes:core/v1:Service": read_service,
}
