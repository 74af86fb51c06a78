"""Which inputs changed between two sets of inputs, by path, and which of the changes replace the resource."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.base import Diff, Properties
from rehearsal.providers.paths import Path, covers, format_path, parse_path


@dataclass(frozen=True)
class Comparison:
    """How the inputs of one resource type are compared.

    ``replaces`` are input paths that cannot be updated in place (``x[]``: only adding or removing elements). In
    ``links`` a resource's name and its URL mean the same, ``unordered`` lists are sets. ``absent`` are scalars that
    mean the same as an input left open; empty blocks and lists always do.
    """

    replaces: tuple[str, ...]
    links: tuple[str, ...]
    unordered: tuple[str, ...]
    absent: tuple[Any, ...]


def diff(shape: Comparison, old: Properties, new: Properties, ignored: tuple[str, ...]) -> Diff:
    """The diff of two sets of inputs without the ``ignored`` paths (``nodeConfig.labels``, ``taints[*].value``).

    Paths are those of leaves (``nodeConfig.taints[0].value``); an added or removed list element is one path. A value
    that becomes known only at update counts as changed, as it does in the real provider.
    """
    patterns = [parse_path(path) for path in ignored]
    changes = [path for path in _changes(old, new, (), shape) if not any(covers(pattern, path) for pattern in patterns)]
    replaces = (format_path(path) for path in changes if _replaces(shape, path))
    return Diff(changes=tuple(map(format_path, changes)), replaces=tuple(replaces))


def same_resource(one: str, other: str) -> bool:
    """Whether a name, a partial path and a URL mean the same resource: the shorter must end the longer."""
    shorter, longer = sorted((one.split("/"), other.split("/")), key=len)
    return longer[-len(shorter) :] == shorter


def _replaces(shape: Comparison, path: Path) -> bool:
    named = _names(path)
    for candidate in shape.replaces:
        steps = candidate.removesuffix("[]").split(".")
        if named == steps or (not candidate.endswith("[]") and named[: len(steps)] == steps):
            return True
    return False


def _names(path: Path) -> list[str]:
    """The path without its indices."""
    return [step for step in path if isinstance(step, str)]


def _changes(old: Any, new: Any, path: Path, shape: Comparison) -> Iterator[Path]:
    if _empty(old, shape) and _empty(new, shape):
        return
    before, after = _comparable(old, new, shape), _comparable(new, old, shape)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _changes(before.get(key), after.get(key), (*path, key), shape)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path, shape)
    elif not _same(old, new, path, shape):
        yield path


def _list_changes(old: list[Any], new: list[Any], path: Path, shape: Comparison) -> Iterator[Path]:
    if ".".join(_names(path)) in shape.unordered and UNKNOWN not in new:
        old, new = sorted(old, key=_canonical), sorted(new, key=_canonical)
    for index in range(max(len(old), len(new))):
        if index >= len(old) or index >= len(new):
            yield (*path, index)
        else:
            yield from _changes(old[index], new[index], (*path, index), shape)


def _same(old: Any, new: Any, path: Path, shape: Comparison) -> bool:
    if old is UNKNOWN or new is UNKNOWN:
        return False
    if format_path(path) in shape.links and isinstance(old, str) and isinstance(new, str):
        return same_resource(old, new)
    return bool(old == new)


def _empty(value: Any, shape: Comparison) -> bool:
    if value is None or (isinstance(value, (dict, list)) and not value):
        return True
    # False equals 0 in Python, so the type counts too.
    return any(type(value) is type(each) and value == each for each in shape.absent)


def _comparable(value: Any, other: Any, shape: Comparison) -> Any:
    """An empty block stands for an absent one, so that adding a block names the fields in it."""
    return type(other)() if _empty(value, shape) and isinstance(other, (dict, list)) else value


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
