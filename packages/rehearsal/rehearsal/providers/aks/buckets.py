"""Storage accounts, whose names are globally unique, and their blob containers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.aks.cloud import TABLE, Subscription
from rehearsal.providers.aks.errors import api_error, bad_request
from rehearsal.providers.resource import Pending, SimulatedResource
from rehearsal.providers.values import at

ACCOUNT: Final = "azure-native:storage:StorageAccount"
CONTAINER: Final = "azure-native:storage:BlobContainer"
BLOBS: Final = "azure-native:storage:BlobServiceProperties"

ACCOUNT_ID: Final = TABLE.id(ACCOUNT)
TAKEN: Final = ("checkpoints", "data", "datasets", "models", "training")
"""Names that other accounts own: https://learn.microsoft.com/azure/storage/common/storage-account-overview#storage-account-name"""


def _available(pending: Pending[Subscription]) -> None:
    name = pending.inputs["accountName"]
    others = {record.inputs["accountName"] for record in pending.cloud.store.all(ACCOUNT)}
    if pending.before is None and (name in TAKEN or name in others):
        message = f"The storage account named {name} is already taken."
        raise api_error(HTTPStatus.CONFLICT, "StorageAccountAlreadyTaken", message)


def _public(pending: Pending[Subscription]) -> None:
    """https://learn.microsoft.com/azure/storage/blobs/anonymous-read-access-prevent"""
    inputs = pending.inputs
    id = ACCOUNT_ID.format_map({**inputs, "subscription": pending.cloud.subscription})
    account = pending.cloud.find(id, ACCOUNT)
    if account is None or inputs.get("publicAccess") in (None, "None"):
        return
    if not at(account.inputs, "allowBlobPublicAccess"):
        raise bad_request("Public access is not permitted on this storage account.", "PublicAccessNotPermitted")


def _endpoints(pending: Pending[Subscription]) -> dict[str, str]:
    """https://learn.microsoft.com/azure/storage/common/storage-account-overview#types-of-storage-accounts"""
    service = "file" if pending.inputs["kind"] == "FileStorage" else "blob"
    return {service: f"https://{pending.inputs['accountName']}.{service}.core.windows.net/"}


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(ACCOUNT, outputs={"primaryEndpoints": _endpoints}, requires=_available),
    TABLE.row(BLOBS, idempotent=lambda _: True),
    TABLE.row(CONTAINER, requires=_public),
)
