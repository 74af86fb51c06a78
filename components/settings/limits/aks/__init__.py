"""Valid settings that AKS does not support. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from components.settings.limits import common, forms, refused
from components.settings.limits.aks import network
from components.settings.limits.aks.pools import pool_problems
from components.settings.limits.forms import Form
from components.settings.problems import Problem
from components.settings.settings import Settings
from facts import catalog
from facts.catalog.aks.keys import ENCRYPTION_SET, KEY, KEY_FORM
from facts.catalog.aks.resource_ids import CONTAINER, GROUP

# The ID of a subscription or of a group.
_GUID: Final = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)

_FORMS: Final = (
    Form(
        keys=("clusterName",),
        # https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
        written=re.compile(r"[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9_-]{0,61}[A-Za-z0-9]"),
        is_not="a valid name of an AKS cluster",
        remedy="Use 1 to 63 letters, digits, '-' and '_', with a letter or digit at both ends",
    ),
    Form(
        keys=("access[].who",),
        written=_GUID,
        is_not="the object ID of an Entra group",
        remedy="Write the ID that 'az ad group show --group <name> --query id' prints; add users and pipelines' "
        "identities to a group",
    ),
    Form(
        keys=("security.kmsKey", "security.dataKey"),
        written=KEY,
        is_not="the resource ID of a key version in Key Vault; a key's URL is not enough, because the program grants "
        "the cluster access by resource ID",
        remedy=f"Write {KEY_FORM}",
    ),
    Form(
        keys=("security.diskKey",),
        # https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
        written=ENCRYPTION_SET,
        is_not="the resource ID of a disk encryption set, through which Azure disks use a key",
        remedy="Write /subscriptions/<subscription>/resourceGroups/<group>/providers/Microsoft.Compute/"
        "diskEncryptionSets/<name>; or leave it out, and kmsKey also encrypts disks",
    ),
    Form(
        keys=("identities[].read", "identities[].write"),
        written=CONTAINER,
        is_not="a valid bucket name",
        remedy="Write for example /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Storage/storageAccounts/"
        "ACCOUNT/blobServices/default/containers/CONTAINER: Azure grants access by resource ID",
    ),
    Form(
        keys=("identities[].secrets",),
        written=re.compile(
            GROUP + r"/Microsoft\.KeyVault/vaults/[-\w]{3,24}(/secrets/[-0-9a-zA-Z]{1,127})?", re.IGNORECASE
        ),
        is_not="a valid secret name",
        remedy="Write for example /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.KeyVault/vaults/VAULT/"
        "secrets/SECRET",
    ),
)


def refusals(settings: Settings) -> Iterator[Problem]:
    """The settings that AKS does not support."""
    unread = list(network.unread(settings))
    yield from unread
    if unread:
        return
    yield from refused.problems(settings)
    yield from _account(settings)
    yield from common.version_problems(settings)
    yield from forms.problems(settings, _FORMS)
    yield from pool_problems(settings)
    yield from _disk_key(settings)
    yield from network.range_problems(settings)


def _account(settings: Settings) -> Iterator[Problem]:
    if not _GUID.fullmatch(settings.project):
        key = catalog.of(settings.cloud).account_key
        yield Problem(
            key,
            f"'{settings.project}' is not a subscription ID",
            f"Write the ID that 'az account show --query id' prints: pulumi config set {key} <id>",
        )


def _disk_key(settings: Settings) -> Iterator[Problem]:
    """A set must be in its disks' subscription: https://learn.microsoft.com/azure/virtual-machines/disk-encryption#restrictions"""
    match = ENCRYPTION_SET.fullmatch(settings.security.disk_key or "")
    if match is not None and match["subscription"].lower() != settings.project.lower():
        yield Problem(
            "security.diskKey",
            f"the disk encryption set is in subscription {match['subscription']}, not in {settings.project}",
            "Use a disk encryption set of the same subscription and region; its key may be elsewhere",
        )
