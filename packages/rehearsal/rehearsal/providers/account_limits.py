"""Limits of an account, read from a file. Without a file quota is unlimited and every permission is granted.

quotas: {PREEMPTIBLE_NVIDIA_T4_GPUS: 1}    # by the names of `make quota`; a quota that is not named is unlimited
reservations: {my-reservation: 2}          # name → machines; with this key, no others exist
keys: []                                   # the keys that exist; without this, any key exists
missingRights: [container.clusters.create] # permissions that the user lacks, by the cloud's names
policies: [non-cmek-services]              # what policies of the organization deny (``POLICIES``)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import yaml

POLICIES: Final = ("non-cmek-services", "private-dns-zones")
"""What an organization's policies may deny: stored data without a customer's key (Google), private DNS zones outside of
its hub (Azure)."""


class AccountFileError(Exception):
    """The file cannot be used; the message says where and what to write instead."""


@dataclass(frozen=True)
class AccountLimits:
    """``quotas``: name → limit. ``reservations``: name → machines. ``missing_rights`` may end in ``*``; ``policies``
    are of ``POLICIES``."""

    quotas: Mapping[str, int] = field(default_factory=dict)
    reservations: Mapping[str, int] | None = None
    keys: tuple[str, ...] | None = None
    missing_rights: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()

    def may(self, right: str) -> bool:
        """Whether the user has a permission; case does not matter."""
        return not any(fnmatchcase(right.lower(), missing.lower()) for missing in self.missing_rights)

    def has_key(self, key: str) -> bool:
        """Whether the key exists, or the key whose version this is."""
        return self.keys is None or any(key == each or key.startswith(f"{each}/") for each in self.keys)


UNLIMITED: Final = AccountLimits()


@dataclass(frozen=True)
class Shortage:
    """A quota that is too small: ``limit`` of ``name`` in ``region``, ``used`` by others, ``needed`` more."""

    name: str
    region: str
    limit: int
    used: int
    needed: int
    spot: bool


@dataclass(frozen=True)
class Refusals:
    """A cloud's messages: for an autoscaler that gets no node; for a pool without its first nodes (``at_once``)."""

    quota: Callable[[Shortage], str]
    at_once: Callable[[Shortage], str]
    no_reservation: Callable[[str], str]
    full_reservation: Callable[[str], str]


def read(file: Path, quotas: Sequence[str] | None = None) -> AccountLimits:
    """Read a file. ``quotas``: the names that the stack counts against, to check the file's names.

    Raises AccountFileError: the file cannot be read, or says something else.
    """
    try:
        content = yaml.safe_load(file.read_text()) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise AccountFileError(f"{file}: {error}") from error
    known = ("quotas", "reservations", "keys", "missingRights", "policies")
    if not isinstance(content, dict) or set(content) - set(known):
        raise AccountFileError(f"{file}: the only keys are {', '.join(known)}")
    limits = _counts(file, "quotas", content.get("quotas") or {})
    if quotas is not None and (unknown := sorted(set(limits) - set(quotas))):
        raise AccountFileError(
            f"{file}: quotas: the stack does not count against {unknown[0]!r}; write any of {', '.join(quotas)}"
        )
    policies = _names(file, "policies", content.get("policies") or [])
    if others := set(policies) - set(POLICIES):
        raise AccountFileError(f"{file}: policies: {min(others)!r} is none of {', '.join(POLICIES)}")
    reservations = content.get("reservations")
    return AccountLimits(
        quotas=limits,
        reservations=None if reservations is None else _counts(file, "reservations", reservations),
        keys=None if content.get("keys") is None else _names(file, "keys", content["keys"]),
        missing_rights=_names(file, "missingRights", content.get("missingRights") or []),
        policies=policies,
    )


def _counts(file: Path, key: str, value: Any) -> dict[str, int]:
    if isinstance(value, dict) and all(type(each) is int and each >= 0 for each in value.values()):
        return {str(name): each for name, each in value.items()}
    raise AccountFileError(f"{file}: {key}: write each name with a whole number, such as {{name: 2}}")


def _names(file: Path, key: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise AccountFileError(f"{file}: {key}: write a list of names, such as [name]")
