"""Taints as APIs list them: ``{key, value, effect}``, the effect in Kubernetes' words or as ``NO_SCHEDULE``; where a
cloud's pool lists its own, and its labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Additions:
    """Changes the properties of a pool in place; false where they have another shape than expected (a secret)."""

    taints: str
    """The property that lists taints."""
    labels: str
    """The property that maps labels."""
    spelled: Callable[[Taint], Any]
    """An element of ``taints``."""
    inside: str = ""
    """The property that holds both, where they are not the pool's own."""

    def add_taint(self, pool: dict[str, Any], taint: Taint) -> bool:
        """Puts ``taint`` at the end of the pool's taints."""
        return self._add(pool, self.taints, [], lambda taints: [*taints, self.spelled(taint)])

    def add_label(self, pool: dict[str, Any], key: str, value: str) -> bool:
        """Sets ``key`` of the pool's labels."""
        return self._add(pool, self.labels, {}, lambda labels: {**labels, key: value})

    def _add(self, pool: dict[str, Any], name: str, none: Any, longer: Callable[[Any], Any]) -> bool:
        holder = pool.setdefault(self.inside, {}) if self.inside else pool
        if not isinstance(holder, dict) or not isinstance(holder.get(name), (type(none), type(None))):
            return False
        holder[name] = longer(holder.get(name) or none)
        return True
