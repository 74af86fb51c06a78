"""What the provider knows about one resource type before it talks to the API: its address, schema and replacements."""

from __future__ import annotations

import copy
import importlib.metadata
import random
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from rehearsal.providers.azure_native.models import Entries, Items, Model, Property, Scalar, Type, model
from rehearsal.providers.azure_native.tables.limits import GROUP, LIMITS
from rehearsal.providers.azure_native.tables.newer import NEWER
from rehearsal.providers.base import UNKNOWN, CheckFailure, Properties, Request

_TYPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "string": ((str,), "a string"),
    "boolean": ((bool,), "true or false"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
}
# The API has a map with empty values here; the provider takes the list of its keys.
IDS: Final = "userAssignedIdentities"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One resource type's inputs.

    ``package``/``model`` name the request's model (``body`` replaces it where Microsoft's package is not installed),
    ``api_version`` the version that the provider calls. ``segments`` are the steps of the resource's path below its
    provider ``namespace``: the step and the input that names it; the last one is the resource's own name.
    ``enums`` are values that an old model leaves open. ``replaces`` are the input paths that the provider answers with
    a replacement, ``fixed`` those that Azure refuses to change, with what an absent one means;
    ``unordered`` are lists that are sets.
    """

    package: str = ""
    model: str
    body: Model | None = None
    api_version: str
    namespace: str
    segments: tuple[tuple[str, str], ...]
    address: tuple[str, ...] = ("resourceGroupName",)
    located: bool = False
    required: tuple[str, ...] = ()
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own_replaces: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    unordered: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    absent: tuple[Any, ...] = ()
    name_is_uuid: bool = False

    @property
    def name(self) -> str:
        """The input that names the resource; the provider makes a name where the program gives none."""
        return self.segments[-1][1]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Inputs that say where the resource is; they are no part of the request's body."""
        return (*self.address, *(name for _, name in self.segments))

    @property
    def replaces(self) -> tuple[str, ...]:
        """Input paths that cannot be updated in place.

        https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/gen/replacement.go, and the address.
        """
        return (*self.addresses, *(("location",) if self.located else ()), *self.own_replaces)

    @cached_property
    def schema(self) -> Model:
        """The request's model; read on first use."""
        return self.body or model(self.package, self.model)

    def failures(self, inputs: Properties) -> list[CheckFailure]:
        """Everything wrong with ``inputs`` that needs no server: missing, unknown, mistyped, outside the limits."""
        return list(self._failures(inputs))

    def _failures(self, inputs: Properties) -> Iterator[CheckFailure]:
        limits = LIMITS.get(self.model, {})
        for key in (*self.addresses, *self.required):
            if inputs.get(key) is None:
                yield CheckFailure(key, "is required")
        for key in self.addresses:
            value = inputs.get(key)
            if value is None or value is UNKNOWN:
                continue
            limit = GROUP if key == "resourceGroupName" else limits.get(key)
            if not isinstance(value, str):
                yield CheckFailure(key, f"must be a string, not {_show(value)}")
            elif limit and (problem := limit.problem(value)):
                yield CheckFailure(key, problem)
        body = {key: value for key, value in inputs.items() if key not in self.addresses}
        given = {*self.addresses, *self.required}
        yield from _Checker(self).object(body, self.schema, "", skip_required=given)

    def with_name(self, request: Request, olds: Properties, news: Properties) -> Properties:
        """``news`` with, where the program gave none, the name it had or a new one."""
        inputs: Properties = copy.deepcopy(news)
        if inputs.get(self.name) is None:
            inputs[self.name] = olds.get(self.name) or self._auto_name(request)
        return inputs

    def _auto_name(self, request: Request) -> str:
        digits = random.Random(request.random_seed or None)
        if self.name_is_uuid:
            return str(uuid.UUID(int=digits.getrandbits(128), version=4))
        return f"{request.name}{digits.getrandbits(32):08x}"


@dataclass(frozen=True)
class _Checker:
    shape: Shape

    def object(
        self, value: Any, schema: Model, path: str, skip_required: set[str] | frozenset[str] = frozenset()
    ) -> Iterator[CheckFailure]:
        if not isinstance(value, dict):
            yield CheckFailure(path, f"must be an object, not {_show(value)}")
            return
        for key, declared in schema.properties.items():
            if declared.required and key not in skip_required and value.get(key) is None:
                yield CheckFailure(_below(path, key), "is required")
        for key, item in value.items():
            if item is not None:
                yield from self._property(item, schema, key, _below(path, key))

    def _property(self, item: Any, schema: Model, key: str, path: str) -> Iterator[CheckFailure]:
        declared: Property | None = schema.properties.get(key)
        if declared is None:
            yield CheckFailure(path, f"Azure knows no such property in {schema.name}; check the spelling")
        elif key in NEWER.get(schema.name, ()):
            plugin = importlib.metadata.version("pulumi-azure-native")
            reason = f"pulumi-azure-native {plugin} calls API version {self.shape.api_version}, which does not have it"
            yield CheckFailure(path, reason)
        elif declared.server:
            yield CheckFailure(path, "is set by Azure and cannot be given")
        elif item is not UNKNOWN:
            limit = LIMITS.get(schema.name, {}).get(key)
            if limit and (problem := limit.problem(item)):
                yield CheckFailure(path, problem)
            yield from self._value(item, declared.type, path)

    def _value(self, value: Any, declared: Type, path: str) -> Iterator[CheckFailure]:
        if value is UNKNOWN:
            return
        if isinstance(declared, Model):
            yield from self.object(value, declared, path)
        elif isinstance(declared, Items):
            if not isinstance(value, list):
                yield CheckFailure(path, f"must be a list, not {_show(value)}")
                return
            for index, item in enumerate(value):
                yield from self._value(item, declared.item, f"{path}[{index}]")
        elif isinstance(declared, Entries):
            yield from self._entries(value, declared, path)
        else:
            yield from self._scalar(value, declared, path)

    def _entries(self, value: Any, declared: Entries, path: str) -> Iterator[CheckFailure]:
        if path.rpartition(".")[2] == IDS:
            yield from self._value(value, Items(Scalar("string")), path)
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from self._value(item, declared.item, _below(path, key))
        else:
            yield CheckFailure(path, f"must be an object, not {_show(value)}")

    def _scalar(self, value: Any, declared: Scalar, path: str) -> Iterator[CheckFailure]:
        if declared.kind == "any":
            return
        types, expected = _TYPES[declared.kind]
        whole = isinstance(value, float) and value.is_integer() and declared.kind == "integer"
        mistaken = isinstance(value, bool) and declared.kind != "boolean"
        if mistaken or not (whole or isinstance(value, types)):
            yield CheckFailure(path, f"must be {expected}, not {_show(value)}")
            return
        values = declared.values or self.shape.enums.get(path, ())
        if values and value not in values:
            yield CheckFailure(path, f"{value!r} is not one of {', '.join(values)}")


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
