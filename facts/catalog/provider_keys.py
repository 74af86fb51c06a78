"""Providers' own keys, such as ``gcp:project``: those that a stack file may have, and why not the others."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from facts.catalog import tables

_ROWS: Final = tuple((row["provider"], row["key"], row["risk"]) for row in tables.rows("", "provider_keys"))
_NO_KEY: Final = "is no key"
_PROVIDERS: Final = frozenset(provider for provider, _, _ in _ROWS)


def risk(key: str) -> str | None:
    """Why a stack file may not have a key: empty if it may, ``None`` for a key of a provider without a table.

    ``gcp:config:project`` is an old form of ``gcp:project``:
    https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/config/key.go (``ParseKey``)
    """
    provider, _, name = key.partition(":")
    if provider not in _PROVIDERS:
        return None
    name = name.removeprefix("config:")
    known = (risk for owner, pattern, risk in _ROWS if owner == provider and fnmatchcase(name, pattern))
    return next(known, f"{_NO_KEY} of the provider {provider} that is known to be safe")


# Other words for what a key is about:
# https://registry.terraform.io/providers/hashicorp/google/latest/docs/guides/provider_reference#quota-management-configuration,
# https://www.pulumi.com/registry/packages/aws/installation-configuration/#configuration-reference
_MEANT: Final = {
    "aws:tags": "'aws:defaultTags: {tags: …}'",
    "gcp:labels": "'gcp:defaultLabels'",
    "gcp:quotaProject": "'gcp:billingProject' and 'gcp:userProjectOverride: true'",
    "gcp:userProject": "'gcp:billingProject' and 'gcp:userProjectOverride: true'",
    "azure-native:region": "'azure-native:location'",
}


def meant(key: str) -> str | None:
    """What a stack file may have in place of a key that is none, where people call that so; else ``None``."""
    return _MEANT.get(key)


def instead_of(key: str) -> tuple[str, ...]:
    """The names of keys of its provider that a stack file may have, where a key is none that is known."""
    provider = key.partition(":")[0]
    listed = (name for owner, name, risk in _ROWS if owner == provider and not risk)
    return tuple(listed) if str(risk(key)).startswith(_NO_KEY) else ()
