"""Reads the encryption keys that a program makes, of the kinds that their cloud can rotate by itself.

https://docs.aws.amazon.com/kms/latest/developerguide/rotate-keys.html,
https://docs.cloud.google.com/kms/docs/key-rotation,
https://learn.microsoft.com/azure/key-vault/keys/how-to-configure-key-rotation
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import EncryptionKey
from facts.concepts.unknown import UNKNOWN, Maybe, at, flag, items
from policies.readers.resource import Declared, Item, Reader


def read_amazons(declared: Declared) -> Iterable[Item]:
    """``aws:kms/key:Key``; those for signatures, in another key store or with one's own key material do not rotate."""
    inputs = declared.properties
    usual = {
        "customerMasterKeySpec": "SYMMETRIC_DEFAULT",
        "keyUsage": "ENCRYPT_DECRYPT",
        "origin": "AWS_KMS",
        "customKeyStoreId": None,
    }
    if all(inputs.get(name) in (None, value) for name, value in usual.items()):
        yield EncryptionKey(f"KMS key '{declared.name}'", flag(inputs.get("enableKeyRotation")), declared.urn)


def read_googles(declared: Declared) -> Iterable[Item]:
    """``gcp:kms/cryptoKey:CryptoKey``; those for signatures and with key material of one's own do not rotate."""
    inputs = declared.properties
    if inputs.get("purpose") in (None, "ENCRYPT_DECRYPT") and not inputs.get("importOnly"):
        yield EncryptionKey(f"Cloud KMS key '{declared.name}'", _exists(inputs.get("rotationPeriod")), declared.urn)


def read_azures(declared: Declared) -> Iterable[Item]:
    """``azure:keyvault/key:Key`` and ``azure-native:keyvault:Key``: with a policy that rotates, not one that warns."""
    inputs = declared.properties
    actions = items(at(inputs, "properties", "rotationPolicy", "lifetimeActions"))
    rotating = [at(action, "action", "type") for action in actions]
    native: Maybe[bool] = UNKNOWN if UNKNOWN in rotating else "rotate" in (str(each).lower() for each in rotating)
    rotates = _exists(at(inputs, "rotationPolicy", "automatic")) if native is False else native
    yield EncryptionKey(f"key '{declared.name}' of a key vault", rotates, declared.urn)


def _exists(value: object) -> Maybe[bool]:
    return UNKNOWN if value is UNKNOWN else value not in (None, "")


READERS: Final[Mapping[str, Reader]] = {
    "aws:kms/key:Key": read_amazons,
    "gcp:kms/cryptoKey:CryptoKey": read_googles,
    "azure:keyvault/key:Key": read_azures,
    "azure-native*:keyvault*:Key": read_azures,
}
