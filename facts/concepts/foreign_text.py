"""Texts of others, as a terminal, a log or a comment may show them: nothing in them is a command to the screen.

What a cluster, a cloud or the author of a change says reaches people unread by anybody: events, messages, names, diffs.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Control characters but tab and line feed, by which terminals take commands (escape sequences start with ESC or, in
C1, with one character: ECMA-48), and invisible ones, by which a text reads as another (https://trojansource.codes)."""


def without_controls(text: str, instead: str = "") -> str:
    """``text`` without control and invisible characters, or with ``instead`` in the place of each."""
    return _CONTROL.sub(instead, text)


# Colours (SGR) stay. ECMA-48: https://ecma-international.org/publications-and-standards/standards/ecma-48/
_SEQUENCE: Final = re.compile(
    r"(?P<colour>\x1b\[[0-9;:]*m)|\x1b[\]P^_X][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|[\x00-\x08\x0a-\x0c\x0e-\x1f\x7f-\x9f]"
)


def output_line(text: str) -> str:
    """A line that somebody's program wrote, for a terminal: with its colours, tabs and carriage returns, by which
    progress bars write over themselves, and no other command to the screen or the clipboard."""
    return _SEQUENCE.sub(lambda found: found["colour"] or "", text)
