"""Where Google's API has an input of pulumi-gcp under another name or not at all: reads ``names.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemas.sources.collecting import table


@dataclass(frozen=True)
class To:
    """Sent as the field at ``path`` (dotted, below the object that the input belongs to)."""

    path: str


@dataclass(frozen=True)
class Local:
    """Read by the provider itself, never part of the request. ``values`` are those it may have, where it is an enum."""

    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class RefusedInput:
    """An input that the rehearsal does not simulate; ``reason`` says why, or what to write instead."""

    reason: str


Rule = To | Local | RefusedInput
Table = Mapping[str, Mapping[str, Rule]]
"""API object (schema name) → input name → what becomes of it."""


@dataclass(frozen=True)
class Request:
    """The request that makes a resource: the discovery document, the schema of its body, and the names that differ."""

    api: str
    schema: str
    table: Table


def _rule(raw: str | Mapping[str, Any]) -> Rule:
    if isinstance(raw, str):
        return To(raw)
    return RefusedInput(raw["refused"]) if "refused" in raw else Local(tuple(raw.get("values", ())))


def _request(raw: Mapping[str, Any]) -> Request:
    api, schema = raw["request"].split()
    objects = {name: {key: _rule(rule) for key, rule in rules.items()} for name, rules in raw["table"].items()}
    return Request(api, schema, objects)


REQUESTS: Final[Mapping[str, Request]] = {
    token: _request(raw) for token, raw in table(Path(__file__).with_name("names.yaml")).items()
}
"""Type token → the request."""
