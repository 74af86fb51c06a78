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
