"""Every input that pulumi-gcp accepts is translated or refused by name, and nothing is required that it leaves open."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from rehearsal.providers.gcp.provider import KINDS
from rehearsal.providers.gcp.shape import Shape
from rehearsal.providers.gcp.tables.required import REQUIRED
from rehearsal.providers.gcp.translate import Local, Refused, To


@dataclass
class Scan:
    """What a walk over one resource's argument classes found."""

    unhandled: list[str] = field(default_factory=list)
    required: dict[str, set[str]] = field(default_factory=dict)
    inputs: int = 0


def arguments(cls: type) -> Iterator[tuple[str, Any]]:
    """The inputs of an SDK argument class by their wire names, with their annotations."""
    for name, member in vars(cls).items():
        if isinstance(member, property) and member.fget is not None:
            yield getattr(member.fget, "_pulumi_name", name), member.fget.__annotations__["return"]


def block(annotation: Any, module: ModuleType) -> type | None:
    match = re.search(r"'(\w+Args)'", repr(annotation))
    return getattr(module, match.group(1), None) if match else None


def resolve(shape: Shape, schema: Any, name: str, path: str) -> tuple[Any, str]:
    for part in path.split("."):
        schema = schema["properties"][part]
        name, schema = schema.get("$ref", f"{name}.{part}"), shape.document.resolve(schema)
    if schema.get("type") == "array":
        name, schema = schema["items"].get("$ref", name), shape.document.resolve(schema["items"])
    return schema, name


def walk(scan: Scan, shape: Shape, module: ModuleType, cls: type, schema: Any, name: str, path: str) -> None:
    for key, annotation in arguments(cls):
        scan.inputs += 1
        if "NoneType" not in repr(annotation):
            scan.required.setdefault(name, set()).add(key)
        rule = shape.table.get(name, {}).get(key) or (To(key) if key in schema.get("properties", {}) else None)
        if rule is None:
            scan.unhandled.append(f"{path}.{key}")
        elif isinstance(rule, To):
            inner, inner_name = resolve(shape, schema, name, rule.path)
            nested = block(annotation, module)
            if nested and "properties" in inner:
                walk(scan, shape, module, nested, inner, inner_name, f"{path}.{key}")
        else:
            assert isinstance(rule, Local) or (isinstance(rule, Refused) and rule.reason)


def scanned(token: str) -> Scan:
    _, module_path, class_name = token.split(":")
    package = module_path.split("/")[0]
    module = importlib.import_module(f"pulumi_gcp.{package}._inputs")
    cls = getattr(importlib.import_module(f"pulumi_gcp.{package}"), f"{class_name}Args")
    shape, scan = KINDS[token].shape, Scan()
    walk(scan, shape, module, cls, shape.document.schema(shape.schema), shape.schema, class_name)
    return scan


@pytest.mark.parametrize("token", sorted(KINDS))
def test_every_input_of_the_sdk_is_translated_or_refused(token: str) -> None:
    scan = scanned(token)
    assert scan.inputs >= 3
    assert scan.unhandled == []


@pytest.mark.parametrize("token", sorted(KINDS))
def test_what_the_sdk_requires_is_required(token: str) -> None:
    shape = KINDS[token].shape
    for name, keys in scanned(token).required.items():
        known = shape.required if name == shape.schema else REQUIRED.get(name, ())
        # Inline pools reuse the node pool's object but have no cluster to name.
        assert keys <= set(known), f"{name} of {token}"


def test_nothing_nested_is_required_that_the_sdk_leaves_open() -> None:
    found: dict[str, set[str]] = {}
    for token in KINDS:
        for name, keys in scanned(token).required.items():
            found.setdefault(name, set()).update(keys)
    assert {name: set(keys) for name, keys in REQUIRED.items()} == {name: found.get(name) for name in REQUIRED}


@pytest.mark.parametrize("token", sorted(KINDS))
def test_paths_that_replace_exist(token: str) -> None:
    """A misspelt path would quietly turn a replacement into an update."""
    _, module_path, class_name = token.split(":")
    package = module_path.split("/")[0]
    module = importlib.import_module(f"pulumi_gcp.{package}._inputs")
    for path in (*KINDS[token].shape.replaces, *KINDS[token].shape.unordered, *KINDS[token].shape.links):
        cls: type | None = getattr(importlib.import_module(f"pulumi_gcp.{package}"), f"{class_name}Args")
        for part in path.removesuffix("[]").split("."):
            assert cls is not None
            known = dict(arguments(cls))
            assert part in known, f"{token}: {path}"
            cls = block(known[part], module)
