"""Principals with access to a cluster: accounts and groups with permission to get clusters, by their addresses.

https://cloud.google.com/kubernetes-engine/docs/how-to/role-based-access-control (users need ``container.clusters.get``,
and RBAC knows them by their address) and https://cloud.google.com/kubernetes-engine/docs/how-to/google-groups-rbac
(groups of the domain whose security group the cluster names). That a group is a member of that one is not known here.
"""

from __future__ import annotations

from typing import Final

from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.node_pool import CLUSTER
from rehearsal.providers.values import at
from rehearsal.simulation import UserInfo

GRANT: Final = "gcp:projects/iAMMember:IAMMember"
# The roles that have the right, of https://cloud.google.com/kubernetes-engine/docs/how-to/iam.
MAY_LOG_IN: Final = ("clusterViewer", "viewer", "developer", "admin", "clusterAdmin")


def find_principals(cloud: SimulatedCloud) -> dict[str, UserInfo]:
    """IAM member → its user and groups for the API server."""
    domains = {
        (at(record.inputs, "authenticatorGroupsConfig.securityGroup") or "").rpartition("@")[2]
        for record in cloud.store.all(CLUSTER)
    }
    logins = {}
    for grant in cloud.store.all(GRANT):
        member, role = grant.inputs["member"], grant.inputs["role"]
        kind, _, address = member.partition(":")
        if role not in {f"roles/container.{name}" for name in MAY_LOG_IN}:
            continue
        if kind == "group":
            if address.rpartition("@")[2] in domains:
                logins[member] = UserInfo(f"somebody-in-{address}", (address,))
        elif kind in ("user", "serviceAccount"):
            logins[member] = UserInfo(address)
    return logins
