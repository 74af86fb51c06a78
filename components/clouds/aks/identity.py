"""Identities of the control plane and the nodes, and their roles. No secret and no service principal exists.

https://learn.microsoft.com/azure/aks/managed-identity-overview
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Final

import pulumi

from components.clouds.aks import roles
from components.clouds.data_lookup import look_up
from components.clouds.declare import aks as declare
from components.clouds.deployed import Deployed
from components.resources import CustomResource
from components.settings import Settings
from components.settings.limits.aks.pools import RESERVATION
from facts.catalog.aks.resource_ids import IDENTITY, NO_DNS_ZONE

_LOOK_UP: Final = "azure-native:managedidentity:getUserAssignedIdentity"


class Identity:
    """A user-assigned managed identity; ``id`` names it in Azure, ``principal`` is its object id in Entra."""

    def __init__(self, id: pulumi.Output[str], principal: pulumi.Output[str], client: pulumi.Output[str]) -> None:
        self.id, self.principal, self.client = id, principal, client


class ManagedIdentity(Identity):
    """One that the program creates.

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
        super().__init__(self.resource.id, self.resource.outputs["principalId"], self.resource.outputs["clientId"])


def existing_identity(id: str, key: str, parent: pulumi.Resource) -> Identity:
    """The identity with that id, which ``key`` of the stack file names; of the stack's own subscription.

    Raises:
        pulumi.RunError: there is none.
    """
    parts = IDENTITY.fullmatch(id)
    assert parts is not None  # settings refuse any other
    arguments = {"resourceGroupName": parts["group"], "resourceName": parts["name"]}
    answer = look_up(_LOOK_UP, arguments, parent, f"{key}: {id}")
    principal, client = (pulumi.Output.from_input(str(answer[each])) for each in ("principalId", "clientId"))
    return Identity(pulumi.Output.from_input(id), principal, client)


class ClusterIdentities:
    """The control plane's identity and the nodes'; ``ready`` are the control plane's rights.

    The control plane may use the nodes' subnet and reservations, write its name in the private DNS zone, change the
    network resources ``changed`` (purpose → id), and assign the nodes' identity. The nodes have no role until one is
    granted, such as to pull from a registry.

    An identity of the user's own has the user's roles: on what the stack does not create it is granted none.
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
        security = settings.security
        self.control_plane: Identity
        self.nodes: Identity
        if security.control_plane_identity is None:
            self.control_plane = ManagedIdentity(name, settings, group, "control-plane", parent)
        else:
            key = "security.controlPlaneIdentity"
            self.control_plane = existing_identity(security.control_plane_identity, key, parent)
        if security.node_identity is None:
            self.nodes = ManagedIdentity(name, settings, group, "nodes", parent)
        else:
            self.nodes = existing_identity(security.node_identity, "security.nodeIdentity", parent)

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

        has_own_roles = security.control_plane_identity is not None
        self.ready: list[CustomResource] = []
        if settings.network.existing is None or not has_own_roles:
            self.ready.append(grant("subnet", roles.NETWORK_CONTRIBUTOR, subnet))
        if security.node_identity is None or not has_own_roles:
            # https://learn.microsoft.com/azure/aks/pre-created-kubelet-managed-identity
            self.ready.append(grant("nodes", roles.MANAGED_IDENTITY_OPERATOR, self.nodes.id))
        if has_own_roles:
            return
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
