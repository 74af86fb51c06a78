"""Which inputs changed between two sets of inputs, by path, and which of the changes replace the resource."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rehearsal.providers.base import UNKNOWN, Diff, Properties
from rehearsal.providers.gcp.shape import Shape

INDEX = re.compile(r"\[\d+\]")


def changed_paths(old: Properties, new: Properties, shape: Shape) -> list[str]:
    """Paths of leaves that differ (``nodeConfig.taints[0].value``); an added or removed element is one path."""
    return list(_changes(old, new, "", shape))


def diff(shape: Shape, old: Properties, new: Properties, ignored: tuple[str, ...]) -> Diff:
    """The diff of two sets of inputs without the ``ignored`` paths (``nodeConfig.labels``, ``taints[*].value``).

    A value that becomes known only at update counts as changed, as it does in the real provider.
    """
    changes = [path for path in changed_paths(old, new, shape) if not any(_covers(i, path) for i in ignored)]
    return Diff(changes=tuple(changes), replaces=tuple(path for path in changes if _replaces(shape, path)))


def _replaces(shape: Shape, path: str) -> bool:
    plain = INDEX.sub("", path)
    for candidate in shape.replaces:
        if candidate.endswith("[]"):
            if plain == candidate[:-2]:
                return True
        elif plain == candidate or plain.startswith(f"{candidate}."):
            return True
    return False


def _covers(ignored: str, path: str) -> bool:
    pattern = re.escape(ignored.replace('["', ".").replace('"]', "")).replace(r"\[\*\]", r"\[\d+\]")
    return re.fullmatch(pattern + r"([.\[].*)?", path) is not None


def _changes(old: Any, new: Any, path: str, shape: Shape) -> Iterator[str]:
    if _empty(old) and _empty(new):
        return
    before, after = _comparable(old, new), _comparable(new, old)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _changes(before.get(key), after.get(key), f"{path}.{key}" if path else key, shape)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path, shape)
    elif not _same(old, new, path, shape):
        yield path


def _list_changes(old: list[Any], new: list[Any], path: str, shape: Shape) -> Iterator[str]:
    if INDEX.sub("", path) in shape.unordered and UNKNOWN not in new:
        old, new = sorted(old, key=_canonical), sorted(new, key=_canonical)
    for index in range(max(len(old), len(new))):
        if index >= len(old) or index >= len(new):
            yield f"{path}[{index}]"
        else:
            yield from _changes(old[index], new[index], f"{path}[{index}]", shape)


def _same(old: Any, new: Any, path: str, shape: Shape) -> bool:
    if old is UNKNOWN or new is UNKNOWN:
        return False
    if INDEX.sub("", path) in shape.links and isinstance(old, str) and isinstance(new, str):
        return same_resource(old, new)
    return bool(old == new)


def same_resource(one: str, other: str) -> bool:
    """Whether a name, a partial path and a URL mean the same resource: the shorter must end the longer."""
    shorter, longer = sorted((one.split("/"), other.split("/")), key=len)
    return longer[-len(shorter) :] == shorter


def _empty(value: Any) -> bool:
    # The provider's SDK cannot tell an absent value from a zero one; defaults other than zero were filled in before.
    return not value


def _comparable(value: Any, other: Any) -> Any:
    """An empty block stands for an absent one, so that adding a block names the fields in it."""
    return type(other)() if _empty(value) and isinstance(other, (dict, list)) else value


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
