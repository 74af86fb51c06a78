"""What a chart is to the rehearsal: where it comes from, which values it takes, which objects it makes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.providers.base import CheckFailure, Properties, Unknown

FREE: Final = object()
"""In a table of values: whatever Kubernetes allows there, which the API server checks."""


@dataclass(frozen=True)
class Target:
    """The release that a chart is rendered for."""

    name: str
    namespace: str
    version: str


@dataclass(frozen=True)
class Chart:
    """One chart in the ``versions`` that the rehearsal knows.

    ``source`` is the OCI reference, or ``<repository URL>/<name>``. ``defaults`` are its values; a value that is a
    mapping takes no other keys, one that is ``FREE`` takes anything. ``required`` are dotted paths that must be set.
    ``definitions`` are its CustomResourceDefinitions, which Helm neither changes nor deletes.
    """

    source: str
    versions: tuple[str, ...]
    values: Mapping[str, Any]
    required: tuple[str, ...]
    render: Callable[[Target, Mapping[str, Any]], list[Properties]]
    definitions: Callable[[], list[Properties]]

    @property
    def name(self) -> str:
        """The chart's own name."""
        return self.source.rpartition("/")[2]

    def failures(self, given: Any) -> list[CheckFailure]:
        """Values that the chart does not know, and those it needs, as far as they are known.

        Helm itself passes over an unknown value: a misspelt one has no effect, and nobody is told.
        """
        if isinstance(given, Unknown):
            return []
        found = list(_unknown(given or {}, self.values, "values"))
        for path in self.required:
            if _at(given or {}, path) in (None, ""):
                found.append(CheckFailure(f"values.{path}", f"the chart {self.name} cannot be installed without it"))
        return found

    def merged(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The chart's values with those ``given`` over them, as Helm merges them: maps key by key, lists whole."""
        return _merge(_plain(self.values), given)


def _unknown(given: Any, known: Any, path: str) -> Iterator[CheckFailure]:
    if known is FREE or isinstance(known, _Default) or isinstance(given, Unknown) or given is None:
        return
    if not isinstance(known, Mapping):
        if isinstance(given, dict | list):
            yield CheckFailure(path, f"takes a single value, not {type(given).__name__}")
        return
    if not isinstance(given, dict):
        yield CheckFailure(path, f"takes a mapping with the keys {', '.join(sorted(known))}")
        return
    for key, value in given.items():
        if key in known:
            yield from _unknown(value, known[key], f"{path}.{key}")
        else:
            yield CheckFailure(f"{path}.{key}", f"not a value of the chart; it knows {', '.join(sorted(known))}")


@dataclass(frozen=True)
class _Default:
    value: Any


def free(default: Any) -> Any:
    """A ``FREE`` value with a default."""
    return _Default(default)


def _plain(values: Any) -> Any:
    if isinstance(values, _Default):
        return copy.deepcopy(values.value)
    if values is FREE:
        return None
    return {key: _plain(value) for key, value in values.items()} if isinstance(values, Mapping) else values


def _merge(base: Any, over: Any) -> Any:
    if not (isinstance(base, dict) and isinstance(over, Mapping)):
        return over
    merged = {**base, **{key: _merge(base.get(key), value) for key, value in over.items()}}
    # A null in the given values removes the default.
    return {key: value for key, value in merged.items() if key not in over or over[key] is not None}


def _at(values: Any, path: str) -> Any:
    for key in path.split("."):
        if not isinstance(values, Mapping):
            return values if isinstance(values, Unknown) else None
        values = values.get(key)
    return values
