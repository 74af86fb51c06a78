"""From the provider's inputs (Terraform-shaped, camelCase) to the body of Google's REST request.

Most inputs are called what the API calls them; a table lists only the differences, per API object. An input that
neither the table nor the API knows is refused by name, so nothing a program asks for is silently dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.providers.base import UNKNOWN, CheckFailure, Properties
from rehearsal.providers.gcp.discovery import Document, Problem, Schema


@dataclass(frozen=True)
class To:
    """Sent as the field at ``path`` (dotted, below the object the input belongs to), after ``convert``."""

    path: str
    convert: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Local:
    """Read by the provider itself (part of the address, an option, an output), never part of the body."""


@dataclass(frozen=True)
class Refused:
    """An input that the rehearsal does not simulate; ``reason`` says why, or what to write instead."""

    reason: str


Rule = To | Local | Refused
Table = Mapping[str, Mapping[str, Rule]]
"""API object (schema name) → input name → what becomes of it."""


@dataclass(frozen=True)
class Translation:
    """A request body, the inputs that were refused, and which input each body path came from."""

    body: dict[str, Any]
    failures: tuple[CheckFailure, ...]
    origins: Mapping[str, str]

    def origin(self, path: str) -> str:
        """The input that body ``path`` came from: that of the longest known prefix."""
        prefix = path
        while prefix and prefix not in self.origins:
            cut = max(prefix.rfind("."), prefix.rfind("["))
            prefix = prefix[:cut] if cut > 0 else ""
        return self.origins.get(prefix, path)

    def failure(self, problem: Problem) -> CheckFailure:
        """``problem`` of the body, told in terms of the program's input."""
        return CheckFailure(self.origin(problem.path), problem.reason)


def translate(
    document: Document, table: Table, required: Mapping[str, tuple[str, ...]], schema_name: str, inputs: Properties
) -> Translation:
    """The request body for ``inputs``, whose shape is ``schema_name`` of ``document``.

    ``required`` maps an API object to the inputs that a block describing it must have.
    """
    walker = _Walker(document, table, required)
    body = walker.object(inputs, document.schema(schema_name), schema_name, "", "")
    return Translation(body, tuple(walker.failures), walker.origins)


@dataclass
class _Walker:
    document: Document
    table: Table
    required: Mapping[str, tuple[str, ...]]
    failures: list[CheckFailure] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)

    def object(self, value: Properties, schema: Schema, name: str, origin: str, path: str) -> dict[str, Any]:
        body: dict[str, Any] = {}
        rules = self.table.get(name, {})
        for key in self.required.get(name, ()):
            if value.get(key) is None:
                self._fail(f"{origin}.{key}" if origin else key, "is required")
        for key, item in value.items():
            if item is None:
                continue
            source = f"{origin}.{key}" if origin else key
            rule = rules.get(key) or (To(key) if key in schema.get("properties", {}) else None)
            if rule is None:
                self._fail(source, f"{self.document.api} has no such field in {name}; check the spelling")
            elif isinstance(rule, Refused):
                self._fail(source, rule.reason)
            elif isinstance(rule, To):
                target = f"{path}.{rule.path}" if path else rule.path
                self.origins[target] = source
                inner, inner_name = self._descend(schema, name, rule.path)
                converted = rule.convert(item) if rule.convert and item is not UNKNOWN else item
                _place(body, rule.path, self.value(converted, inner, inner_name, source, target))
        return body

    def value(self, value: Any, schema: Schema, name: str, origin: str, path: str) -> Any:
        if value is UNKNOWN:
            return value
        kind, form = schema.get("type"), schema.get("format", "")
        if "properties" in schema and kind == "object":
            if isinstance(value, list):
                value, origin = self._only(value, origin), f"{origin}[0]"
            return self.object(value, schema, name, origin, path) if isinstance(value, dict) else value
        if kind == "array" and isinstance(value, list):
            items, item_name = self._named(schema["items"], name)
            return [
                self.value(item, items, item_name, f"{origin}[{i}]", self._mark(f"{path}[{i}]", f"{origin}[{i}]"))
                for i, item in enumerate(value)
            ]
        if isinstance(value, float) and value.is_integer() and (kind == "integer" or form in ("int64", "uint64")):
            value = int(value)
        if kind == "string" and form in ("int64", "uint64") and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value

    def _only(self, value: list[Any], origin: str) -> Any:
        if len(value) > 1:
            self._fail(origin, f"takes one block, not {len(value)}")
        return value[0] if value else {}

    def _descend(self, schema: Schema, name: str, path: str) -> tuple[Schema, str]:
        for part in path.split("."):
            schema, name = self._named(schema["properties"][part], f"{name}.{part}")
        return schema, name

    def _named(self, schema: Schema, inline_name: str) -> tuple[Schema, str]:
        """The schema behind a reference with its name; an inline object is called after where it stands."""
        return self.document.resolve(schema), schema.get("$ref", inline_name)

    def _mark(self, path: str, origin: str) -> str:
        self.origins[path] = origin
        return path

    def _fail(self, origin: str, reason: str) -> None:
        self.failures.append(CheckFailure(origin, reason))


def _place(body: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    if isinstance(value, dict) and isinstance(body.get(last), dict):
        body[last].update(value)
    else:
        body[last] = value
