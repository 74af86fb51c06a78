"""What a stack file calls its customer-managed keys. No Pulumi import: settings check it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

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
