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
        holder = self._holder(pool)
        if not isinstance(holder, dict) or not isinstance(holder.get(self.taints), (list, type(None))):
            return False
        holder[self.taints] = [*(holder.get(self.taints) or []), self.spelled(taint)]
        return True

    def add_label(self, pool: dict[str, Any], key: str, value: str) -> bool:
        """Sets ``key`` of the pool's labels."""
        holder = self._holder(pool)
        if not isinstance(holder, dict) or not isinstance(holder.get(self.labels), (dict, type(None))):
            return False
        holder[self.labels] = {**(holder.get(self.labels) or {}), key: value}
        return True

    def _holder(self, pool: dict[str, Any]) -> Any:
        return pool.setdefault(self.inside, {}) if self.inside else pool
