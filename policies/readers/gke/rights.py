"""Reads rights in Google's projects that everybody gets: every Google account, or everybody on the internet.

As bindings, members and policies of all providers, and of Config Connector and Crossplane.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from facts.concepts.declared import Exposure
from facts.concepts.kubernetes import EVERYBODY
from facts.concepts.unknown import UNKNOWN, Maybe, at, both, coalesce, either, items, text
from policies.readers.resource import Declared, Item, Reader

# https://docs.cloud.google.com/iam/docs/principals-overview#all-users
_EVERYBODY: Final = ("allAuthenticatedUsers", "allUsers")
# All pods of a project's clusters, of one, or of a namespace, and its account that pods without one have:
# https://docs.cloud.google.com/kubernetes-engine/docs/concepts/workload-identity#principal-id-examples
_PODS: Final = re.compile(
    r"principal(?:Set)?://iam\.googleapis\.com/projects/[^/]+/locations/global/workloadIdentityPools/[^/]+\.svc\.id\.goog/"
    r"(?:\*|kubernetes\.cluster/.+|namespace/(?!kube-system$).+|subject/ns/(?!kube-system/)[^/]+/sa/default)"
)
# By these one changes the cluster, or becomes somebody who may: https://docs.cloud.google.com/iam/docs/roles-permissions
_CHANGES_CLUSTERS: Final = re.compile(
    r"roles/(?:owner|editor|container\.(?:admin|clusterAdmin|developer)|resourcemanager\.\w*Admin"
    r"|iam\.(?:securityAdmin|serviceAccount(?:Admin|KeyAdmin|TokenCreator|User)))"
)
# Who has a role on a service account may act as it: https://docs.cloud.google.com/iam/docs/service-account-permissions
_SCOPES: Final = ("Project", "Folder", "Organization", "ServiceAccount")
_KINDS: Final = ("Binding", "Member", "Policy")
_FLEET: Final = ("Feature", "Membership", "Scope")
"""Rights in a fleet's clusters: https://docs.cloud.google.com/kubernetes-engine/fleet-management/docs/fleet-concepts"""
_REFERRED: Final = ("Project", "Folder", "Organization", "IAMServiceAccount")


def read_members(declared: Declared) -> Iterable[Item]:
    """Members of a role, or of a policy's roles, in a project, folder, organization or service account, in which no
    role is for everybody."""
    spec = declared.properties.get("spec")
    sections = [at(spec, "forProvider"), at(spec, "initProvider")]
    bodies = [each for each in sections if each is not None] or [spec if spec is not None else declared.properties]
    kind = at(spec, "resourceRef", "kind")
    if kind is not None and kind is not UNKNOWN and kind not in _REFERRED:
        return
    for role, open_to_all in (grant for body in bodies for grant in _grants(body)):
        if open_to_all is not False:
            what = f"{declared.kind} '{declared.name}'" + (f" with role '{role}'" if isinstance(role, str) else "")
            yield Exposure("rights", what, open_to_all, declared.urn)


def read_fleet_binding(declared: Declared) -> Iterable[Item]:
    """A fleet's binding of a user or a group, as Kubernetes sees them, in its clusters.

    https://docs.cloud.google.com/kubernetes-engine/fleet-management/docs/set-up-scope-access
    """
    role = at(declared.properties, "role", "predefinedRole")
    named = [declared.properties.get(key) for key in ("user", "group")]
    everybody = either(UNKNOWN if each is UNKNOWN else each in EVERYBODY for each in named)
    if everybody is not False and role != "VIEW":
        yield Exposure("rights", f"{declared.kind} '{declared.name}' with role '{role}'", everybody, declared.urn)


def _grants(body: Any) -> Iterator[tuple[Any, Maybe[bool]]]:
    """Each role, and whether everybody has it."""
    policy = coalesce(_parsed(at(body, "policyData")), at(body, "policy"), body)
    for binding in (body, *items(at(policy, "bindings"))):
        members = [at(binding, "member"), *items(at(binding, "members"))]
        # Config Connector's have each member by itself, or a reference to an account.
        names = [at(each, "member") if isinstance(each, Mapping) else each for each in members]
        role = text(at(binding, "role"))
        changes = UNKNOWN if role is UNKNOWN else _CHANGES_CLUSTERS.fullmatch(str(role)) is not None
        yield role, either(_is_everybody(each, changes) for each in names)


def _is_everybody(member: Any, changes: Maybe[bool]) -> Maybe[bool]:
    """Whether it is everybody; of a role that ``changes`` the cluster, so are all its pods."""
    if member is UNKNOWN:
        return UNKNOWN
    return member in _EVERYBODY or both((isinstance(member, str) and _PODS.fullmatch(member) is not None, changes))


def _parsed(policy: Any) -> Any:
    """https://registry.terraform.io/providers/hashicorp/google/latest/docs/data-sources/iam_policy"""
    try:
        return json.loads(policy) if isinstance(policy, str) else policy
    except ValueError:
        return {}


_MEMBERS: Final[Mapping[str, Reader]] = dict.fromkeys(
    (
        *(
            f"gcp:{module}/iAM{kind}:IAM{kind}"
            for module in ("folder", "organizations", "projects", "serviceaccount")
            for kind in _KINDS
        ),
        *(
            f"{provider}:index/{scope[:1].lower()}{scope[1:]}Iam{kind}:{scope}Iam{kind}"
            for provider in ("google", "google-beta")
            for scope in (*_SCOPES, *(f"GkeHub{part}" for part in _FLEET))
            for kind in _KINDS
        ),
        *(f"gcp:gkehub/{part.lower()}Iam{kind}:{part}Iam{kind}" for part in _FLEET for kind in _KINDS),
        "google-native:cloudresourcemanager/*:*Iam*",
        "google-native:iam/*:ServiceAccountIam*",
        "kubernetes:iam.cnrm.cloud.google.com/*:IAMPolicyMember",
        "kubernetes:iam.cnrm.cloud.google.com/*:IAMPolicy",
        "kubernetes:iam.cnrm.cloud.google.com/*:IAMPartialPolicy",
        "kubernetes:cloudplatform.gcp.*upbound.io/*:*IAM*",
        "kubernetes:iam.gcp.crossplane.io/*:ServiceAccountPolicy",
    ),
    read_members,
)

READERS: Final[Mapping[str, Reader]] = {
    **_MEMBERS,
    **{
        token: read_fleet_binding
        for part in ("Membership", "Scope")
        for token in (
            f"gcp:gkehub/{part.lower()}RbacRoleBinding:{part}RbacRoleBinding",
            f"google*:index/gkeHub{part}RbacRoleBinding:*",
        )
    },
}
