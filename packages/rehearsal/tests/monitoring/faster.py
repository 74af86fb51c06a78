"""Rules and queries with all their times shorter, as a rehearsed node comes in a second and goes in some."""

from __future__ import annotations

import re
from typing import Any, Final

FASTER: Final = 60
"""How many times: a minute of a rule is a second here."""

_MILLISECONDS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"(\d+)(ms|s|m|h|d)")
_IN_QUERY: Final = re.compile(r"\[[^\]]*\]|\boffset\s+\w+")
"""https://prometheus.io/docs/prometheus/latest/querying/basics/#time-series-selectors"""


def duration(text: str) -> str:
    """Any duration in it: ``30s`` is ``500ms``."""
    return _DURATION.sub(lambda match: f"{int(match[1]) * _MILLISECONDS[match[2]] // FASTER}ms", text)


def query(expression: str) -> str:
    """Its ranges, steps and offsets."""
    return _IN_QUERY.sub(lambda match: duration(match[0]), expression)


def rules(written: dict[str, Any]) -> dict[str, Any]:
    """A file of rules: how often they are asked, what they ask for, and how long an alert waits."""
    return {"groups": [_group(group) for group in written["groups"]]}


def _group(group: dict[str, Any]) -> dict[str, Any]:
    return {**_shorter(group, "interval"), "rules": [_rule(rule) for rule in group["rules"]]}


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    return {**_shorter(rule, "for"), "expr": query(rule["expr"])}


def _shorter(fields: dict[str, Any], key: str) -> dict[str, Any]:
    return {**fields, **({key: duration(fields[key])} if key in fields else {})}
