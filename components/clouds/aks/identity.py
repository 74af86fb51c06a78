"""Identities of the control plane and the nodes, and their roles. No secret and no service principal exists.

https://learn.microsoft.com/azure/aks/managed-identity-overview
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import pulumi

from components.clouds.aks import roles
from components.clouds.declare import aks as declare
from components.clouds.deployed import Deployed
from components.resources import CustomResource
from components.settings import Settings
from components.settings.limits.aks.pools import RESERVATION
from facts.catalog.aks.resource_ids import NO_DNS_ZONE


class ManagedIdentity:
    """A user-assigned managed identity; ``id`` names it in Azure, ``principal`` is its object id in Entra.

    It keeps the tags of its creation. The preview of an update knows only a resource's name and location (``Update`` in
    https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/provider/provider.go), and each of its role
    assignments would show as replaced (https://github.com/pulumi/pulumi-azure-native/issues/1080), at which a protected
    stack stops. It is free, so the missing tag affects no bill.
    """

    def __init__(
        self, name: str, settings: Settings, group: pulumi.Input[str], role: str, parent: pulumi.Resource
    ) -> None:
        self.resource = declare(
            "azure-native:managedidentity:UserAssignedIdentity",
            f"{name}-{role}-identity",
            {
                "resourceGroupName": group,
                "location": settings.region,
                "resourceName": f"{settings.cluster_name}-{role}",
                "tags": dict(settings.labels),
            },
            pulumi.ResourceOptions(parent=parent, ignore_changes=["tags"]),
            outputs=["principalId", "clientId"],
        )
        self.id: pulumi.Output[str] = self.resource.id
        self.principal: pulumi.Output[str] = self.resource.outputs["principalId"]
        self.client: pulumi.Output[str] = self.resource.outputs["clientId"]


class ClusterIdentities:
    """The control plane's identity and the nodes'; ``ready`` are the control plane's rights.

    The control plane may use the nodes' subnet and reservations, write its name in the private DNS zone, change the
    network resources ``changed`` (purpose → id), and assign the nodes' identity. The nodes have no role until one is
    granted, such as to pull from a registry.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        group: pulumi.Input[str],
        subnet: pulumi.Input[str],
        changed: Mapping[str, str],
        deployed: Deployed,
        parent: pulumi.Resource,
    ) -> None:
        self.control_plane = ManagedIdentity(name, settings, group, "control-plane", parent)
        self.nodes = ManagedIdentity(name, settings, group, "nodes", parent)

        def grant(purpose: str, role: str, scope: pulumi.Input[str], key: str | None = None) -> CustomResource:
            return roles.assignment(
                f"{name}-control-plane-{purpose}",
                settings,
                key=key or purpose,
                role=role,
                scope=scope,
                principal=self.control_plane.principal,
                opts=pulumi.ResourceOptions(parent=parent),
            )

        self.ready: list[CustomResource] = [
            grant("subnet", roles.NETWORK_CONTRIBUTOR, subnet),
            # https://learn.microsoft.com/azure/aks/pre-created-kubelet-managed-identity
            grant("nodes", roles.MANAGED_IDENTITY_OPERATOR, self.nodes.id),
        ]
        zone = settings.network.private_dns_zone
        if zone and zone != NO_DNS_ZONE:
            self.ready.append(grant("private-zone", roles.PRIVATE_DNS_ZONE_CONTRIBUTOR, zone))
        self.ready += [grant(purpose, roles.NETWORK_CONTRIBUTOR, id) for purpose, id in changed.items()]
        # Azure requires this role, for the whole group: put a reservation into a group of its own.
        # https://learn.microsoft.com/azure/aks/use-capacity-reservation-groups
        for number, reservation_group in _numbered(f"{name}-control-plane-reservations-", settings, deployed).items():
            key = f"reservations/{reservation_group.lower()}"
            self.ready.append(grant(f"reservations-{number}", roles.CONTRIBUTOR, reservation_group, key))


def _numbered(name: str, settings: Settings, deployed: Deployed) -> Mapping[int, str]:
    """The reservations' groups by the numbers in the names of their rights. A deployed right keeps its number: with
    that of another one it would be created under the one name and then deleted under the other."""
    taken = {int(end): id for end, id in deployed.ends(roles.ASSIGNMENT, name, "scope").items() if end.isdecimal()}
    numbered: dict[int, str] = {}
    for group in reservation_groups(settings):
        own = (number for number, id in taken.items() if id.lower() == group.lower())
        free = (number for number in count(1) if number not in taken and number not in numbered)
        numbered[next(own, None) or next(free)] = group
    return numbered


def reservation_groups(settings: Settings) -> list[str]:
    """The resource groups (ids) of the reservations that the pools consume, each once."""
    matches = (RESERVATION.fullmatch(pool.scaling.reservation or "") for pool in settings.gpu_pools)
    return list({match["group"].lower(): match["group"] for match in matches if match is not None}.values())


def grant_deployer(name: str, settings: Settings, group: CustomResource, parent: pulumi.Resource) -> CustomResource:
    """Grant the principal of the first deployment the administration of objects in the cluster.

    With Entra even the subscription's owner has no access inside, so the first update would fail at the first object.
    The role is on the resource group, so it is effective before the cluster exists; other principals need
    ``Azure Kubernetes Service RBAC Cluster Admin`` themselves: https://learn.microsoft.com/azure/aks/manage-azure-rbac
    """
    deployer = pulumi.runtime.invoke_output(
        "azure-native:authorization:getClientConfig", {}, pulumi.InvokeOutputOptions(parent=parent)
    )
    return roles.assignment(
        f"{name}-deployer",
        settings,
        key="deployer",
        role=roles.AKS_RBAC_CLUSTER_ADMIN,
        scope=group.id,
        principal=deployer.apply(lambda client: client["objectId"]),
        # A person or a workload: Azure looks it up.
        principal_type=None,
        # A later deployer does not replace the first one.
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=["principalId"]),
    )
