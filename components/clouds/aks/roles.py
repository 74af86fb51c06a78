"""Azure's built-in roles that the program assigns, and an assignment as a resource.

Identifiers: https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.aks.declare import declare
from components.resources import CustomResource

if TYPE_CHECKING:
    from schemas import aks

NETWORK_CONTRIBUTOR: Final = "4d97b98b-1d4f-4787-a291-c67834d212e7"
MANAGED_IDENTITY_OPERATOR: Final = "f1a07417-d97a-45cb-824c-7a7467783830"
READER: Final = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
KEY_VAULT_CRYPTO_USER: Final = "12338af0-0e69-4776-bea7-57ae8d297424"
KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER: Final = "e147488a-f6f5-4113-8e2d-b22465e65bf6"
AKS_RBAC_CLUSTER_ADMIN: Final = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "https://gpucluster.dev/azure-role-assignments")


def assignment(
    name: str,
    *,
    subscription: str,
    key: str,
    role: str,
    scope: pulumi.Input[str],
    principal: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
    principal_type: str | None = "ServicePrincipal",
) -> CustomResource:
    """``role`` on ``scope`` for ``principal`` (an object id).

    An assignment's name is a GUID; it is made from ``key``, which must be unique in the subscription, so that a lost
    state finds the assignment that is there. ``principal_type`` spares Azure a look-up that fails for new identities.
    """
    inputs: aks.RoleAssignment = {
        "roleAssignmentName": str(uuid.uuid5(_NAMESPACE, f"{subscription}/{key}/{role}")),
        "scope": scope,
        "roleDefinitionId": role_definition(subscription, role),
        "principalId": principal,
    }
    if principal_type is not None:
        inputs["principalType"] = principal_type
    # Azure refuses to change an assignment, and two of one name cannot exist.
    replaced = pulumi.ResourceOptions(delete_before_replace=True)
    return declare(
        "azure-native:authorization:RoleAssignment", name, inputs, pulumi.ResourceOptions.merge(replaced, opts)
    )


def role_definition(subscription: str, role: str) -> str:
    """The full id of a built-in role."""
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
