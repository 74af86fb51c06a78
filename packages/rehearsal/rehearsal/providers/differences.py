"""Property paths, and which inputs changed between two sets of inputs, by path, and which changes replace the resource.

A path is the engine's notation for a place in a property map, ``spec.ports[0]["app/name"]``:
https://www.pulumi.com/docs/iac/concepts/options/ignorechanges/#property-paths
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.base import Diff, Properties

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]

MISSING: Final = object()
"""What ``lookup`` returns where there is nothing (``None`` is a value)."""

_STEP: Final = re.compile(
    r"""\.?(?P<name>[^.\[\]"]+)   # root, .nested
      | \[(?P<index>\d+|\*)\]     # [0], [*]
      | \["(?P<key>(?:[^"\\]|\\.)*)"\]""",
    re.VERBOSE,
)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*\Z")


def parse_path(text: str) -> Path:
    """The steps of a property path. Raises ``ValueError`` if it does not follow the grammar."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(f"{text!r} is not a property path (at {text[position:]!r}); write e.g. spec.ports[0]")
        name, index, key = match.group("name", "index", "key")
        if index is not None:
            steps.append(index if index == "*" else int(index))
        else:
            steps.append(name if name is not None else re.sub(r"\\(.)", r"\1", key))
        position = match.end()
    return tuple(steps)


def format_path(path: Path) -> str:
    """The notation of ``path``; ``parse_path`` of it gives ``path`` again."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_NAME.match(step):
            text += f".{step}" if text else step
        else:
            text += '["' + step.replace("\\", "\\\\").replace('"', '\\"') + '"]'
    return text


def lookup(properties: Any, path: Path) -> Any:
    """The value at ``path``, or ``MISSING``."""
    value = properties
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return MISSING
    return value


def covers(pattern: Path, path: Path) -> bool:
    """Whether ``path`` is the place ``pattern`` names or lies below it; ``*`` in the pattern is any one step."""
    return len(pattern) <= len(path) and all(want in ("*", step) for want, step in zip(pattern, path, strict=False))


def differences(old: Any, new: Any, path: Path = ()) -> list[Path]:
    """The paths at which two property maps differ, as deep as possible, in sorted order."""
    if isinstance(old, dict) and isinstance(new, dict):
        changed: list[Path] = []
        for key in sorted({*old, *new}):
            changed += differences(old.get(key, MISSING), new.get(key, MISSING), (*path, key))
        return changed
    if isinstance(old, list) and isinstance(new, list):
        changed = []
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else MISSING
            after = new[index] if index < len(new) else MISSING
            changed += differences(before, after, (*path, index))
        return changed
    return [] if old is not MISSING and new is not MISSING and old == new else [path]


@dataclass(frozen=True)
class Comparison:
    """How the inputs of one resource type are compared.

    ``replaces`` are input paths that cannot be updated in place (``x[]``: only adding or removing elements, or the
    block). One of the ``computed`` that goes with its block replaces nothing: it counts as the cloud's. In ``links`` a
    resource's name and its URL mean the same, ``unordered`` lists are sets. ``absent`` are scalars that mean the same
    as an input left open; empty blocks and lists always do.
    """

    replaces: tuple[str, ...]
    computed: tuple[str, ...]
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
    replaces = (
        format_path(path)
        for path in changes
        if (_replaces(shape, path) and not _is_left_out(shape, path, new)) or _appears(shape, path, old, new)
    )
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


def _is_left_out(shape: Comparison, path: Path, new: Properties) -> bool:
    """Not an element of a list, whose number counts: ``diffString`` and ``diffList`` in
    https://github.com/hashicorp/terraform-plugin-sdk/blob/main/helper/schema/schema.go."""
    part = isinstance(path[-1], str) and ".".join(_names(path)) in shape.computed
    return part and lookup(new, path) in (MISSING, None)


def _appears(shape: Comparison, path: Path, old: Properties, new: Properties) -> bool:
    """Whether the change is a part of adding or removing a block that cannot come or go in place."""
    blocks = {candidate.removesuffix("[]") for candidate in shape.replaces if candidate.endswith("[]")}
    for end in range(1, len(path)):
        if ".".join(_names(path[:end])) in blocks:
            before, after = (_empty(lookup(each, path[:end]), shape) for each in (old, new))
            if before is not after:
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
    if value is None or value is MISSING or (isinstance(value, (dict, list)) and not value):
        return True
    # False equals 0 in Python, so the type counts too.
    return any(type(value) is type(each) and value == each for each in shape.absent)


def _comparable(value: Any, other: Any, shape: Comparison) -> Any:
    """An empty block stands for an absent one, so that adding a block names the fields in it."""
    return type(other)() if _empty(value, shape) and isinstance(other, (dict, list)) else value


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
