"""Storage accounts, whose names are globally unique, and their blob containers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.aks.cloud import GROUP_ID, IN_GROUP, Rules, Subscription
from rehearsal.providers.aks.errors import api_error, bad_request
from rehearsal.providers.base import Properties
from rehearsal.providers.resource import Pending, Reference, SimulatedResource
from rehearsal.providers.values import at

ACCOUNT: Final = "azure-native:storage:StorageAccount"
CONTAINER: Final = "azure-native:storage:BlobContainer"
BLOBS: Final = "azure-native:storage:BlobServiceProperties"
ACCOUNT_RULES: Final = Rules()
BLOB_RULES: Final = Rules()

ACCOUNT_ID: Final = GROUP_ID + "/providers/Microsoft.Storage/storageAccounts/{accountName}"
TAKEN: Final = ("checkpoints", "data", "datasets", "models", "training")
"""Names that other accounts own: https://learn.microsoft.com/azure/storage/common/storage-account-overview#storage-account-name"""

_RETENTION: Final = "https://learn.microsoft.com/azure/storage/blobs/soft-delete-blob-overview"


@ACCOUNT_RULES.add(
    "hierarchical-kind",
    "https://learn.microsoft.com/azure/storage/blobs/create-data-lake-storage-account",
    "kind",
    "isHnsEnabled",
)
def _kind(inputs: Properties, cloud: Subscription) -> str | None:
    if inputs.get("isHnsEnabled") and inputs["kind"] not in ("StorageV2", "BlockBlobStorage"):
        return f"The property 'isHnsEnabled' is not supported for kind {inputs['kind']}."
    return None


@BLOB_RULES.add(
    "blob-services-name", "https://learn.microsoft.com/rest/api/storagerp/blob-services", "blobServicesName"
)
def _service(inputs: Properties, cloud: Subscription) -> str | None:
    name = inputs["blobServicesName"]
    return None if name == "default" else f"The name of the blob service must be 'default', not '{name}'."


@BLOB_RULES.add("soft-delete-days", _RETENTION, "deleteRetentionPolicy", "containerDeleteRetentionPolicy")
def _days(inputs: Properties, cloud: Subscription) -> str | None:
    for path in ("deleteRetentionPolicy", "containerDeleteRetentionPolicy"):
        policy = inputs.get(path) or {}
        if policy.get("enabled") and not 1 <= (policy.get("days") or 0) <= 365:
            return f"{path}.days must be 1 to 365."
    return None


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


def _imported_account(inputs: Properties) -> Properties:
    """The inputs with Azure's defaults for an account, which an import reads as inputs.

    https://github.com/pulumi/pulumi-azure-native/issues/2246 shows such a state. Those of a creation alone then want a
    replacement: https://github.com/pulumi/pulumi-azure-native/issues/4401, …/issues/2003.
    """
    own: Properties = {
        "accessTier": "Hot",
        "enableNfsV3": False,
        "encryption": {
            "keySource": "Microsoft.Storage",
            "services": {name: {"enabled": True, "keyType": "Account"} for name in ("blob", "file")},
        },
        "identity": {"type": "None"},
        "isHnsEnabled": False,
        "networkRuleSet": {"bypass": "AzureServices", "defaultAction": "Allow"},
    }
    return {**own, **inputs}


def _endpoints(pending: Pending[Subscription]) -> dict[str, str]:
    """https://learn.microsoft.com/azure/storage/common/storage-account-overview#types-of-storage-accounts"""
    service = "file" if pending.inputs["kind"] == "FileStorage" else "blob"
    return {service: f"https://{pending.inputs['accountName']}.{service}.core.windows.net/"}


OF_ACCOUNT: Final = {**IN_GROUP, "accountName": Reference(ACCOUNT, "part")}

ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    SimulatedResource(
        token=ACCOUNT,
        id=ACCOUNT_ID,
        outputs={
            "creationTime": "2026-11-01T00:00:00Z",
            "primaryEndpoints": _endpoints,
            "primaryLocation": "{location}",
            "statusOfPrimary": "available",
        },
        name="accountName",
        rules=ACCOUNT_RULES.rules,
        references=IN_GROUP,
        requires=_available,
        replaces=("enableNfsV3", "isHnsEnabled"),
        imported=_imported_account,
    ),
    SimulatedResource(
        token=BLOBS,
        id=ACCOUNT_ID + "/blobServices/{blobServicesName}",
        name="blobServicesName",
        rules=BLOB_RULES.rules,
        references=OF_ACCOUNT,
        # The account comes with it.
        idempotent=lambda _: True,
    ),
    SimulatedResource(
        token=CONTAINER,
        id=ACCOUNT_ID + "/blobServices/default/containers/{containerName}",
        outputs={"leaseState": "Available"},
        imported=lambda inputs: {"defaultEncryptionScope": "$account-encryption-key", **inputs},
        name="containerName",
        references=OF_ACCOUNT,
        requires=_public,
    ),
)
