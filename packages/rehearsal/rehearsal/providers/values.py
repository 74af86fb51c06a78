"""Looking into property maps whose values may not be known yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from facts.concepts import unknown
from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.base import Properties


def at(inputs: Any, path: str) -> Any:
    """The value at a dotted path, ``None`` if a part is absent, ``UNKNOWN`` if a part is not known yet."""
    return unknown.at(inputs, *path.split("."))


def has_unknown(value: Any) -> bool:
    """Whether ``value`` is, or contains, a value that only the update knows."""
    if isinstance(value, dict):
        return any(map(has_unknown, value.values()))
    if isinstance(value, list):
        return any(map(has_unknown, value))
    return value is UNKNOWN


def without_none(inputs: Properties) -> Properties:
    """``inputs`` without the keys that the program left open."""
    return {key: value for key, value in inputs.items() if value is not None}


def merged(base: Any, over: Any) -> Any:
    """As Helm merges values: ``over`` over ``base``, maps key by key, everything else whole.

    https://helm.sh/docs/chart_template_guide/values_files/
    """
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}
    return over


def split_id(id: str) -> tuple[str | None, str]:
    """Namespace and name of a resource id."""
    namespace, _, name = id.rpartition("/")
    return namespace or None, name
