"""Microsoft's own models of its requests, read from the ``azure-mgmt-*`` packages, as one small schema.

Two generations of generated models exist; both name wire properties, types, enums, what is required and read-only.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import ModuleType, UnionType
from typing import Any, Final, ForwardRef, Union, get_args, get_origin

_SCALARS: Final[Mapping[Any, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_OLD_SCALARS: Final = {"str": "string", "bool": "boolean", "int": "integer", "long": "integer", "float": "number"}


@dataclass(frozen=True)
class Scalar:
    """``kind`` is ``string``, ``boolean``, ``integer``, ``number`` or ``any``; ``values`` are an enum's."""

    kind: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Items:
    """A list."""

    item: Type


@dataclass(frozen=True)
class Entries:
    """A map from any string."""

    item: Type


@dataclass(frozen=True)
class WireProperty:
    """One wire property. A ``server`` property is read-only: Azure sets it."""

    type: Type
    required: bool = False
    server: bool = False


@dataclass(frozen=True)
class Model:
    """An object called ``name``. What Azure nests under ``properties`` stands beside the rest, as Pulumi has it."""

    name: str
    _read: Callable[[], Mapping[str, WireProperty]] = field(repr=False, compare=False)

    @property
    def properties(self) -> Mapping[str, WireProperty]:
        """Wire name → property; read on first use, because models refer to each other in circles."""
        return _flat(self._read)


Type = Scalar | Items | Entries | Model


@cache
def model(package: str, name: str) -> Model:
    """The model ``name`` of ``azure.mgmt.<package>``; raises ``AttributeError`` if there is none."""
    module = import_module(f"azure.mgmt.{package}.models")
    return _model(module, getattr(module, name))


@cache
def _flat(read: Callable[[], Mapping[str, WireProperty]]) -> Mapping[str, WireProperty]:
    properties = dict(read())
    nested = properties.get("properties")
    if nested is not None and isinstance(nested.type, Model):
        del properties["properties"]
        # A pool's own ``type`` hides the resource type, which Azure sets.
        properties |= {
            key: each for key, each in nested.type.properties.items() if not each.server or key not in properties
        }
    return properties


@cache
def _model(module: ModuleType, cls: type) -> Model:
    read = _read_old if hasattr(cls, "_attribute_map") else _read_new
    return Model(cls.__name__, lambda: read(module, cls))


def _read_new(module: ModuleType, cls: type) -> Mapping[str, WireProperty]:
    properties: dict[str, WireProperty] = {}
    for base in reversed(cls.__mro__):
        for attribute, declared in vars(base).items():
            if not hasattr(declared, "_rest_name_input"):
                continue
            visibility = declared._visibility
            server = visibility == ["read"]
            annotation = base.__annotations__[attribute]
            inner, optional = _optional(annotation)
            properties[camel(declared._rest_name_input or attribute)] = WireProperty(
                _type(module, inner), required=not optional and not server, server=server
            )
    return properties


def _optional(annotation: Any) -> tuple[Any, bool]:
    """The annotation without ``None``, and whether it had one."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation, False
    parts = [part for part in get_args(annotation) if part is not type(None)]
    optional = len(parts) < len(get_args(annotation))
    # ``Union[str, Enum]`` means that a string of the enum is expected.
    named = [part for part in parts if part is not str]
    return (named[0] if named else str), optional


def _type(module: ModuleType, annotation: Any) -> Type:
    if isinstance(annotation, (ForwardRef, str)):
        text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
        named = getattr(module, text.rpartition(".")[2], None)
        return Scalar(_SCALARS.get(text, "any")) if named is None else _class(module, named)
    origin = get_origin(annotation)
    if origin is list:
        return Items(_type(module, _optional(get_args(annotation)[0])[0]))
    if origin is dict:
        return Entries(_type(module, _optional(get_args(annotation)[1])[0]))
    return Scalar(_SCALARS.get(annotation, "any"))


def _class(module: ModuleType, cls: type) -> Type:
    if issubclass(cls, enum.Enum):
        return Scalar("string", tuple(str(member.value) for member in cls))
    return _model(module, cls)


def _read_old(module: ModuleType, cls: Any) -> Mapping[str, WireProperty]:
    properties: dict[str, WireProperty] = {}
    for attribute, declared in cls._attribute_map.items():
        rules = cls._validation.get(attribute, {})
        properties[declared["key"].removeprefix("properties.")] = WireProperty(
            _old_type(module, declared["type"]),
            required=bool(rules.get("required")) and not rules.get("readonly"),
            server=bool(rules.get("readonly")),
        )
    return properties


def _old_type(module: ModuleType, text: str) -> Type:
    if text[0] in "[{":
        return (Items if text[0] == "[" else Entries)(_old_type(module, text[1:-1]))
    if text in _OLD_SCALARS:
        return Scalar(_OLD_SCALARS[text])
    named = getattr(module, text, None)
    return Scalar("any") if named is None else _class(module, named)


def camel(name: str) -> str:
    """A wire name as Pulumi spells it: ``scan-interval`` becomes ``scanInterval``."""
    return re.sub(r"-(\w)", lambda match: match.group(1).upper(), name)
