"""Taints as Google's and Amazon's APIs list them: ``{key, value, effect}``, the effect a constant (``NO_SCHEDULE``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from facts.concepts.kubernetes import Effect, Taint
from facts.concepts.unknown import UNKNOWN, Maybe, at, items

_EFFECTS: Final[Mapping[str, Effect]] = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
_CONSTANTS: Final = {effect: constant for constant, effect in _EFFECTS.items()}


def taints_of(value: Any) -> Maybe[tuple[Taint, ...]]:
    """The listed taints; ``UNKNOWN`` if a key or an effect is."""
    taints: list[Taint] = []
    for entry in items(value):
        key, effect = at(entry, "key"), at(entry, "effect")
        if UNKNOWN in (entry, key, effect):
            return UNKNOWN
        taint_value = at(entry, "value")
        if isinstance(effect, str) and effect in _EFFECTS:
            taints.append(Taint(str(key), "" if taint_value is UNKNOWN else str(taint_value or ""), _EFFECTS[effect]))
    return tuple(taints)


def entry_of(taint: Taint) -> dict[str, str]:
    """The taint as an element of such a list."""
    return {"key": taint.key, "value": taint.value or "", "effect": _CONSTANTS[taint.effect]}
