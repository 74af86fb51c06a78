"""Access for users and pipelines: IAM admits them to the cluster, and Kubernetes RBAC authorizes them.

https://cloud.google.com/kubernetes-engine/docs/how-to/role-based-access-control: RBAC decides before IAM. A
login needs ``container.clusters.get``, which Kubernetes Engine Cluster Viewer has. IAM has no resource for a cluster,
so the role is granted on the project: its members can list the other clusters there, but see nothing inside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.base import Subject, former_name, named_subject
from components.clouds.declare import gke as declare
from components.settings import Settings
from components.settings.sections.access import Access

if TYPE_CHECKING:
    from schemas import gke

_LOGIN_ROLE: Final = "roles/container.clusterViewer"

# GKE recognises the groups that are members of this group; Google fixed its name:
# https://cloud.google.com/kubernetes-engine/docs/how-to/google-groups-rbac
_SECURITY_GROUP: Final = "gke-security-groups"


def subject(entry: Access) -> Subject:
    """``group:…``, ``user:…`` and ``serviceAccount:…`` by their address; users and groups of a workforce pool by their
    whole identifier (https://docs.cloud.google.com/kubernetes-engine/docs/deprecations/identity-service)."""
    if entry.who.startswith(("principal://", "principalSet://")):
        return Subject(kind="Group" if entry.who.startswith("principalSet") else "User", name=entry.who)
    return named_subject(entry)


def authenticator_groups(settings: Settings) -> gke.AuthenticatorGroupsConfig | None:
    """The security group with all of Google's groups that have a role; ``None`` if none has one."""
    domains = [entry.who.rpartition("@")[2] for entry in settings.access if entry.who.startswith("group:")]
    return {"securityGroup": f"{_SECURITY_GROUP}@{domains[0]}"} if domains else None


def grant(name: str, settings: Settings, parent: pulumi.Resource) -> None:
    """Grant all principals of ``access`` the permission to log in."""
    for entry in settings.access:
        declare(
            "gcp:projects/iAMMember:IAMMember",
            f"{name}-{entry.who}-log-in",
            {"project": settings.project, "role": _LOGIN_ROLE, "member": entry.who},
            pulumi.ResourceOptions.merge(
                former_name(f"{name}-{entry.name}-log-in"), pulumi.ResourceOptions(parent=parent)
            ),
        )
