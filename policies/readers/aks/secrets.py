"""Reads Azure's long-lived secrets: of the providers' own configuration, and those that a program makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Credential
from facts.concepts.unknown import UNKNOWN, Maybe
from policies.readers.resource import Declared, Item, Reader

_SECRETS: Final = ("clientSecret", "clientCertificatePassword")


def read_provider(declared: Declared) -> Iterable[Item]:
    """``pulumi:providers:azure-native`` and its like, signed in by a secret in place of OIDC or a managed identity."""
    for name in _SECRETS:
        value = declared.properties.get(name)
        if value not in (None, ""):
            static: Maybe[bool] = UNKNOWN if value is UNKNOWN else True
            yield Credential(f"the {name} of provider '{declared.name}'", static, declared.urn)


def read_password(declared: Declared) -> Iterable[Item]:
    """``azuread`` passwords of applications and service principals: valid for two years by default."""
    yield Credential(f"the password '{declared.name}' of an application", True, declared.urn)


READERS: Final[Mapping[str, Reader]] = {
    **{f"pulumi:providers:{package}": read_provider for package in ("azure-native", "azure", "azuread")},
    "azuread:index/applicationPassword:ApplicationPassword": read_password,
    "azuread:index/servicePrincipalPassword:ServicePrincipalPassword": read_password,
}
