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
from components.clouds.deployed import Deployed
from components.settings import Settings
from components.settings.sections.access import Access

if TYPE_CHECKING:
    from schemas import gke

_GRANT: Final = "gcp:projects/iAMMember:IAMMember"
_LOGIN_ROLE: Final = "roles/container.clusterViewer"

_LOGIN: Final = "-log-in"
_GROUP: Final = "group:"

# GKE recognises the groups that are members of this group; Google fixed its name:
# https://cloud.google.com/kubernetes-engine/docs/how-to/google-groups-rbac
_SECURITY_GROUP: Final = "gke-security-groups"


def subject(entry: Access) -> Subject:
    """``group:…``, ``user:…`` and ``serviceAccount:…`` by their address; users and groups of a workforce pool by their
    whole identifier (https://docs.cloud.google.com/kubernetes-engine/docs/deprecations/identity-service)."""
    if entry.who.startswith(("principal://", "principalSet://")):
        return Subject(kind="Group" if entry.who.startswith("principalSet") else "User", name=entry.who)
    return named_subject(entry)


def authenticator_groups(name: str, settings: Settings, deployed: Deployed) -> gke.AuthenticatorGroupsConfig | None:
    """The security group with all of Google's groups that have a role; ``None`` if none has one.

    The update that takes the last of them out says that there is none: left out, it would stay
    (``expandContainerClusterAuthenticatorGroupsConfig`` in
    https://github.com/hashicorp/terraform-provider-google-beta/blob/main/google-beta/services/container/resource_container_cluster.go).
    """
    domains = [entry.who.rpartition("@")[2] for entry in settings.access if entry.who.startswith(_GROUP)]
    if domains:
        return {"securityGroup": f"{_SECURITY_GROUP}@{domains[0]}"}
    granted = deployed.ends(_GRANT, f"{name}-", "member").items()
    return (
        {"securityGroup": ""} if any(end.endswith(_LOGIN) and who.startswith(_GROUP) for end, who in granted) else None
    )


def grant(name: str, settings: Settings, parent: pulumi.Resource) -> None:
    """Grant all principals of ``access`` the permission to log in."""
    for entry in settings.access:
        declare(
            _GRANT,
            f"{name}-{entry.who}{_LOGIN}",
            {"project": settings.project, "role": _LOGIN_ROLE, "member": entry.who},
            pulumi.ResourceOptions.merge(
                former_name(f"{name}-{entry.name}{_LOGIN}"), pulumi.ResourceOptions(parent=parent)
            ),
        )
