"""Reads long-lived credentials, of the clouds' providers and those that a program makes, and encryption keys that their
cloud can rotate by itself.

https://docs.aws.amazon.com/kms/latest/developerguide/rotate-keys.html,
https://docs.cloud.google.com/kms/docs/key-rotation,
https://learn.microsoft.com/azure/key-vault/keys/how-to-configure-key-rotation
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.credentials import static_key_in
from facts.concepts.declared import Credential, EncryptionKey
from facts.concepts.unknown import UNKNOWN, Maybe, at, coalesce, either, flag, items, text
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


# Types that always are a long-lived key; passwords of azuread are valid for two years by default.
_LASTING: Final = {
    "aws:iam/accessKey:AccessKey": "the access key '{}'",
    "aws:iam/serviceSpecificCredential:ServiceSpecificCredential": "the key '{}' of one service",
    "azure:containerservice/tokenPassword:TokenPassword": "the password '{}' of a container registry",
    "azuread:index/applicationPassword:ApplicationPassword": "the password '{}' of an application",
    "azuread:index/servicePrincipalPassword:ServicePrincipalPassword": "the password '{}' of an application",
    "gcp:projects/apiKey:ApiKey": "the API key '{}'",
    "gcp:serviceaccount/key:Key": "the service account key '{}'",
    "gcp:storage/hmacKey:HmacKey": "the HMAC key '{}'",
}
_GOOGLES: Final = ("gcp", "google", "google-beta", "google-native")
_AZURES: Final = ("azapi", "azure", "azure-native", "azure-nextgen", "azuread", "azurerm")
_AZURES_SECRETS: Final = ("clientSecret", "clientCertificatePassword", "clientCertificate")
# https://registry.terraform.io/providers/hashicorp/helm/latest/docs#authentication
_LOGINS: Final = ("token", "password", "clientKey")
# Tokens of minutes: https://developers.google.com/identity/protocols/oauth2,
# https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster
_SHORT_LIVED: Final = ("ya29.", "k8s-aws-v1.")


def read_lasting(declared: Declared) -> Iterable[Item]:
    """A key that never ends by itself, or after years."""
    yield Credential(_LASTING[declared.type].format(declared.name), True, declared.urn)


def read_application(declared: Declared) -> Iterable[Item]:
    """An application of Entra ID with a password of its own in a block, which is in the state."""
    block = declared.properties.get("password")
    if block not in (None, [], {}):
        static: Maybe[bool] = UNKNOWN if block is UNKNOWN else True
        yield Credential(f"the password of application '{declared.name}'", static, declared.urn)


def read_clusters_provider(declared: Declared) -> Iterable[Item]:
    """Providers that log in to a cluster by themselves: by ``kubernetes: {host, token}``, not by an ``exec`` plugin."""
    login = coalesce(declared.properties.get("kubernetes"), declared.properties)
    for name in _LOGINS:
        value = text(at(login, name))
        if value is not None:
            static: Maybe[bool] = UNKNOWN if value is UNKNOWN else _lasts(value)
            yield Credential(f"the {name} of provider '{declared.name}'", static, declared.urn)


def _lasts(token: str) -> bool:
    return static_key_in(token) != "" if token.startswith("eyJ") else not token.startswith(_SHORT_LIVED)


def read_registry(declared: Declared) -> Iterable[Item]:
    """A container registry of Azure with an administrator, whose passwords never expire.

    https://learn.microsoft.com/azure/container-registry/container-registry-authentication#admin-account
    """
    enabled = either(flag(declared.properties.get(name)) for name in ("adminUserEnabled", "adminEnabled"))
    if enabled is not False:
        yield Credential(f"the administrator's password of registry '{declared.name}'", enabled, declared.urn)


def read_amazons_provider(declared: Declared) -> Iterable[Item]:
    """``pulumi:providers:aws`` with an access key of its own (a session token marks a short-lived one)."""
    secret, token = text(declared.properties.get("secretKey")), text(declared.properties.get("token"))
    if secret is not None:
        static: Maybe[bool] = UNKNOWN if UNKNOWN in (secret, token) else token is None
        yield Credential(f"the access key of provider '{declared.name}'", static, declared.urn)


def read_googles_provider(declared: Declared) -> Iterable[Item]:
    """``pulumi:providers:gcp`` with a key file's content (a path to one, too) as its credentials."""
    credentials = text(declared.properties.get("credentials"))
    if credentials is not None:
        static = UNKNOWN if credentials is UNKNOWN else '"external_account"' not in credentials
        yield Credential(f"credentials of provider '{declared.name}'", static, declared.urn)


def read_azures_provider(declared: Declared) -> Iterable[Item]:
    """``pulumi:providers:azure-native`` and its like, signed in by a secret in place of OIDC or a managed identity."""
    for name in _AZURES_SECRETS:
        if (value := text(declared.properties.get(name))) is not None:
            static: Maybe[bool] = UNKNOWN if value is UNKNOWN else True
            yield Credential(f"the {name} of provider '{declared.name}'", static, declared.urn)


READERS: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(_LASTING, read_lasting),
    **{f"pulumi:providers:{package}": read_amazons_provider for package in ("aws", "aws-native")},
    **{f"pulumi:providers:{package}": read_googles_provider for package in _GOOGLES},
    **{f"pulumi:providers:{package}": read_azures_provider for package in _AZURES},
    "azuread:index/application:Application": read_application,
    **{f"pulumi:providers:{package}": read_clusters_provider for package in ("helm", "kubectl")},
    "aws:kms/key:Key": read_amazons,
    "gcp:kms/cryptoKey:CryptoKey": read_googles,
    "azure:containerservice/registry:Registry": read_registry,
    "azure-native*:containerregistry*:Registry": read_registry,
    "azure:keyvault/key:Key": read_azures,
    "azure-native*:keyvault*:Key": read_azures,
}
