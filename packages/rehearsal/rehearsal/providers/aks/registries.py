"""Container registries, whose names are globally unique. What is pushed into them is not simulated."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.aks.cloud import GROUP_ID, IN_GROUP, Rules, Subscription
from rehearsal.providers.aks.errors import api_error
from rehearsal.providers.base import Properties
from rehearsal.providers.resource import Pending, SimulatedResource
from rehearsal.providers.values import at

REGISTRY: Final = "azure-native:containerregistry:Registry"
REGISTRY_RULES: Final = Rules()

TAKEN: Final = ("checkpoints", "images", "models", "registry", "training")
"""Names that other accounts own: NAME.azurecr.io is globally unique
(https://learn.microsoft.com/azure/container-registry/container-registry-get-started-azure-cli)."""

_TIERS: Final = "https://learn.microsoft.com/azure/container-registry/container-registry-skus"
_PREMIUM: Final = {
    "zoneRedundancy": "Enabled",
    "publicNetworkAccess": "Disabled",
    "dataEndpointEnabled": True,
    "policies.retentionPolicy.status": "enabled",
    "policies.trustPolicy.status": "enabled",
    "encryption.status": "enabled",
}
"""What only the Premium tier has."""

_ANSWERED: Final = {
    "anonymousPullEnabled": False,
    "dataEndpointEnabled": False,
    "networkRuleBypassOptions": "AzureServices",
    "publicNetworkAccess": "Enabled",
    "zoneRedundancy": "Disabled",
}
"""Azure's defaults for inputs of a registry that the program omits."""


@REGISTRY_RULES.add("premium-only", _TIERS, "sku", *dict.fromkeys(path.partition(".")[0] for path in _PREMIUM))
def _tier(inputs: Properties, cloud: Subscription) -> str | None:
    tier = at(inputs, "sku.name")
    premium_paths = [path for path, value in _PREMIUM.items() if at(inputs, path) == value]
    if tier == "Premium" or not premium_paths:
        return None
    return f"{premium_paths[0]} is not supported for the SKU {tier}: it needs the SKU Premium."


@REGISTRY_RULES.add(
    "anonymous-pull-tier", "https://learn.microsoft.com/azure/container-registry/anonymous-pull-access", "sku"
)
def _anonymous(inputs: Properties, cloud: Subscription) -> str | None:
    if inputs.get("anonymousPullEnabled") and at(inputs, "sku.name") == "Basic":
        return "anonymousPullEnabled is not supported for the SKU Basic: it needs Standard or Premium."
    return None


def _available(pending: Pending[Subscription]) -> None:
    name = pending.inputs["registryName"].lower()
    others = {record.inputs["registryName"].lower() for record in pending.cloud.store.all(REGISTRY)}
    if pending.before is None and (name in TAKEN or name in others):
        raise api_error(
            HTTPStatus.CONFLICT, "AlreadyInUse", f"The registry DNS name {name}.azurecr.io is already in use."
        )


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    SimulatedResource(
        token=REGISTRY,
        id=GROUP_ID + "/providers/Microsoft.ContainerRegistry/registries/{registryName}",
        outputs={
            "creationDate": "2026-11-01T00:00:00Z",
            "loginServer": lambda pending: f"{pending.inputs['registryName'].lower()}.azurecr.io",
        },
        name="registryName",
        defaults={"adminUserEnabled": False},
        rules=REGISTRY_RULES.rules,
        references=IN_GROUP,
        requires=_available,
        # Zone redundancy is fixed at creation:
        # https://learn.microsoft.com/azure/container-registry/zone-redundancy
        replaces=("zoneRedundancy",),
        # As https://learn.microsoft.com/rest/api/containerregistry/registries/get answers.
        imported=lambda inputs: {**_ANSWERED, **inputs},
    ),
)
