"""Where a cloud lists taints and labels of a node pool, and how it spells one more taint; the inverse of its reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from facts.concepts.kubernetes import Taint


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
