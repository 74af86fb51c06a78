"""Access for users and pipelines: as members of Entra groups, to which Kubernetes roles are bound.

Azure RBAC for Kubernetes remains in effect in addition to RBAC
(https://learn.microsoft.com/azure/aks/concepts-cluster-authorization: a cluster can use both, and the API server checks
its own bindings for every request). Bindings take effect at once, cover every kind of object, and can be rehearsed.
Groups only, because the API server's name of a user depends on the kind of account
(https://github.com/MicrosoftDocs/azure-docs/issues/40922). A pipeline's identity can be a member of a group.
"""

from __future__ import annotations

import pulumi

from components.clouds.aks import roles
from components.clouds.base import Subject, former_name
from components.resources import CustomResource
from components.settings import Settings
from components.settings.sections.access import Access


def subject(entry: Access) -> Subject:
    """The group, by its object id: https://learn.microsoft.com/azure/aks/azure-ad-rbac."""
    return Subject(kind="Group", name=entry.who)


def grant(name: str, settings: Settings, cluster: CustomResource, parent: pulumi.Resource) -> None:
    """Grant all principals of ``access`` the permission to get a kubeconfig (``az aks get-credentials``).

    https://learn.microsoft.com/azure/aks/control-kubeconfig-access
    """
    for entry in settings.access:
        roles.assignment(
            f"{name}-{entry.who}-log-in",
            settings,
            key=f"access/{entry.who}",
            role=roles.AKS_CLUSTER_USER,
            scope=cluster.id,
            principal=entry.who,
            principal_type="Group",
            opts=pulumi.ResourceOptions.merge(
                former_name(f"{name}-{entry.name}-log-in"),
                pulumi.ResourceOptions(parent=parent, deleted_with=cluster),
            ),
        )
