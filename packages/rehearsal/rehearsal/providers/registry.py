"""Look-up of simulated types and functions by name; any other name is an error that contains it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from rehearsal.providers.base import ProviderError

T = TypeVar("T")


def simulated(plugin: str, what: str, name: str, known: Mapping[str, T]) -> T:
    """The entry for ``name``, which is a ``what`` (``resource type``, ``function``) of ``plugin``.

    Raises:
        ProviderError: it is not simulated; the message lists those that are.
    """
    if name not in known:
        raise ProviderError(f"{plugin}: {what} {name} is not simulated; the rehearsal knows {', '.join(sorted(known))}")
    return known[name]
