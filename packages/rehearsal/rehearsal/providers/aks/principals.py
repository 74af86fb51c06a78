"""Principals with access to a cluster: with Entra ID every member of the tenant; the cluster decides their permissions.

A group is known by its object id (https://learn.microsoft.com/azure/aks/azure-ad-rbac). Members of a group that may not
ask Azure for the kubeconfig would not find the cluster, so here they do not get in.
"""

from __future__ import annotations

from typing import Final

from rehearsal.providers.aks.agent_pool import CLUSTER
from rehearsal.providers.aks.cloud import Subscription, same
from rehearsal.providers.aks.identity import ROLE_ASSIGNMENT
from rehearsal.providers.cloud import last_part
from rehearsal.providers.values import at
from rehearsal.simulation import UserInfo

# https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/containers
CLUSTER_USER: Final = "4abbcc35-e782-43d8-92c5-2d3f1bd2253f"


def find_principals(cloud: Subscription) -> dict[str, UserInfo]:
    """Object id of a group → its members' user and groups for the API server."""
    clusters = [record for record in cloud.store.all(CLUSTER) if at(record.inputs, "aadProfile.managed")]
    return {
        grant.inputs["principalId"]: UserInfo(
            f"somebody-in-{grant.inputs['principalId']}", (grant.inputs["principalId"],)
        )
        for grant in cloud.store.all(ROLE_ASSIGNMENT)
        if grant.inputs.get("principalType") == "Group"
        and same(last_part(grant.inputs["roleDefinitionId"]), CLUSTER_USER)
        and any(same(f"/{grant.inputs['scope'].strip('/')}", cluster.id) for cluster in clusters)
    }
