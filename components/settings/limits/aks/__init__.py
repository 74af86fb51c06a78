"""Valid settings that AKS does not support. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from components.settings.limits import common, keys
from components.settings.limits.aks import network
from components.settings.limits.aks.pools import pool_problems
from components.settings.problems import Problem
from components.settings.settings import Settings
from facts import catalog
from facts.catalog.aks.resource_ids import CONTAINER, ENCRYPTION_SET, GROUP, KEY

# The ID of a subscription or of a group.
_GUID: Final = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)

_PATTERNS: Final = {
    "guid": _GUID,
    "key": KEY,
    "encryption set": ENCRYPTION_SET,
    "container": CONTAINER,
    "vault secret": re.compile(
        GROUP + r"/Microsoft\.KeyVault/vaults/[-\w]{3,24}(/secrets/[-0-9a-z]{1,127})?", re.IGNORECASE
    ),
}


def refusals(settings: Settings) -> Iterator[Problem]:
    """The settings that AKS does not support."""
    unread = list(network.unread(settings))
    yield from unread
    if unread:
        return
    yield from keys.refused(settings)
    yield from _account(settings)
    yield from common.version_problems(settings)
    yield from keys.other_forms(settings, known=_PATTERNS)
    yield from pool_problems(settings)
    yield from _disk_key(settings)
    yield from network.range_problems(settings)


def _account(settings: Settings) -> Iterator[Problem]:
    if not _GUID.fullmatch(settings.project):
        key = catalog.of(settings.cloud).account.key
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
