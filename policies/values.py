"""Reading property maps that may hold ``UNKNOWN`` anywhere, without a crash and without a guess."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.rules.model import UNKNOWN, Maybe


def at(value: Any, *path: str) -> Any:
    """The value at ``path``, ``None`` where a part is missing, ``UNKNOWN`` where a part is unknown."""
    for key in path:
        if value is UNKNOWN:
            return UNKNOWN
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def given(*values: Any) -> Any:
    """The first that is given, known or not; ``None`` if none is."""
    return next((value for value in values if value is not None), None)


def whole(value: Any, default: int | None = None) -> Maybe[int | None]:
    """A whole number, also from text or a float (the engine's numbers); ``default`` where nothing is given.

    Text that is no number is ``UNKNOWN``: the cloud will refuse it, and no rule should take it for a zero.
    """
    if value is None:
        return default
    if value is UNKNOWN or isinstance(value, bool):
        return UNKNOWN
    try:
        return int(value)
    except (TypeError, ValueError):
        return UNKNOWN


def items(value: Any) -> list[Any]:
    """A list's elements; one ``UNKNOWN`` for an unknown list, nothing for a missing one."""
    if value is UNKNOWN:
        return [UNKNOWN]
    return list(value) if isinstance(value, (list, tuple)) else []


def text(value: Any) -> Maybe[str | None]:
    """Text, ``None`` where nothing (or an empty text) is given, ``UNKNOWN``."""
    return UNKNOWN if value is UNKNOWN else (str(value) if value not in (None, "") else None)


def flag(value: Any) -> Maybe[bool]:
    """A boolean, also from the engine's text spelling in provider configuration; missing is ``False``."""
    return UNKNOWN if value is UNKNOWN else value is True or value == "true"
