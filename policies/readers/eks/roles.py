"""Reads which roles EKS gives to pods, with their policies: Pod Identity, and roles for service accounts (IRSA).

https://docs.aws.amazon.com/eks/latest/userguide/pod-identities.html and
https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from facts.concepts.declared import PodRole
from facts.concepts.iam import Document, parsed, trusts
from facts.concepts.unknown import UNKNOWN, Maybe, at, coalesce, items, text
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.tables import rows

ASSOCIATION: Final = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
_ACCOUNT: Final = "kubernetes:core/v1:ServiceAccount"
_ROLE: Final = "aws:iam/role:Role"
_INLINE: Final = "aws:iam/rolePolicy:RolePolicy"
_POLICY: Final = "aws:iam/policy:Policy"
# A resource that gives a role rights → its property that names the role.
_GIVERS: Final[Mapping[str, str]] = {
    _INLINE: "role",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "role",
    "aws:iam/policyAttachment:PolicyAttachment": "roles",
    "aws:iam/rolePoliciesExclusive:RolePoliciesExclusive": "roleName",
    "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive": "roleName",
}
_BOUNDARY: Final = "permissionsBoundary"
_ROLE_ANNOTATION: Final = "eks.amazonaws.com/role-arn"
_POD_IDENTITY: Final = "pods.eks.amazonaws.com"
_TRUSTED: Final = ("sts:AssumeRole", "sts:TagSession")

_MANAGED: Final = {row["policy"]: row["actions"].split() for row in rows("readers/eks", "managed_policies")}
"""Policy that AWS maintains → what it allows of an autoscaler's rights."""


def read_association(declared: Declared) -> Iterable[Item]:
    """``aws:eks/podIdentityAssociation:PodIdentityAssociation``."""
    inputs = declared.properties
    if not _roles(declared):
        yield _elsewhere(declared, _known(inputs.get("namespace")), _known(inputs.get("serviceAccount")))
    for role in _roles(declared):
        yield PodRole(
            role=role.name,
            namespace=_known(inputs.get("namespace")),
            service_account=_known(inputs.get("serviceAccount")),
            policies=tuple(_policies(role, declared.references)),
            assumable=trusts(parsed(role.properties.get("assumeRolePolicy")), _POD_IDENTITY, _TRUSTED),
            cluster=text(inputs.get("clusterName")),
            resource=declared.urn,
            boundary=_boundary(role, declared.references),
        )


def role_of_account(declared: Declared, annotations: Any, namespace: Maybe[str], account: Maybe[str]) -> Iterable[Item]:
    """The role that a service account's annotations name, if they name one."""
    if at(annotations, _ROLE_ANNOTATION) is None:
        return
    if not _roles(declared):
        yield _elsewhere(declared, namespace, account)
    for role in _roles(declared):
        policies = tuple(_policies(role, declared.references))
        boundary = _boundary(role, declared.references)
        yield PodRole(role.name, namespace, account, policies, resource=declared.urn, boundary=boundary)


def role_of_nodes(declared: Declared) -> Iterable[Item]:
    """The role of a managed node group's machines, if it is among the references of ``declared``."""
    for role in _roles(declared):
        policies = tuple(_policies(role, declared.references))
        cluster = text(declared.properties.get("clusterName"))
        own = PodRole(role.name, UNKNOWN, UNKNOWN, policies, cluster=cluster, of_nodes=True, resource=declared.urn)
        yield replace(own, boundary=_boundary(role, declared.references))


def read_service_account(declared: Declared) -> Iterable[Item]:
    """``kubernetes:core/v1:ServiceAccount`` with a role for its pods."""
    metadata = declared.properties.get("metadata")
    name, namespace = coalesce(text(at(metadata, "name")), declared.name), text(at(metadata, "namespace"))
    yield from role_of_account(declared, at(metadata, "annotations"), coalesce(namespace, "default"), name)


