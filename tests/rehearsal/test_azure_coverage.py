"""Every input that pulumi-azure-native accepts is known or refused by name, and the models' newer ones are refused."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rehearsal.providers.azure_native.models import Entries, Items, Model, Type
from rehearsal.providers.azure_native.provider import KINDS
from rehearsal.providers.azure_native.shape import IDS, Shape
from rehearsal.providers.azure_native.tables.limits import LIMITS
from rehearsal.providers.azure_native.tables.newer import NEWER

# The SDK takes the id itself where Azure has a reference that contains it.
ELSEWHERE = {("IpamPoolPrefixAllocation", "id")}


@dataclass
class Scan:
    """What a walk over one resource's argument classes found."""

    unknown: list[str] = field(default_factory=list)
    newer: dict[str, set[str]] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    inputs: int = 0


def arguments(cls: type) -> Iterator[tuple[str, Any]]:
    """The inputs of an SDK argument class by their wire names, with their annotations."""
    for name, member in vars(cls).items():
        if isinstance(member, property) and member.fget is not None:
            yield getattr(member.fget, "_pulumi_name", name), member.fget.__annotations__["return"]


def block(annotation: Any, module: ModuleType) -> type | None:
    match = re.search(r"'(\w+Args)'", repr(annotation))
    return getattr(module, match.group(1), None) if match else None


def inner(declared: Type) -> Model | None:
    while isinstance(declared, (Items, Entries)):
        declared = declared.item
    return declared if isinstance(declared, Model) else None


def resource(token: str) -> ModuleType:
    """The SDK's module of one resource type; its package exports another class of the same name for some."""
    _, package, name = token.split(":")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=IP)(?=[A-Z][a-z])", "_", name).lower()
    return importlib.import_module(f"pulumi_azure_native.{package}.{words}")


def root(token: str) -> type:
    name, module = token.split(":")[2], resource(token)
    found: type = getattr(module, f"{name}InitArgs", None) or getattr(module, f"{name}Args")
    return found


def walk(scan: Scan, shape: Shape, module: ModuleType, cls: type, schema: Model, path: str) -> None:
    given = dict(arguments(cls))
    scan.models[schema.name] = schema
    if schema.name not in scan.newer:
        scan.newer[schema.name] = set()
    for key, declared in schema.properties.items():
        if not declared.server and key not in given:
            scan.newer[schema.name].add(key)
    for key, annotation in given.items():
        scan.inputs += 1
        if path == shape.model and key in shape.addresses:
            continue
        declared = schema.properties.get(key)
        if declared is None:
            if (schema.name, key) not in ELSEWHERE:
                scan.unknown.append(f"{path}.{key}")
            continue
        nested, below = block(annotation, module), inner(declared.type)
        if nested and below and below.name not in scan.models:
            walk(scan, shape, module, nested, below, f"{path}.{key}")


@functools.cache
def scanned(token: str) -> Scan:
    package = f"pulumi_azure_native.{token.split(':')[1]}"
    # A package whose resources have no blocks has no module for them.
    has_blocks = importlib.util.find_spec(f"{package}._inputs") is not None
    module = importlib.import_module(f"{package}._inputs" if has_blocks else package)
    shape, scan = KINDS[token].shape, Scan()
    walk(scan, shape, module, root(token), shape.schema, shape.model)
    return scan


@pytest.mark.parametrize("token", sorted(KINDS))
def test_every_input_of_the_sdk_is_known(token: str) -> None:
    scan = scanned(token)
    assert scan.inputs >= 4
    assert scan.unknown == []


def test_what_the_models_know_beyond_the_sdk_is_in_the_table() -> None:
    found: dict[str, set[str]] = {}
    for token in KINDS:
        for name, keys in scanned(token).newer.items():
            # A model that several resources use is as new as its newest use.
            found[name] = found[name] & keys if name in found else keys
    assert {name: set(keys) for name, keys in NEWER.items()} == {name: keys for name, keys in found.items() if keys}


@pytest.mark.parametrize("token", sorted(KINDS))
def test_the_api_version_is_the_sdks_default(token: str) -> None:
    text = Path(inspect.getfile(resource(token))).read_text()
    match = re.search(r"Uses Azure REST API version ([-\w]+)\.", text)
    assert match is not None
    assert KINDS[token].shape.api_version == match.group(1)


@pytest.mark.parametrize("token", sorted(KINDS))
def test_the_address_is_required_as_the_sdk_has_it(token: str) -> None:
    shape = KINDS[token].shape
    given = dict(arguments(root(token)))
    needed = {key for key, annotation in given.items() if "NoneType" not in repr(annotation)}
    assert set(shape.addresses) <= set(given)
    # The last step of the address is auto-named; everything else in it must be given.
    required = {key for key, declared in shape.schema.properties.items() if declared.required}
    assert needed - set(shape.addresses) <= required | set(shape.required)
    assert set(shape.addresses) & needed == set(shape.addresses) - {shape.name}


@pytest.mark.parametrize("token", sorted(KINDS))
def test_paths_in_the_tables_exist(token: str) -> None:
    """A misspelt path would quietly turn a replacement or a refusal into an update."""
    shape = KINDS[token].shape
    for path in (*shape.own_replaces, *shape.fixed, *shape.unordered, *shape.enums):
        schema: Model | None = shape.schema
        for part in path.split("."):
            assert schema is not None, f"{token}: {path}"
            assert part in schema.properties, f"{token}: {path}"
            schema = inner(schema.properties[part].type)


def test_limits_are_of_properties_that_exist() -> None:
    models: dict[str, Model] = {}
    addresses: dict[str, set[str]] = {}
    for token, kind in KINDS.items():
        models |= scanned(token).models
        addresses[kind.shape.model] = set(kind.shape.addresses)
    for name, limits in LIMITS.items():
        assert set(limits) <= set(models[name].properties) | addresses.get(name, set()), name


def test_lists_of_ids_are_maps_in_the_models() -> None:
    identity = inner(KINDS["azure-native:containerservice:ManagedCluster"].shape.schema.properties["identity"].type)
    assert identity is not None
    assert isinstance(identity.properties[IDS].type, Entries)
