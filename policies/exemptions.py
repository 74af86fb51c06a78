"""Exemptions: resources that may violate a rule for a limited time, each with a reason and an end date.

Only the gate's configuration grants them. A tag or label ``gpucluster-exempt`` on a resource requests one, and the
rule's message mentions the request.

They are in a stack's configuration, under the rule: ``{"gpu-ceiling": {"exemptions": [{"resource": "bench-*",
"reason": "load test, ask ml-platform", "expires": "2027-01-31"}]}}``. Each run prints them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from fnmatch import fnmatchcase
from typing import Any, Final

KEY: Final = "exemptions"
LONGEST: Final = timedelta(days=366)
"""How far ahead an exemption may end: for a permanent exception, change the rule's limit or level."""

ASKS: Final = "gpucluster-exempt"
"""The tag or label that requests an exemption."""

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS: Final = 2
_TEXTS: Final = ("resource", "tag", "reason", "expires")
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "default": [],
    "description": "Resources that are exempt for a limited time; each run prints them.",
    "items": {
        "type": "object",
        "required": ["resource", "reason", "expires"],
        "additionalProperties": False,
        "properties": {name: {"type": "string", "minLength": 1} for name in _TEXTS},
    },
}
"""JSON schema of the key, which every rule has in addition to its limits."""


@dataclass(frozen=True)
class Exemption:
    """What is exempt (``resource``; with a ``tag``, ``key=value``, only resources that have it), why, and until when.

    ``resource`` is a pattern for the name; with ``::`` in it for type and name (``gcp:container/*::bench-*``), and one
    that starts with ``urn:`` for the URN. ``expires`` is the last day on which it counts, in UTC.
    """

    reason: str
    expires: date
    resource: str
    tag: str | None = None

    def covers(self, urn: str, tags: Mapping[str, str]) -> bool:
        """Whether it covers the resource at ``urn`` with ``tags``; an empty ``urn`` is the stack as a whole."""
        # urn:pulumi:<stack>::<project>::<types of its parents>$<type>::<name>
        before, _, name = urn.rpartition("::")
        shown = name
        if self.resource.startswith("urn:"):
            shown = urn
        elif "::" in self.resource:
            shown = f"{before.rpartition('::')[2].rpartition('$')[2]}::{name}"
        if not fnmatchcase(shown, self.resource):
            return False
        if self.tag is None:
            return True
        key, _, value = self.tag.partition("=")
        return tags.get(key) == value

    def expired(self, today: date) -> bool:
        """Whether its last day has passed."""
        return today > self.expires


def today_utc() -> date:
    """The day by which exemptions expire."""
    return datetime.now(timezone.utc).date()


def parse(listed: object) -> tuple[Exemption, ...]:
    """The exemptions of one rule, from a list without ``problems``."""
    entries: list[Mapping[str, str]] = listed if isinstance(listed, list) else []
    return tuple(
        Exemption(entry["reason"].strip(), date.fromisoformat(entry["expires"]), entry["resource"], entry.get("tag"))
        for entry in entries
    )


def problems(where: str, listed: object, today: date) -> list[str]:
    """All problems of the exemptions at key ``where``, one sentence each; expiry is not a problem."""
    if not isinstance(listed, list):
        return [f"{where}: must be a list of exemptions, got {json.dumps(listed)}"]
    return [problem for number, entry in enumerate(listed) for problem in _problems(f"{where}[{number}]", entry, today)]


def _problems(where: str, entry: object, today: date) -> list[str]:
    if not isinstance(entry, dict):
        return [f"{where}: must be an object with resource, reason and expires, got {json.dumps(entry)}"]
    errors = [f"{where}.{key}: no such key; an exemption has {', '.join(_TEXTS)}" for key in entry if key not in _TEXTS]
    empty = [key for key in _TEXTS if key in entry and not (isinstance(entry[key], str) and entry[key].strip())]
    errors += [f"{where}.{key}: must be a text, got {json.dumps(entry[key])}" for key in empty]
    if "reason" not in entry:
        errors.append(f"{where}.reason: missing; write why, and who decides when it expires")
    elif "reason" not in empty:
        errors += reason_problems(f"{where}.reason", entry["reason"])
    if "resource" not in entry:
        more = "; with a tag alone, the program could exempt any resource" if "tag" in entry else ""
        errors.append(f"{where}.resource: missing; write a name, or a pattern with *{more}")
    if "tag" not in empty and "tag" in entry and "=" not in entry["tag"].strip("="):
        errors.append(f"{where}.tag: must be key=value, got {json.dumps(entry['tag'])}")
    if "expires" not in entry:
        errors.append(f"{where}.expires: missing; write the last day, for example {today + timedelta(days=30)}")
    elif "expires" not in empty:
        errors += date_problems(f"{where}.expires", entry["expires"], today)
    return errors


def reason_problems(where: str, reason: object) -> list[str]:
    """Problems of a reason: it must consist of words."""
    if isinstance(reason, str) and len(_WORD.findall(reason)) >= _FEWEST_WORDS:
        return []
    return [f"{where}: write a reason of at least {_FEWEST_WORDS} words, got {json.dumps(reason)}"]


def date_problems(where: str, text: object, today: date, *, past: bool = False) -> list[str]:
    """Problems of a last day; ``past``: it must not have passed."""
    try:
        expires = date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        expires = None
    if expires is None:
        return [f"{where}: must be a date like {today + timedelta(days=30)}, got {json.dumps(text)}"]
    if past and expires < today:
        return [f"{where}: {text} is in the past; remove it, or set a later date"]
    if expires > today + LONGEST:
        return [f"{where}: at most a year ahead ({today + LONGEST}), got {text}; for longer, change the rule's limit"]
    return []
