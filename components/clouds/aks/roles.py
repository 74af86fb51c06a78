"""Azure's built-in roles that the program assigns, and an assignment as a resource.

Identifiers: https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.declare import aks as declare
from components.resources import CustomResource
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import aks

ASSIGNMENT: Final = "azure-native:authorization:RoleAssignment"

CONTRIBUTOR: Final = "b24988ac-6180-42a0-ab88-20f7382dd24c"
NETWORK_CONTRIBUTOR: Final = "4d97b98b-1d4f-4787-a291-c67834d212e7"
MANAGED_IDENTITY_OPERATOR: Final = "f1a07417-d97a-45cb-824c-7a7467783830"
ACR_PULL: Final = "7f951dda-4ed3-4680-a7ca-43fe172d538d"
REPOSITORY_READER: Final = "b93aa761-3e63-49ed-ac28-beffa264f7ac"
BLOB_DATA_CONTRIBUTOR: Final = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
BLOB_DATA_READER: Final = "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
KEY_VAULT_SECRETS_USER: Final = "4633458b-17de-408a-b874-0445c86b69e6"
PRIVATE_DNS_ZONE_CONTRIBUTOR: Final = "b12aa53e-6015-4669-85d0-8515ebb3ae7f"
READER: Final = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
KEY_VAULT_CRYPTO_USER: Final = "12338af0-0e69-4776-bea7-57ae8d297424"
KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER: Final = "e147488a-f6f5-4113-8e2d-b22465e65bf6"
AKS_CLUSTER_USER: Final = "4abbcc35-e782-43d8-92c5-2d3f1bd2253f"
AKS_RBAC_CLUSTER_ADMIN: Final = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"

# Azure says up to ten minutes, and up to an hour for some caches; users count two to four, and most wait a minute:
# https://learn.microsoft.com/azure/role-based-access-control/troubleshooting, https://github.com/kubernetes/kops/pull/18142,
# https://github.com/hashicorp/terraform-provider-azurerm/issues/11434
_HOLDS_AFTER_SECONDS: Final = 120.0

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "https://gpucluster.dev/azure-role-assignments")


def assignment(  # noqa: PLR0913 - the inputs of one resource
    name: str,
    settings: Settings,
    *,
    key: str,
    role: str,
    scope: pulumi.Input[str],
    principal: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
    principal_type: str | None = "ServicePrincipal",
    subscription: str | None = None,
) -> CustomResource:
    """``role`` on ``scope`` for ``principal`` (an object id).

    ``subscription`` is that of the ``scope``, by default the stack's. An assignment's name is a GUID, derived from
    ``key``, which must be unique in the stack: after a lost state the program finds the assignment.
    ``principal_type`` avoids a look-up that fails for new identities.
    """
    subscription = subscription or settings.project
    inputs: aks.RoleAssignment = {
        "roleAssignmentName": str(uuid.uuid5(_NAMESPACE, f"{subscription}/{settings.cluster_name}/{key}/{role}")),
        "scope": scope,
        # Azure answers with the subscription of the scope, so any other would be replaced after each refresh:
        # https://github.com/Azure/azure-rest-api-specs/issues/10939
        "roleDefinitionId": role_definition(scope.split("/")[2] if isinstance(scope, str) else subscription, role),
        "principalId": principal,
    }
    if principal_type is not None:
        inputs["principalType"] = principal_type
    # Azure refuses to change an assignment, and two of one name cannot exist.
    replaced = pulumi.ResourceOptions(delete_before_replace=True)
    return declare(
        ASSIGNMENT,
        name,
        inputs,
        pulumi.ResourceOptions.merge(replaced, opts),
        outputs=["createdOn"],
    )


def holding(value: pulumi.Output[str], assignments: Sequence[CustomResource]) -> pulumi.Output[str]:
    """``value``, once the ``assignments`` are in effect: Azure answers before that, and services check at once.

    It waits for new ones only. If one takes longer, the next update continues from there.
    """

    async def waited(values: Sequence[Any]) -> str:
        now = datetime.now(timezone.utc)
        seconds = max((remaining(created_on, now) for created_on in values[1:]), default=0.0)
        if seconds > 0:
            pulumi.log.info(f"waiting {seconds:.0f} s until Azure's new role assignments hold")
            await asyncio.sleep(seconds)
        return str(values[0])

    return pulumi.Output.all(value, *(each.outputs["createdOn"] for each in assignments)).apply(waited)


def remaining(created_on: str | None, now: datetime) -> float:
    """Seconds until an assignment made at that time (ISO 8601, UTC) is in effect; tolerates clock differences."""
    if created_on is None:
        return 0.0
    # Azure writes more digits of a second than Python reads.
    created = datetime.strptime(created_on[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return min(max(_HOLDS_AFTER_SECONDS - (now - created).total_seconds(), 0.0), _HOLDS_AFTER_SECONDS)


def role_definition(subscription: str, role: str) -> str:
    """The full id of a built-in role."""
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
