"""Resource IDs as a stack file writes them. No Pulumi import: settings check them.

https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

GROUP: Final = r"/subscriptions/(?P<subscription>[0-9a-fA-F-]{36})/resourceGroups/(?P<group>[-\w.()]+)/providers"
"""A pattern: the subscription and the resource group with which an ID begins."""

CONTAINER: Final = re.compile(
    GROUP + r"/Microsoft\.Storage/storageAccounts/(?P<account>[a-z0-9]{3,24})/blobServices/default"
    r"/containers/(?P<container>[-a-z0-9]{3,63})",
    re.IGNORECASE,
)
"""A blob container."""

_NETWORKING: Final = (
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.Network/"
)

EXISTING_NETWORK: Final = re.compile(_NETWORKING + r"virtualNetworks/(?P<name>[^/]+)", re.IGNORECASE)
"""A virtual network."""

ROUTE_TABLE: Final = re.compile(_NETWORKING + r"routeTables/(?P<name>[^/]+)", re.IGNORECASE)
"""A route table."""

PRIVATE_DNS_ZONE: Final = re.compile(_NETWORKING + r"privateDnsZones/(?P<name>[^/]+)", re.IGNORECASE)
"""A private DNS zone."""

NO_DNS_ZONE: Final = "none"
"""Instead of one: https://learn.microsoft.com/azure/aks/private-clusters#configuration-options-for-private-dns"""


KEY: Final = re.compile(
    r"(?P<vault_id>/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.KeyVault/vaults/(?P<vault>[^/]+))"
    r"/keys/(?P<key>[^/]+)/versions/(?P<version>[0-9a-f]{32})",
    re.IGNORECASE,
)

ENCRYPTION_SET: Final = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)/providers/Microsoft\.Compute"
    r"/diskEncryptionSets/(?P<name>[-\w]{1,80})",
    re.IGNORECASE,
)

IDENTITY: Final = re.compile(
    GROUP + r"/Microsoft\.ManagedIdentity/userAssignedIdentities/(?P<name>[-\w]{3,128})", re.IGNORECASE
)
"""A user-assigned managed identity."""


@dataclass(frozen=True)
class Key:
    """A version of a key in Key Vault. Roles are granted on its resource id, which the key's URL does not tell."""

    vault_id: str
    vault: str
    name: str
    version: str

    @property
    def subscription(self) -> str:
        """That of the vault, in lower case."""
        return self.vault_id.split("/")[2].lower()

    @property
    def group(self) -> str:
        """The resource group of the vault."""
        return self.vault_id.split("/")[4]

    @property
    def id(self) -> str:
        """The key in any version, as a scope of roles."""
        return f"{self.vault_id}/keys/{self.name}"

    @property
    def url(self) -> str:
        """This version, as services call it: https://learn.microsoft.com/azure/key-vault/general/about-keys-secrets-certificates"""
        return f"https://{self.vault}.vault.azure.net/keys/{self.name}/{self.version}"


def parse_key(text: str) -> Key | None:
    """The key of that resource id (``KEY``); ``None`` if it is none."""
    match = KEY.fullmatch(text)
    return match and Key(match["vault_id"], match["vault"], match["key"], match["version"])
