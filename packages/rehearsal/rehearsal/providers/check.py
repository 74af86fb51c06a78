"""Inputs held against a cloud's schema: what is wrong with them that needs no server to tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.base import CheckFailure, Properties
from rehearsal.providers.differences import Path, format_path
from schemas import Object, Property, Schema

INTEGER_RANGES: Final = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
# https://protobuf.dev/reference/protobuf/google.protobuf/#duration and RFC 3339
DURATION: Final = re.compile(r"-?\d+(\.\d{1,9})?s")
TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_SHOWN: Final = 30
"""As many values of an enum as a message shows."""
_TEXTS: Final = {
    "google-duration": (DURATION, "a duration in seconds such as '3600s'"),
    "google-datetime": (TIMESTAMP, "an RFC 3339 time such as '2026-01-31T12:00:00Z'"),
    "date-time": (TIMESTAMP, "an RFC 3339 time such as '2026-01-31T12:00:00Z'"),
}
_EXPECTED: Final = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "list": "a list",
    "map": "an object",
    "object": "an object",
}


@dataclass(frozen=True)
class InputMessages:
    """How a cloud's provider describes wrong inputs; ``{api}`` and ``{object}`` stand for where the input should
    be, ``{version}`` for the provider's.

    ``unknown`` is about an input that nobody knows, ``lacking`` about one that the API has and this version of the
    provider has not, ``server`` about one that the cloud itself sets.
    """

    unknown: str
    lacking: str
    server: str


def failures(schema: Schema, token: str, inputs: Properties, words: InputMessages) -> list[CheckFailure]:
    """Everything that is missing, unknown, mistyped or outside the limits; ``UNKNOWN`` is left for the update."""
    api, version = schema.resources[token].api, schema.sources[f"pulumi-{token.partition(':')[0]}"]
    return list(_Checker(schema, api, version, words).object(inputs, schema.inputs(token), ()))


@dataclass(frozen=True)
class _Checker:
    schema: Schema
    api: str
    version: str
    words: InputMessages

    def object(self, value: Properties, declared: Object, path: Path) -> Iterator[CheckFailure]:
        for key, each in declared.properties.items():
            if each.required and value.get(key) is None:
                yield _failure((*path, key), "is required")
        for key, item in value.items():
            if item is not None:
                yield from self._input(item, declared, key, (*path, key))

    def _input(self, item: Any, declared: Object, key: str, path: Path) -> Iterator[CheckFailure]:
        known_property = declared.properties.get(key)
        if known_property is not None:
            yield from self._value(item, known_property, path)
            return
        of_server, lacking = key in declared.server, key in declared.lacking
        words = self.words.server if of_server else self.words.lacking if lacking else self.words.unknown
        yield _failure(path, words.format(api=self.api, object=declared.name, version=self.version))

    def _value(self, value: Any, declared: Property, path: Path) -> Iterator[CheckFailure]:
        if declared.refused:
            yield _failure(path, declared.refused)
        elif value is UNKNOWN or declared.type == "any":
            return
        elif not _fits(value, declared):
            yield _failure(path, f"must be {_EXPECTED[declared.type]}, not {_show(value)}")
        elif declared.type == "object":
            yield from self.object(value, self.schema.objects[declared.object], path)
        elif declared.type == "list":
            yield from self._list(value, declared, path)
        elif declared.type == "map":
            yield from (_failure(path, reason) for reason in _lengths(value, declared))
            for key, item in value.items():
                if declared.keys is not None:
                    yield from self._value(key, declared.keys, (*path, key))
                yield from self._items(item, declared, (*path, key))
        else:
            yield from (_failure(path, reason) for reason in _problems(value, declared))

    def _list(self, value: list[Any], declared: Property, path: Path) -> Iterator[CheckFailure]:
        yield from (_failure(path, reason) for reason in _lengths(value, declared))
        for index, item in enumerate(value):
            yield from self._items(item, declared, (*path, index))

    def _items(self, item: Any, declared: Property, path: Path) -> Iterator[CheckFailure]:
        if declared.items is not None:
            yield from self._value(item, declared.items, path)


def _fits(value: Any, declared: Property) -> bool:
    """Whether a value is of the declared type; a 64-bit integer may also be text, as JSON carries it."""
    kind = declared.type
    if isinstance(value, bool) or kind == "boolean":
        return isinstance(value, bool) and kind == "boolean"
    if kind == "integer":
        digits = isinstance(value, str) and declared.format in ("int64", "uint64") and re.fullmatch(r"-?\d+", value)
        return bool(digits) or isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if kind == "number":
        return isinstance(value, (int, float))
    return isinstance(value, str if kind == "string" else list if kind == "list" else dict)


def _problems(value: Any, declared: Property) -> Iterator[str]:
    """What is wrong with a scalar of the right type."""
    if declared.enum and value not in declared.enum:
        more = " …" if len(declared.enum) > _SHOWN else ""
        yield f"{value!r} is not one of {', '.join(declared.enum[:_SHOWN])}{more}"
    if declared.pattern and not re.fullmatch(declared.pattern, value):
        yield f"{value!r} does not match {declared.pattern}"
    if declared.format in _TEXTS:
        form, what = _TEXTS[declared.format]
        if not form.fullmatch(value):
            yield f"{value!r} is not {what}"
    if declared.format in INTEGER_RANGES:
        low, high = INTEGER_RANGES[declared.format]
        if not low <= int(value) <= high:
            yield f"{value} is outside {declared.format} ({low} to {high})"
    low, high = declared.minimum, declared.maximum
    if low is not None and high is not None and not low <= value <= high:
        yield f"{value:g} is outside {low:g} to {high:g}"
    elif low is not None and value < low:
        yield f"{value:g} is less than {low:g}"
    elif high is not None and value > high:
        yield f"{value:g} is more than {high:g}"
    if isinstance(value, str):
        yield from _lengths(value, declared)


def _lengths(value: Any, declared: Property) -> Iterator[str]:
    """What is wrong with the length of a string, list or map."""
    if declared.longest is not None and len(value) > declared.longest:
        one = declared.type == "list" and declared.longest == 1
        yield f"takes one block, not {len(value)}" if one else f"length {len(value)} is more than {declared.longest}"
    if declared.shortest is not None and len(value) < declared.shortest:
        yield f"length {len(value)} is less than {declared.shortest}"


def _failure(path: Path, reason: str) -> CheckFailure:
    return CheckFailure(format_path(path), reason)


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
