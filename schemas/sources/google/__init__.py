"""Google's discovery documents, as ``google-api-python-client`` ships them, over what pulumi-gcp declares, and what its
provider does with each input (``provider.csv``)."""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import googleapiclient

from schemas import ZEROS
from schemas.sources import provider, sdk
from schemas.sources.collecting import Collection, SourceError, explained, required, table
from schemas.sources.sdk import Raw

NAMES: Final = "schemas/sources/google/names.yaml"
REQUESTS: Final = table(Path(__file__).with_name("names.yaml"))
"""Type token → the request that makes it; the file says what the keys mean."""
DOCUMENTS: Final = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"

_WIDE: Final = ("int64", "uint64")
_BOOLEAN_WORDS: Final = ["TRUE", "FALSE"]
"""The provider's spelling of a boolean that may be left open."""


def made(tokens: Iterable[str]) -> dict[str, Any]:
    """The schema of the resource types ``tokens``, in the form of the JSON file.

    Raises:
        SourceError: a type or an input of which ``names.yaml`` does not say what becomes of it.
    """
    collection, resources = Collection(), {}
    revisions = {}
    sources, facts = provider.recorded(Path(__file__).parent)
    zeros = {(each.resource, each.property) for each in facts if each.sends == "zero"}
    for token in tokens:
        request = REQUESTS.get(token)
        if request is None:
            raise SourceError(f"{token}: say in {NAMES} which request makes it")
        with explained(token, f"Correct its request in {NAMES}: an API with its version, and a schema of its document"):
            api, schema = request["request"].split()
            merging = _Merging(collection, token, _document(api), request["table"], zeros)
            revisions[api] = f"revision {_document(api)['revision']}"
            root = merging.object(sdk.inputs_of(token), merging.schema(schema), schema)
        provider.mark(collection.named, root, [each for each in facts if each.resource == token])
        resources[token] = {"api": api, "object": root, "outputs": sdk.outputs_of(token)}
    packages = {each: importlib.metadata.version(each) for each in ("pulumi-gcp", "google-api-python-client")}
    resources, objects = collection.result(resources)
    return {"sources": {**packages, **sources, **revisions}, "resources": resources, "objects": objects}


@cache
def _document(api: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DOCUMENTS / f"{api}.json").read_text(encoding="utf-8"))
    return loaded


@dataclass(frozen=True)
class _Node:
    """A place in the API: its schema and what that is called (an inline object after where it stands)."""

    schema: Mapping[str, Any]
    name: str


@dataclass(frozen=True)
class _Merging:
    collection: Collection
    token: str
    document: Mapping[str, Any]
    table: Mapping[str, Mapping[str, str | Mapping[str, Any]]]
    zeros: AbstractSet[tuple[str, str]]
    """API and object, and the field that is sent even if it is zero."""

    def schema(self, name: str) -> Mapping[str, Any]:
        definition: Mapping[str, Any] = self.document["schemas"][name]
        return definition

    def object(self, cls: type, schema: Mapping[str, Any], name: str) -> str:
        def fill(made: dict[str, Any]) -> None:
            arguments = list(sdk.arguments(cls))
            for each in arguments:
                example = f"{{table: {{{name}: {{{each.name}: {{}}}}}}}}"
                remedy = f"Say in {NAMES} under {self.token} what becomes of it, for example {example}"
                with explained(f"{self.token}: {name}.{each.name}", remedy):
                    made["properties"][each.name] = required(self._property(each, schema, name), each.required)
            reached = {self._target(each.name, schema, name) for each in arguments}
            rest = {key: each for key, each in schema["properties"].items() if key not in reached}
            _note(made, "server", (key for key, each in rest.items() if each.get("readOnly")))
            _note(made, "lacking", (key for key, each in rest.items() if not each.get("readOnly")))

        return self.collection.add(cls, name, fill)

    def _target(self, key: str, schema: Mapping[str, Any], name: str) -> str:
        rule = self.table.get(name, {}).get(key)
        return key if rule is None else rule.partition(".")[0] if isinstance(rule, str) else ""

    def _property(self, argument: sdk.Argument, schema: Mapping[str, Any], name: str) -> Raw:
        rule = self.table.get(name, {}).get(argument.name)
        if rule is None and argument.name not in schema.get("properties", {}):
            raise ValueError(f"the API's {name} has no {argument.name}")
        if isinstance(rule, Mapping):
            if "refused" in rule:
                return {**sdk.scalar(argument.type), "refused": rule["refused"]}
            plain = self.collection.plain(argument.type)
            return {**plain, "enum": rule["values"]} if "values" in rule else plain
        node, field = _Node(schema, name), ("", "")
        for part in (rule or argument.name).split("."):
            if part not in node.schema.get("properties", {}):
                raise ValueError(f"the API's {node.name} has no {part}")
            inline = re.sub(r"\.(\w)", lambda match: match[1].upper(), node.name)  # as Google's clients call it
            field = (f"{self.document['name']}:{inline}", part)
            node = self._resolved(node.schema["properties"][part], f"{node.name}.{part}")
        merged = self._merged(argument.type, node)
        # A boolean in words is left open by an empty one.
        zero = field in self.zeros and not argument.required and merged["type"] in ZEROS and "enum" not in merged
        return {**merged, "sends": "zero"} if zero else merged

    def _merged(self, declared: Any, node: _Node) -> Raw:
        schema, cls = node.schema, sdk.block(declared)
        inner, value = sdk.elements(declared), sdk.values(declared)
        others = schema.get("additionalProperties")
        if inner is not None:
            if schema["type"] == "array" or others is not None:
                below = self._resolved(schema["items"] if others is None else others, node.name)
                return {"type": "list", "items": self._merged(inner, below)}
            return {"type": "list", "items": self._merged(inner, node), "longest": 1}
        if schema["type"] == "array":
            return self._merged(declared, self._resolved(schema["items"], node.name))
        if value is not None:
            below = self._resolved(others, node.name) if others is not None else None
            return {"type": "map", "items": self._merged(value, below) if below else sdk.scalar(value)}
        if cls is not None:
            return {"type": "object", "object": self.object(cls, {"properties": {}, **schema}, node.name)}
        return _scalar(sdk.scalar(declared), schema)

    def _resolved(self, schema: Mapping[str, Any], inline_name: str) -> _Node:
        reference = schema.get("$ref")
        return _Node(self.schema(reference), reference) if reference else _Node(schema, inline_name)


def _scalar(declared: Raw, schema: Mapping[str, Any]) -> Raw:
    kind, form = schema["type"], schema.get("format", "")
    if kind == "boolean" and declared["type"] == "string":
        return {"type": "string", "enum": _BOOLEAN_WORDS}
    if form in _WIDE:
        # JSON has no 64-bit integers, so the APIs carry them as strings.
        return {"type": "integer", "format": form}
    if kind != declared["type"]:
        raise ValueError(f"it has type {declared['type']} in pulumi-gcp, and {kind} in the API")
    attributes = {"enum": schema.get("enum"), "format": form, "pattern": schema.get("pattern")}
    return {"type": kind, **{key: value for key, value in attributes.items() if value}}


def _note(made: dict[str, Any], key: str, names: Iterable[str]) -> None:
    notes = sorted(names)
    if notes:
        made[key] = notes
