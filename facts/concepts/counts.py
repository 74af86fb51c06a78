"""Numbers with their nouns in messages: 1 node, 2 nodes."""

from __future__ import annotations


def counted(count: object, noun: str) -> str:
    """The number and the noun, which takes an ``s`` unless the number is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
