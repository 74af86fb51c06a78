"""The requests of AWS in botocore's service models, over what pulumi-aws declares."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import botocore.session

from schemas.sources import provider, sdk
from schemas.sources.collecting import Collection, SourceError, explained, name_of, required, table
from schemas.sources.sdk import Raw

NAMES: Final = "schemas/sources/amazon/names.yaml"
REQUESTS: Final = table(Path(__file__).with_name("names.yaml"))
"""Type token → the request that makes it; the file says what the keys mean."""
EVERYWHERE: Final = ("region", "tags", "namePrefix")
"""Inputs of many types and of no request; tags have a form of their own in each service."""

_REFUSED = "is not an input that the rehearsal simulates"
_TYPES = {
    "string": "string",
    "boolean": "boolean",
    "integer": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "structure": "object",
    "list": "list",
    "map": "map",
    "blob": "string",
    "timestamp": "string",
}


def made(tokens: Iterable[str]) -> dict[str, Any]:
    """The schema of the resource types ``tokens``, in the form of the JSON file.

    Raises:
        SourceError: a type or an input of which ``names.yaml`` does not say what becomes of it.
    """
    collection, resources = Collection(), {}
    for token in tokens:
        request = REQUESTS.get(token)
        if request is None:
            raise SourceError(f"{token}: say in {NAMES} which request makes it")
        with explained(token, f"Correct its request in {NAMES}: a service and an operation of botocore's"):
            service, operation = request["request"].split()
            model = _service(service)
            shape = model.shape_for(request.get("body") or model.operation_model(operation).input_shape.name)
            root = _Merging(collection, token, model, request.get("names", {})).root(sdk.inputs_of(token), shape)
        resources[token] = {"api": f"{service}:{operation}", "object": root, "outputs": sdk.outputs_of(token)}
    named, facts = provider.recorded(Path(__file__).parent)
    for token, each in resources.items():
        own = [fact for fact in facts if fact.resource == token]
        provider.mark(collection.named, each["object"], [*_computed(token, own), *own])
    resources, objects = collection.result(resources)
    sources = {each: importlib.metadata.version(each) for each in ("pulumi-aws", "botocore")} | named
    return {"sources": sources, "resources": resources, "objects": objects}


def _computed(token: str, own: list[provider.Fact]) -> Iterator[provider.Fact]:
    """The inputs that a program may leave to AWS: the SDK says that such a one has a value in any case.

    Raises:
        SourceError: the provider's source, or the part of it in ``provider.csv``, says so of others.
    """
    answered = sdk.always_answered(token)
    given = {name for fact in own if fact.default for name in provider.names(fact.property)}
    optional = {each.name for each in sdk.arguments(sdk.inputs_of(token)) if not each.required} - {"region"} - given
    for fact in own:
        if fact.computed and "." not in fact.property and not (optional & answered & {*provider.names(fact.property)}):
            raise SourceError(
                f"{token}: by its SDK {fact.property} may have no value: correct the source's provider.csv"
            )
    for name in sorted(optional & answered):
        yield provider.Fact(token, name, computed="yes")


@cache
def _service(name: str) -> Any:
    return botocore.session.get_session().get_service_model(name)


@dataclass(frozen=True)
class _Merging:
    collection: Collection
    token: str
    model: Any
    names: Mapping[str, Mapping[str, str | Mapping[str, str]]]

    def root(self, cls: type, shape: Any) -> str:
        """The inputs of a resource type. What the request must have may be made up, so the SDK alone requires here."""
        return self._object(cls, shape, (), EVERYWHERE)

    def _object(self, cls: type, shape: Any, needed: Iterable[str], local: Iterable[str] = ()) -> str:
        def fill(made: dict[str, Any]) -> None:
            for each in sdk.arguments(cls):
                name = {} if each.name in local else self._name(shape, each.name)
                example = f"{{names: {{{shape.name}: {{{each.name}: {{}}}}}}}}"
                remedy = f"Say in {NAMES} under {self.token} what becomes of it, for example {example}"
                with explained(f"{self.token}: {shape.name}.{each.name}", remedy):
                    property = self._property(each, shape, name)
                is_needed = isinstance(name, str) and name in needed
                made["properties"][each.name] = required(property, each.required or is_needed)

        return self.collection.add(cls, name_of(cls), fill)

    def _name(self, shape: Any, key: str) -> str | Mapping[str, str] | None:
        """What the structure calls the input ``key``; ``None`` if it has nothing of the kind."""
        rule = self.names.get(shape.name, {}).get(key)
        if rule is not None:
            return rule
        return next((name for name in (key, key[:1].upper() + key[1:]) if name in shape.members), None)

    def _property(self, argument: sdk.Argument, shape: Any, name: str | Mapping[str, str] | None) -> Raw:
        if name is None:
            return {**self.collection.plain(argument.type), "refused": _REFUSED}
        if isinstance(name, str):
            return {**self._merged(argument.type, shape.members[name]), "sent": name}
        if "each" in name:
            cls = sdk.block(sdk.elements(argument.type))
            if cls is None:
                raise ValueError("`each` is for a list of blocks, and it is none in pulumi-aws")
            each = self._object(cls, self.model.shape_for(name["each"]), ())
            return {"type": "list", "items": {"type": "object", "object": each}}
        if "like" not in name:
            return self.collection.plain(argument.type)
        for part in name["like"].split("."):
            shape = (shape.member if shape.type_name == "list" else shape).members[part]
        return self._merged(argument.type, shape)

    def _merged(self, declared: Any, shape: Any) -> Raw:
        """A property as the SDK declares it, with the limits of what the API makes of it."""
        cls, inner, value = sdk.block(declared), sdk.elements(declared), sdk.values(declared)
        if inner is not None:
            if shape.type_name != "list":
                raise ValueError(f"it has type list in pulumi-aws, and {shape.type_name} in the API")
            return {"type": "list", "items": self._merged(inner, shape.member), **_lengths(shape)}
        if value is not None:
            if shape.type_name == "list":
                members = shape.member.members
                return {
                    "type": "map",
                    "items": self._merged(value, members["Value"]),
                    "keys": self._merged(str, members["Key"]),
                    "format": "pairs",
                }
            keys = self._merged(str, shape.key)
            named = {} if keys == {"type": "string"} else {"keys": keys}
            return {"type": "map", "items": self._merged(value, shape.value), **named, **_lengths(shape)}
        if cls is not None:
            single = shape.type_name == "list"
            within = shape.member if single else shape
            needed = {
                name for name in within.required_members if not within.members[name].metadata.get("idempotencyToken")
            }
            merged = {"type": "object", "object": self._object(cls, within, needed)}
            return {**merged, "format": "list"} if single else merged
        return _scalar(sdk.scalar(declared), shape)


def _scalar(declared: Raw, shape: Any) -> Raw:
    kind, facts = _TYPES[shape.type_name], shape.metadata
    if declared["type"] == "string" and kind in ("boolean", "integer"):
        words = {"enum": ["true", "false"]} if kind == "boolean" else {"pattern": r"-?\d+"}
        return {"type": "string", **words, "format": kind}
    if declared["type"] != kind:
        return {**declared, "refused": _REFUSED}
    if kind in ("integer", "number"):
        limits = {"minimum": facts.get("min"), "maximum": facts.get("max")}
        return {"type": kind, **{key: limit for key, limit in limits.items() if limit is not None}}
    limits = {"enum": facts.get("enum"), "pattern": _usable(facts.get("pattern"))}
    return {"type": kind, **{key: limit for key, limit in limits.items() if limit}, **_lengths(shape)}


def _lengths(shape: Any) -> Raw:
    if shape.type_name == "boolean":
        return {}
    limits = {"shortest": shape.metadata.get("min"), "longest": shape.metadata.get("max")}
    return {key: limit for key, limit in limits.items() if limit is not None}


def _usable(pattern: str | None) -> str | None:
    """``pattern`` if Python knows it; a few of AWS's are Java's."""
    try:
        re.compile(pattern or "")
    except re.error:
        return None
    return pattern
