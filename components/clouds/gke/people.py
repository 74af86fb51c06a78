"""How people and pipelines come into the cluster: IAM lets them reach it, and Kubernetes' own roles say what they may.

https://cloud.google.com/kubernetes-engine/docs/how-to/role-based-access-control: RBAC decides before IAM, and whoever
logs in needs ``container.clusters.get`` at least, which Kubernetes Engine Cluster Viewer has. IAM has no cluster as a
resource, so that role is the project's: it sees the other clusters there, too, and nothing inside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.base import Subject
from components.clouds.gke.declare import declare
from components.settings import Settings
from components.settings.access import Access

if TYPE_CHECKING:
    from schemas import gke

_MAY_LOG_IN: Final = "roles/container.clusterViewer"
_GROUP: Final = "group"

# The one group whose members, groups themselves, GKE looks people up in; its name is Google's:
# https://cloud.google.com/kubernetes-engine/docs/how-to/google-groups-rbac
_SECURITY_GROUP: Final = "gke-security-groups"


def subject(entry: Access) -> Subject:
    """``group:…`` is a group, ``user:…`` and ``serviceAccount:…`` are users, all by their address."""
    kind, _, address = entry.who.partition(":")
    return Subject(kind="Group" if kind == _GROUP else "User", name=address)


def authenticator_groups(settings: Settings) -> gke.AuthenticatorGroupsConfig | None:
    """Where GKE looks for the groups of people; nothing if no group has a role."""
    found = [subject(entry) for entry in settings.access]
    domains = [who.name.rpartition("@")[2] for who in found if who.kind == "Group"]
    return {"securityGroup": f"{_SECURITY_GROUP}@{domains[0]}"} if domains else None


def let_in(name: str, settings: Settings, parent: pulumi.Resource) -> None:
    """The right to log in, for everybody who has a role in the cluster."""
    for entry in settings.access:
        declare(
            "gcp:projects/iAMMember:IAMMember",
            f"{name}-{entry.name}-log-in",
            {"project": settings.project, "role": _MAY_LOG_IN, "member": entry.who},
            pulumi.ResourceOptions(parent=parent),
        )
