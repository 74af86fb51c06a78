"""Rules of a cloud for tags and labels on every resource."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rehearsal.providers.base import Properties
from rehearsal.providers.rules import ServerRule
from rehearsal.providers.values import at


def tag_rules(
    *paths: str, source: str, key: str, value: str, most: int, refusal: str, distinct: bool = False
) -> Sequence[ServerRule[Any]]:
    """Rules about the maps at ``paths``: patterns of a whole key and value, and at ``most`` so many.

    ``refusal`` is the cloud's message, with the tag as ``{key}``. ``distinct``: keys differ in more than case.
    """
    keys, values = re.compile(key), re.compile(value)

    def check(inputs: Properties, path: str) -> str | None:
        tags = at(inputs, path) or {}
        bad = [name for name, text in tags.items() if not (keys.fullmatch(name) and values.fullmatch(str(text)))]
        lower = [name.lower() for name in tags]
        bad += [name for name in tags if distinct and lower.count(name.lower()) > 1]
        bad += list(tags)[most:]
        return refusal.format(key=bad[0]) if bad else None

    def rule(path: str) -> ServerRule[Any]:
        return ServerRule(f"tags-of-{path}", source, (path,), lambda inputs, _: check(inputs, path))

    return [rule(path) for path in paths]
