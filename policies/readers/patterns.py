"""Patterns with ``*`` for any number of characters, for type tokens with many versions."""

from __future__ import annotations

from fnmatch import fnmatchcase


def matches(text: str, pattern: str) -> bool:
    """Whether all of ``text`` is as ``pattern`` has it."""
    before, star, _ = pattern.partition("*")
    if not star:
        return text == pattern
    # fnmatch compiles what it is given: hundreds of patterns would take longer than all that the gate reads.
    return text.startswith(before) and fnmatchcase(text, pattern)
