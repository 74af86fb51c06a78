"""Google's discovery documents: the machine-readable shape of every request, and a validator for it.

The documents ship with ``google-api-python-client``; reading one is a plain JSON load (measured: container 5 ms,
compute 57 ms), done once per process and only for the APIs that a program uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import googleapiclient

from rehearsal.providers.base import UNKNOWN

Schema = Mapping[str, Any]

DOCUMENTS: Final = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"

INTEGER_RANGES: Final = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
# https://protobuf.dev/reference/protobuf/google.protobuf/#duration and RFC 3339
DURATION: Final = re.compile(r"-?\d+(\.\d{1,9})?s")
TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True)
class Problem:
    """What a body violates: ``path`` in it (``config.accelerators[0].acceleratorCount``), ``reason`` a sentence."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


@dataclass(frozen=True)
class Document:
    """One API's discovery document, e.g. ``container.v1beta1``."""

    api: str
    revision: str
    schemas: Mapping[str, Schema]

    def schema(self, name: str) -> Schema:
        """The schema called ``name``; raises ``KeyError`` when the API has none."""
        return self.schemas[name]

    def resolve(self, schema: Schema) -> Schema:
        """``schema`` itself, or what its ``$ref`` points to."""
        reference = schema.get("$ref")
        return self.schemas[reference] if reference else schema

    def problems(self, body: Any, schema_name: str) -> list[Problem]:
        """Everything about ``body`` that the schema does not allow; ``UNKNOWN`` values are left for the update."""
        return list(self._check(body, self.schema(schema_name), ""))

    def _check(self, value: Any, schema: Schema, path: str) -> Iterator[Problem]:
        schema = self.resolve(schema)
        if value is UNKNOWN:
            return
        kind = schema.get("type", "any")
        if kind == "object":
            yield from self._check_object(value, schema, path)
        elif kind == "array":
            if not isinstance(value, list):
                yield Problem(path, f"must be a list, not {_show(value)}")
                return
            for index, item in enumerate(value):
                yield from self._check(item, schema["items"], f"{path}[{index}]")
        elif kind != "any":
            yield from _check_scalar(value, schema, path)

    def _check_object(self, value: Any, schema: Schema, path: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield Problem(path, f"must be an object, not {_show(value)}")
            return
        properties = schema.get("properties", {})
        others = schema.get("additionalProperties")
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            if key in properties:
                if properties[key].get("readOnly"):
                    yield Problem(inner, "is set by the server and cannot be given")
                else:
                    yield from self._check(item, properties[key], inner)
            elif others is not None:
                yield from self._check(item, others, inner)
            else:
                yield Problem(
                    inner,
                    f"{self.api} (revision {self.revision}) knows no such field in {schema.get('id', 'this object')}",
                )


@cache
def document(api: str) -> Document:
    """The discovery document of ``api`` (``compute.v1``); raises ``FileNotFoundError`` for one not shipped."""
    raw = json.loads((DOCUMENTS / f"{api}.json").read_text(encoding="utf-8"))
    return Document(api, raw["revision"], raw["schemas"])


def _check_scalar(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    kind, form = schema["type"], schema.get("format", "")
    if kind == "boolean":
        if not isinstance(value, bool):
            yield Problem(path, f"must be true or false, not {_show(value)}")
    elif kind == "number":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            yield Problem(path, f"must be a number, not {_show(value)}")
    elif kind == "integer" or form in INTEGER_RANGES:
        yield from _check_integer(value, kind, form, path)
    elif not isinstance(value, str):
        yield Problem(path, f"must be a string, not {_show(value)}")
    else:
        yield from _check_string(value, schema, path)


def _check_integer(value: Any, kind: str, form: str, path: str) -> Iterator[Problem]:
    # JSON has no 64-bit integers, so the APIs carry them as strings (type string, format int64).
    digits = isinstance(value, str) and re.fullmatch(r"-?\d+", value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (digits if kind == "string" else whole):
        yield Problem(path, f"must be a whole number, not {_show(value)}")
        return
    low, high = INTEGER_RANGES[form]
    if not low <= int(value) <= high:
        yield Problem(path, f"{value} is outside {form} ({low} to {high})")


def _check_string(value: str, schema: Schema, path: str) -> Iterator[Problem]:
    form = schema.get("format", "")
    if "enum" in schema and value not in schema["enum"]:
        yield Problem(path, f"{value!r} is not one of {', '.join(schema['enum'])}")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        yield Problem(path, f"{value!r} does not match {schema['pattern']}")
    if form == "google-duration" and not DURATION.fullmatch(value):
        yield Problem(path, f"{value!r} is not a duration in seconds such as '3600s'")
    if form in ("google-datetime", "date-time") and not TIMESTAMP.fullmatch(value):
        yield Problem(path, f"{value!r} is not an RFC 3339 time such as '2026-01-31T12:00:00Z'")


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
