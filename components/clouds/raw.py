"""``raw`` of a stack file: provider inputs in addition to those that the program sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import pulumi

_Inputs = TypeVar("_Inputs")


def beside(inputs: _Inputs, raw: Mapping[str, Any], where: str) -> _Inputs:
    """``inputs`` with those of ``raw`` that are not among them, at any depth of blocks; ``where`` is its key path.

    Raises:
        pulumi.RunError: the program sets one of them.
    """
    return cast(_Inputs, _beside(cast(Mapping[str, Any], inputs), raw, where))


def changing(raw: Mapping[str, Any], running: Mapping[str, Any], paths: Iterable[str]) -> list[str]:
    """The ``paths`` at which ``raw`` says something else than the ``running`` resource has. Where it says nothing, what
    runs stays."""
    return [path for path in paths if not _has(at(running, path), at(raw, path))]


def at(value: Any, path: str) -> Any:
    """What is at the dotted ``path``; ``None`` if nothing is."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _has(running: Any, declared: Any) -> bool:
    """Whether all that is declared runs; a cloud adds what it chooses."""
    if isinstance(declared, Mapping):
        own = running if isinstance(running, Mapping) else {}
        return all(_has(own.get(key), value) for key, value in declared.items())
    return declared is None or bool(running == declared)


def _beside(inputs: Mapping[str, Any], raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    merged = dict(inputs)
    for key, value in raw.items():
        own = merged.get(key)
        if own is None:
            merged[key] = value
        elif isinstance(own, Mapping) and isinstance(value, Mapping):
            merged[key] = _beside(own, value, f"{where}.{key}")
        else:
            raise pulumi.RunError(
                f"{where}.{key}: the program sets this input. Remove it; docs/configuration.md lists the settings."
            )
    return merged
