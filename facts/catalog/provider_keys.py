"""Providers' own keys, such as ``gcp:project``: those that a stack file may have, and why not the others."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from facts.catalog import tables

_ROWS: Final = tuple((row["provider"], row["key"], row["risk"]) for row in tables.rows("", "provider_keys"))
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
    return next(known, f"is no key of the provider {provider} that is known to be safe")
