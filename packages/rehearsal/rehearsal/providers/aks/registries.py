"""Container registries, whose names are globally unique. What is pushed into them is not simulated."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.aks.cloud import TABLE, Subscription
from rehearsal.providers.aks.errors import api_error
from rehearsal.providers.resource import Pending, SimulatedResource

REGISTRY: Final = "azure-native:containerregistry:Registry"

TAKEN: Final = ("checkpoints", "images", "models", "registry", "training")
"""Names that other accounts own: NAME.azurecr.io is globally unique
(https://learn.microsoft.com/azure/container-registry/container-registry-get-started-azure-cli)."""


def _available(pending: Pending[Subscription]) -> None:
    name = pending.inputs["registryName"].lower()
    others = {record.inputs["registryName"].lower() for record in pending.cloud.store.all(REGISTRY)}
    if pending.before is None and (name in TAKEN or name in others):
        raise api_error(
            HTTPStatus.CONFLICT, "AlreadyInUse", f"The registry DNS name {name}.azurecr.io is already in use."
        )


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(
        REGISTRY,
        outputs={"loginServer": lambda pending: f"{pending.inputs['registryName'].lower()}.azurecr.io"},
        requires=_available,
    ),
)