def roles_among(declared: Declared, property: str, everything: Program) -> list[Declared]:
    """The roles that ``property`` comes from or names, with everything that gives them rights."""
    sources = declared.dependencies.get(property, ())
    written = declared.properties.get(property)
    roles = [other for other in everything.of(_ROLE) if other.urn in sources or _named(other, written)]
    givers = [other for other in everything.of(*_GIVERS) if any(_belongs(other, role) for role in roles)]
    attached = {urn for giver in givers for urn in giver.dependencies.get("policyArn", ())}
    attached.update(urn for role in roles for urn in role.dependencies.get(_BOUNDARY, ()))
    return [*roles, *givers, *(other for other in everything.of(_POLICY) if other.urn in attached)]


READERS: Final[Mapping[str, Reader]] = {ASSOCIATION: read_association, _ACCOUNT: read_service_account}


def roles_from(property: str) -> Referrer:
    """Completes a resource, which is also read alone, by the roles of one of its properties."""
    return Referrer(
        refers=lambda _: False, finds=lambda declared, everything: roles_among(declared, property, everything)
    )


REFERRERS: Final[Mapping[str, Referrer]] = {ASSOCIATION: roles_from("roleArn"), _ACCOUNT: roles_from("metadata")}


def _roles(declared: Declared) -> list[Declared]:
    return [other for other in declared.references if other.type == _ROLE]


def _elsewhere(declared: Declared, namespace: Maybe[str], account: Maybe[str]) -> PodRole:
    return PodRole("declared elsewhere", namespace, account, (UNKNOWN,), elsewhere=True, resource=declared.urn)


def _policies(role: Declared, others: Sequence[Declared]) -> Iterable[Maybe[Document]]:
    """Every document of the role: its own, those of other resources, and those that AWS maintains."""
    inputs = role.properties
    for entry in items(inputs.get("inlinePolicies")):
        yield parsed(at(entry, "policy"))
    for arn in items(inputs.get("managedPolicyArns")):
        yield _managed(arn)
    declared = {other.urn: other for other in others if other.type == _POLICY}
    for other in others:
        if other.type not in _GIVERS or not _belongs(other, role):
            continue
        if other.type == _INLINE:
            yield parsed(other.properties.get("policy"))
        else:
            sources = [declared[urn] for urn in other.dependencies.get("policyArn", ()) if urn in declared]
            own = parsed(sources[0].properties.get("policy")) if sources else None
            yield _managed(other.properties.get("policyArn")) if own is None else own


def _boundary(role: Declared, others: Sequence[Declared]) -> Maybe[Document] | None:
    """The policy beyond which the role has no rights; ``None`` without one, and for one of another program."""
    arn = role.properties.get(_BOUNDARY)
    sources = [other for other in others if other.type == _POLICY and other.urn in role.dependencies.get(_BOUNDARY, ())]
    if sources:
        return parsed(sources[0].properties.get("policy"))
    known = _managed(arn)
    return UNKNOWN if arn is UNKNOWN else None if known is UNKNOWN else known


def _managed(arn: Any) -> Maybe[Document]:
    """What AWS's policy allows, by its name at the end of the ARN."""
    name = arn.rpartition("/")[2] if isinstance(arn, str) and ":aws:policy/" in arn else ""
    if name not in _MANAGED:
        return UNKNOWN
    return {"Statement": [{"Effect": "Allow", "Action": _MANAGED[name], "Resource": "*"}]}


def _belongs(other: Declared, role: Declared) -> bool:
    """Whether a resource gives rights to this role."""
    property = _GIVERS[other.type]
    named = other.properties.get(property)
    by_name = any(_named(role, name) for name in (named if isinstance(named, list) else [named]))
    return by_name or role.urn in other.dependencies.get(property, ())


def _named(role: Declared, written: Any) -> bool:
    """Whether a name or an ARN is this role's."""
    name = role.properties.get("name")
    return isinstance(name, str) and isinstance(written, str) and written.rpartition("/")[2] == name


def _known(value: Any) -> Maybe[str]:
    return coalesce(text(value), UNKNOWN)
