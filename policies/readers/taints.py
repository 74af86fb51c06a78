"""Taints as APIs list them: ``{key, value, effect}``, the effect in Kubernetes' words or as ``NO_SCHEDULE``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from facts.concepts.kubernetes import CLOUD_EFFECTS, Effect, Taint
from facts.concepts.unknown import UNKNOWN, Maybe, at, items

EFFECTS: Final[Mapping[str, Effect]] = {effect: effect for effect in get_args(Effect)}
CONSTANTS: Final[Mapping[str, Effect]] = {constant: effect for effect, constant in CLOUD_EFFECTS.items()}
"""The effects in Google's and Amazon's words."""


def taints_of(value: Any, effects: Mapping[str, Effect] = EFFECTS) -> Maybe[tuple[Taint, ...]]:
    """The listed taints, their effects spelled as ``effects`` says; ``UNKNOWN`` if a key or an effect is."""
    taints: list[Taint] = []
    for entry in items(value):
        key, effect, taint_value = at(entry, "key"), at(entry, "effect"), at(entry, "value")
        if UNKNOWN in (entry, key, effect):
            return UNKNOWN
        if key and isinstance(effect, str) and effect in effects:
            taints.append(Taint(str(key), "" if taint_value is UNKNOWN else str(taint_value or ""), effects[effect]))
    return tuple(taints)


def parse_taint(entry: str) -> Taint | None:
    """``key=value:Effect`` or ``key:Effect``; ``None`` for what is neither."""
    pair, _, effect = entry.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key, value, EFFECTS[effect]) if key and effect in EFFECTS else None


def entry_of(taint: Taint) -> dict[str, str]:
    """The taint as an element of a list of Google's or Amazon's."""
    return {"key": taint.key, "value": taint.value or "", "effect": CLOUD_EFFECTS[taint.effect]}
