"""Reads long-lived credentials, of the clouds' providers and those that a program makes, and encryption keys that their
cloud can rotate by itself.

https://docs.aws.amazon.com/kms/latest/developerguide/rotate-keys.html,
https://docs.cloud.google.com/kms/docs/key-rotation,
https://learn.microsoft.com/azure/key-vault/keys/how-to-configure-key-rotation
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Final

from facts.catalog.tables import Row
from facts.concepts.credentials import static_key_in
from facts.concepts.declared import Credential, EncryptionKey
from facts.concepts.durations import seconds
from facts.concepts.unknown import UNKNOWN, Maybe, at, coalesce, either, flag, items, negation, text
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.tables import rows


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


_MADE: Final = rows("readers", "made_keys")
# Packages whose types are looked at one by one, or whose tokens end in any case: no names decide there.
_LOOKED_AT: Final = ("aws", "azure", "gcp:", "gitlab:", "google", "tailscale:")
_END: Final = re.compile(r"expir|ttl|lifetime|validity|toLive|endDate|duration", re.IGNORECASE)
_YEAR: Final = timedelta(days=366)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_GOOGLES: Final = ("gcp", "google", "google-beta", "google-native")
_AZURES: Final = ("azapi", "azure", "azure-native", "azure-nextgen", "azuread", "azurerm")
_AZURES_SECRETS: Final = ("clientSecret", "clientCertificatePassword", "clientCertificate")
# https://registry.terraform.io/providers/hashicorp/helm/latest/docs#authentication
_LOGINS: Final = ("token", "password", "clientKey")
# Tokens of minutes: https://developers.google.com/identity/protocols/oauth2,
# https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster
_SHORT_LIVED: Final = ("ya29.", "k8s-aws-v1.")


def _made(row: Row) -> Reader:
    """The reader of a type that makes a key."""
    by_name = row["ends"] == "*"

    def read(declared: Declared) -> Iterable[Item]:
        inputs = declared.properties
        if by_name and declared.type.startswith(_LOOKED_AT):
            return
        if not any(inputs.get(name) not in (None, "") for name in row["unless"].split("|")):
            named = filter(_END.search, inputs) if by_name else row["ends"].split("|")
            static = negation(either(_ends(inputs.get(name)) for name in named))
            yield Credential(row["what"].format(declared.name), static, declared.urn)

    return read


def read_secret_id(declared: Declared) -> Iterable[Item]:
    """``vault:appRole/authBackendRoleSecretId:AuthBackendRoleSecretId``, whose role may give it an end.

    https://developer.hashicorp.com/vault/docs/auth/approle,
    https://registry.terraform.io/providers/hashicorp/vault/latest/docs/resources/approle_auth_backend_role
    """
    own = [declared.properties.get(name) for name in ("ttl", "wrappingTtl")]
    given = [role.properties.get("secretIdTtl") for role in declared.references]
    static = negation(either(_ends(each) for each in (*own, *given)))
    yield Credential(f"the secret ID '{declared.name}' of Vault", static, declared.urn)


def _approles(declared: Declared, everything: Program) -> Iterable[Declared]:
    name, sources = declared.properties.get("roleName"), declared.dependencies.get("roleName", ())
    for role in everything.of("vault:appRole/authBackendRole:AuthBackendRole"):
        if role.urn in sources or (isinstance(name, str) and role.properties.get("roleName") == name):
            yield role


def _ends(end: object) -> Maybe[bool]:
    """Whether this is an end within a year: a date, a number of seconds, or a duration (``168h``)."""
    if end is UNKNOWN:
        return UNKNOWN
    if isinstance(end, str) and (day := _DATE.match(end)):
        try:
            return date.fromisoformat(day.group()) - date.today() <= _YEAR
        except ValueError:
            return False
    lasts = end
    if isinstance(end, str):
        lasts = int(end) if end.lstrip("-").isdigit() else seconds(end)
    return isinstance(lasts, (int, float)) and 0 < lasts <= _YEAR.total_seconds()


def read_login(declared: Declared) -> Iterable[Item]:
    """``aws:iam/userLoginProfile:UserLoginProfile``: a person's password, in the state unless it is encrypted.

    https://www.pulumi.com/registry/packages/aws/api-docs/iam/userloginprofile/
    """
    if declared.properties.get("pgpKey") in (None, ""):
        yield Credential(f"the password '{declared.name}' of a user", True, declared.urn)


def read_storage_user(declared: Declared) -> Iterable[Item]:
    """A user of a storage account who logs in by SSH, with a password that Azure makes.

    https://learn.microsoft.com/azure/storage/blobs/secure-file-transfer-protocol-support-authorize-access
    """
    enabled = either(flag(declared.properties.get(name)) for name in ("hasSshPassword", "sshPasswordEnabled"))
    if enabled is not False:
        yield Credential(f"the password '{declared.name}' of a storage account", enabled, declared.urn)


def read_registry_token(declared: Declared) -> Iterable[Item]:
    """``azure-native:containerregistry:Token`` with passwords.

    https://learn.microsoft.com/azure/container-registry/container-registry-token-based-repository-permissions
    """
    passwords = at(declared.properties, "credentials", "passwords")
    listed = [passwords] if passwords is UNKNOWN else items(passwords)
    static = either(negation(_ends(at(each, "expiry"))) for each in listed)
    if static is not False:
        yield Credential(f"a password of token '{declared.name}' of a container registry", static, declared.urn)


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


# What other providers log in with, that could log in by an identity: by OIDC or as their machine.
# https://registry.terraform.io/providers/hashicorp/vault/latest/docs#vault-authentication-configuration-options,
# https://docs.databricks.com/aws/en/dev-tools/auth/oauth-federation,
# https://docs.oracle.com/iaas/Content/dev/terraform/configuring.htm,
# https://registry.terraform.io/providers/aliyun/alicloud/latest/docs#authentication
_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "vault": ("token",),
    "databricks": ("azureClientSecret", "clientSecret", "password"),
    "oci": ("privateKey", "privateKeyPath"),
    "alicloud": ("secretKey",),
}


def _of_provider(package: str) -> Reader:
    """The reader of a provider that may log in with a key."""

    def read(declared: Declared) -> Iterable[Item]:
        if package == "alicloud" and declared.properties.get("securityToken") is not None:
            return
        for name in _OTHERS[package]:
            if (value := text(declared.properties.get(name))) is not None:
                static: Maybe[bool] = UNKNOWN if value is UNKNOWN else True
                yield Credential(f"the {name} of provider '{declared.name}'", static, declared.urn)

    return read


def read_vault_token(declared: Declared) -> Iterable[Item]:
    """``vault:index/token:Token``: with a period whoever holds it renews it without an end.

    https://developer.hashicorp.com/vault/docs/concepts/tokens#periodic-tokens
    """
    period = declared.properties.get("period")
    if period not in (None, "", "0"):
        yield Credential(f"the token '{declared.name}' of Vault", UNKNOWN if period is UNKNOWN else True, declared.urn)


_SECRET_ID: Final = "vault:appRole/authBackendRoleSecretId:AuthBackendRoleSecretId"
REFERRERS: Final[Mapping[str, Referrer]] = {_SECRET_ID: Referrer(refers=lambda _: True, finds=_approles)}
READERS: Final[Mapping[str, Reader]] = {
    **{row["type"]: _made(row) for row in _MADE},
    **{f"pulumi:providers:{package}": read_amazons_provider for package in ("aws", "aws-native", "awscc")},
    **{f"pulumi:providers:{package}": _of_provider(package) for package in _OTHERS},
    "vault:index/token:Token": read_vault_token,
    _SECRET_ID: read_secret_id,
    **{f"pulumi:providers:{package}": read_googles_provider for package in _GOOGLES},
    **{f"pulumi:providers:{package}": read_azures_provider for package in _AZURES},
    "azuread:index/application:Application": read_application,
    **{f"pulumi:providers:{package}": read_clusters_provider for package in ("helm", "kubectl")},
    "aws:kms/key:Key": read_amazons,
    "gcp:kms/cryptoKey:CryptoKey": read_googles,
    "azure:containerservice/registry:Registry": read_registry,
    "azure-native*:containerregistry*:Registry": read_registry,
    "azure-native*:containerregistry*:Token": read_registry_token,
    "aws:iam/userLoginProfile:UserLoginProfile": read_login,
    "azure:storage/localUser:LocalUser": read_storage_user,
    "azure-native*:storage*:LocalUser": read_storage_user,
    "azure:keyvault/key:Key": read_azures,
    "azure-native*:keyvault*:Key": read_azures,
}
