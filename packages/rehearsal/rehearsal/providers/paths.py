"""Property paths, the engine's notation for a place in a property map: ``spec.ports[0]["app/name"]``.

Grammar: https://www.pulumi.com/docs/iac/concepts/options/ignorechanges/#property-paths
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

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
