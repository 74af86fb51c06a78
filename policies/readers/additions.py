"""How a cloud spells one more taint or label on a node pool; the inverse of its reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from facts.concepts.kubernetes import Taint


@dataclass(frozen=True)
class Additions:
    """Changes the properties of a pool in place; false where they have another shape than expected (a secret)."""

    add_taint: Callable[[dict[str, Any], Taint], bool]
    add_label: Callable[[dict[str, Any], str, str], bool]
    """Takes the properties, the label's key and its value."""


def add(holder: object, key: str, value: object) -> bool:
    """Puts ``value`` at the end of the list at ``key``."""
    if not isinstance(holder, dict) or not isinstance(holder.get(key), (list, type(None))):
        return False
    holder[key] = [*(holder.get(key) or []), value]
    return True


def put(holder: object, place: str, key: str, value: str) -> bool:
    """Sets ``key`` of the map at ``place``."""
    if not isinstance(holder, dict) or not isinstance(holder.get(place), (dict, type(None))):
        return False
    holder[place] = {**(holder.get(place) or {}), key: value}
    return True
