"""A cloud's account: how it is named, who is in it, what a stack needs of its limits and rights."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from facts.catalog.model import Quota
from facts.catalog.tags import RegistryName
from facts.concepts.pool import Pool


@dataclass(frozen=True, kw_only=True)
class CredentialPlugin:
    """The program that a kubeconfig names for its credentials, and the ``arguments`` that ask it for a token.

    ``otherwise`` is whose credentials it looks for without them: nobody who followed docs/install-gke.md has any.
    ``logged_in``: without arguments it takes the account in which a person is logged in with the cloud's command.
    """

    command: str
    arguments: str = ""
    otherwise: str = ""
    logged_in: bool = False


@dataclass(frozen=True, kw_only=True)
class CloudAccount:
    """An account on one cloud."""

    key: str
    """The provider's own configuration key that names the account."""
    example: str
    """A value of the key."""
    form: re.Pattern[str]
    """Matches all values of the key."""
    placeholders: tuple[str, ...] = ()
    """Values in examples that are nobody's account."""
    credential_plugin: CredentialPlugin
    people: tuple[str, ...]
    """Whom a cluster can let in, as a stack file writes them: examples."""
    registry_name: RegistryName
    """How a registry of others is named, where the stack can let nodes pull from it."""
    quotas: Callable[[str, Sequence[Pool], int], tuple[Quota, ...]]
    """Region, pools and number of NAT gateways → what they need of the account's limits."""
    quota_page: str
    """Where to ask for more; may name the ``{region}``."""
    rights: Callable[[str, Mapping[str, Sequence[str]]], Iterator[str]] = lambda account, used: iter(())
    """Account and settings in use (→ names of what each uses) → lines that name the APIs and roles needed."""
