"""Numbers in messages: with their nouns (1 node, 2 nodes), and the largest of several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

_Number = TypeVar("_Number", int, float)


def counted(count: object, noun: str) -> str:
    """The number and the noun, which takes an ``s`` unless the number is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def largest(amounts: Iterable[tuple[str, _Number]]) -> list[tuple[str, _Number]]:
    """The three largest amounts; equal ones by name, because the engine registers resources in any order."""
    return sorted(amounts, key=lambda item: (-item[1], item[0]))[:3]
