"""From the provider's inputs (Terraform-shaped, camelCase) to AWS requests, checked against AWS's own service models.

Most inputs are called what the API calls them, apart from the first letter; a table lists only the differences, per
structure of the API. An input that neither the table nor the API knows is refused by name, so nothing a program asks
for is silently dropped. The models come with botocore.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from concepts.unknown import UNKNOWN
from rehearsal.standins.base import CheckFailure, Properties


@dataclass(frozen=True)
class To:
    """Sent as the parameter ``name`` of the same structure, after ``convert``."""

    name: str
    convert: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Local:
    """Read by the stand-in itself (another request, an option), never part of this request."""


@dataclass(frozen=True)
class Translation:
    """A request's parameters and the inputs that were refused."""

    params: dict[str, Any]
    failures: tuple[CheckFailure, ...]


Rule = To | Local
Table = Mapping[str, Mapping[str, Rule]]
"""AWS structure (``LaunchTemplateEbsBlockDeviceRequest``) → input name → what becomes of it."""

LOCAL: Final = Local()


def translate(service: str, operation: str, table: Table, inputs: Properties, body: str = "") -> Translation:
    """The request that creates a resource with ``inputs``, or its structure ``body``; what is unknown stays so."""
    failures: list[CheckFailure] = []
    shape = service_model(service).shape_for(body) if body else request_shape(service, operation)
    params = _structure(shape, table, inputs, "", failures)
    return Translation(params, tuple(failures))


def request_shape(service: str, operation: str) -> Any:
    """botocore's model of a request."""
    return service_model(service).operation_model(operation).input_shape


@lru_cache(maxsize=32)
def service_model(service: str) -> Any:
    """botocore's model of a service."""
    return botocore_session().get_service_model(service)


@lru_cache(maxsize=1)
def botocore_session() -> Any:
    """The session whose loader keeps the models, which are megabytes of JSON."""
    import botocore.session

    return botocore.session.get_session()


def member(shape: Any, key: str) -> str | None:
    """What a structure of the API calls the input ``key``; ``None`` if it has nothing of the kind."""
    for name in (key, key[:1].upper() + key[1:]):
        if name in shape.members:
            return name
    return None


def _structure(shape: Any, table: Table, inputs: Any, path: str, failures: list[CheckFailure]) -> dict[str, Any]:
    params: dict[str, Any] = {}
    rules = table.get(shape.name, {})
    for key, value in inputs.items():
        rule = rules.get(key)
        where = f"{path}.{key}" if path else key
        if value is None or isinstance(rule, Local):
            continue
        name = rule.name if isinstance(rule, To) else member(shape, key)
        if name is None:
            failures.append(CheckFailure(where, "is not an input that the rehearsal simulates"))
            continue
        if isinstance(rule, To) and rule.convert and value is not UNKNOWN:
            value = rule.convert(value)
        params[name] = _value(shape.members[name], table, value, where, failures)
    for name in shape.required_members:
        if name not in params and not shape.members[name].metadata.get("idempotencyToken"):
            failures.append(CheckFailure(path or _input_name(name), f"is required ({shape.name}.{name})"))
    return params


def _value(shape: Any, table: Table, value: Any, path: str, failures: list[CheckFailure]) -> Any:
    if value is UNKNOWN:
        return value
    kind = shape.type_name
    converted = _converted(kind, value)
    if converted is None:
        failures.append(CheckFailure(path, f"{value!r} is not a valid {kind}"))
        return value
    failures.extend(CheckFailure(path, reason) for reason in _limits(shape, converted))
    if kind == "structure":
        return _structure(shape, table, converted, path, failures)
    if kind == "list":
        each = enumerate(converted)
        return [_value(shape.member, table, item, f"{path}[{index}]", failures) for index, item in each]
    if kind == "map":
        for key in converted:
            failures.extend(CheckFailure(f'{path}["{key}"]', reason) for reason in _limits(shape.key, key))
        pairs = converted.items()
        return {key: _value(shape.value, table, item, f'{path}["{key}"]', failures) for key, item in pairs}
    return converted


def _converted(kind: str, value: Any) -> Any:
    """``value`` as the API wants it, ``None`` if it is of another type. The engine has only floating-point numbers."""
    if kind == "boolean":
        return {"true": True, "false": False}.get(value) if isinstance(value, str) else _of(value, bool)
    if kind in ("integer", "long"):
        number = float(value) if isinstance(value, str) and re.fullmatch(r"-?\d+", value) else value
        return int(number) if _of(number, int, float) is not None and number == int(number) else None
    if kind in ("float", "double"):
        return _of(value, int, float)
    if kind in ("structure", "map"):
        return _of(value, dict)
    return _of(value, list) if kind == "list" else _of(value, str)


def _of(value: Any, *types: type) -> Any:
    # True is an int to Python and no number to AWS.
    if isinstance(value, bool) and bool not in types:
        return None
    return value if isinstance(value, types) else None


def _limits(shape: Any, value: Any) -> Iterator[str]:
    facts = shape.metadata
    enum, pattern = facts.get("enum"), facts.get("pattern")
    if enum and isinstance(value, str) and value not in enum:
        known = ", ".join(enum[:30])
        yield f"{value!r} is not one of {known}{' …' if len(enum) > 30 else ''}"
    if pattern and isinstance(value, str) and not _matches(pattern, value):
        yield f"{value!r} does not match {pattern}"
    if value is UNKNOWN or shape.type_name in ("structure", "boolean"):
        return
    size = value if isinstance(value, (int, float)) else len(value)
    what = "value" if isinstance(value, (int, float)) else "length"
    if "min" in facts and size < facts["min"]:
        yield f"{what} {size} is less than {facts['min']}"
    if "max" in facts and size > facts["max"]:
        yield f"{what} {size} is more than {facts['max']}"


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.fullmatch(pattern, value) is not None
    except re.error:  # a few of AWS's patterns are Java's
        return True


def _input_name(name: str) -> str:
    return name[:1].lower() + name[1:]
