"""How people and pipelines come into the cluster: as members of Entra's groups, to which Kubernetes' roles are bound.

Azure's roles for what is inside a cluster stay in force beside them
(https://learn.microsoft.com/azure/aks/concepts-cluster-authorization: both may be used in one cluster, and the API
server looks at its own bindings in every request). Bindings are there at once, know every kind of object, and are what
a rehearsal can try. Groups alone: what the API server calls a user differs with the account's kind
(https://github.com/MicrosoftDocs/azure-docs/issues/40922). A pipeline's identity can be a member of a group.
"""

from __future__ import annotations

import pulumi

from components.clouds.aks import roles
from components.clouds.base import Subject
from components.resources import CustomResource
from components.settings import Settings
from components.settings.access import Access


def subject(entry: Access) -> Subject:
    """The group, by its object id: https://learn.microsoft.com/azure/aks/azure-ad-rbac."""
    return Subject(kind="Group", name=entry.who)


def let_in(name: str, settings: Settings, cluster: CustomResource, parent: pulumi.Resource) -> None:
    """The right to ask Azure where the cluster is (``az aks get-credentials``), for everybody who has a role in it.

    https://learn.microsoft.com/azure/aks/control-kubeconfig-access
    """
    for entry in settings.access:
        roles.assignment(
            f"{name}-{entry.name}-log-in",
            subscription=settings.project,
            key=f"{settings.cluster_name}/access/{entry.who}",
            role=roles.AKS_CLUSTER_USER,
            scope=cluster.id,
            principal=entry.who,
            principal_type="Group",
            opts=pulumi.ResourceOptions(parent=parent, deleted_with=cluster),
        )
