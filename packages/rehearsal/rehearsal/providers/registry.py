"""What a stand-in answers to, by name; anything else is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from rehearsal.providers.base import ProviderError

T = TypeVar("T")


def simulated(plugin: str, what: str, name: str, known: Mapping[str, T]) -> T:
    """The entry for ``name``, which is a ``what`` (``resource type``, ``function``) of ``plugin``.

    Raises:
        ProviderError: the stand-in has none; the message lists those that it has.
    """
    if name not in known:
        raise ProviderError(f"{plugin}: {what} {name} is not simulated; the rehearsal knows {', '.join(sorted(known))}")
    return known[name]
