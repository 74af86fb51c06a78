"""A resource type's inputs and outputs as its Pulumi SDK declares them: names, structure, types, what is required."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import typing
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from pulumi._types import input_type_py_to_pulumi_names, input_type_types, is_input_type

Raw = dict[str, Any]
"""A ``schemas.Property`` as JSON has it, without what it has by default."""

_SCALARS: Final[Mapping[Any, str]] = {str: "string", bool: "boolean", int: "integer", float: "number"}


@dataclass(frozen=True)
class Argument:
    """One input: its name on the wire, its type without ``Output`` and ``None``, whether it must be there."""

    name: str
    type: Any
    required: bool


def arguments(cls: type) -> Iterator[Argument]:
    """The inputs of an argument class."""
    types, parameters = input_type_types(cls), inspect.signature(cls).parameters
    for python_name, name in input_type_py_to_pulumi_names(cls).items():
        required = parameters[python_name].default is inspect.Parameter.empty
        yield Argument(name, _plain(types[name]), required)


def module_of(token: str) -> ModuleType:
    """The SDK's module of a resource type: ``pulumi_gcp.container`` for ``gcp:container/nodePool:NodePool``."""
    package, path, _ = token.split(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module(f"pulumi_{package.replace('-', '_')}.{path.split('/')[0]}")


def inputs_of(token: str) -> type:
    """The argument class of a resource type; a type that is also an input of others has one of its own."""
    module, name = module_of(token), token.rpartition(":")[2]
    cls: type = getattr(module, f"{name}InitArgs", None) or getattr(module, f"{name}Args")
    return cls


def outputs_of(token: str) -> dict[str, str]:
    """A resource type's outputs, inputs included: name → type, as ``schemas.Type`` has them."""
    resource = getattr(module_of(token), token.rpartition(":")[2])
    getters = {key: each.fget for key, each in vars(resource).items() if isinstance(each, property)}
    names = {getattr(getter, "_pulumi_name", key): getter for key, getter in getters.items()}
    return {name: _output_type(names[name]) for name in sorted(names)}


def always_answered(token: str) -> set[str]:
    """The outputs of a resource type that have a value whatever the program says."""
    resource = getattr(module_of(token), token.rpartition(":")[2])
    getters = {key: each.fget for key, each in vars(resource).items() if isinstance(each, property)}
    return {getattr(each, "_pulumi_name", key) for key, each in getters.items() if not _may_lack(each)}


def _may_lack(getter: Any) -> bool:
    (declared,) = typing.get_args(getter.__annotations__["return"])
    return type(None) in typing.get_args(declared)


def _output_type(getter: Any) -> str:
    """The type of a getter's value; ``any`` for what has none."""
    (declared,) = typing.get_args(getter.__annotations__["return"])
    value = _plain(declared)
    if elements(value) is not None:
        return "list"
    if values(value) is not None:
        return "map"
    return "object" if isinstance(value, (typing.ForwardRef, str)) else str(scalar(value)["type"])


def api_version(token: str) -> str:
    """The version of Azure's API that the provider calls."""
    source = inspect.getsource(getattr(module_of(token), token.rpartition(":")[2]))
    match = re.search(r"Uses Azure REST API version ([-\w]+)\.", source)
    if match is None:
        raise ValueError(f"{token}: the SDK does not say which API version it calls")
    return match.group(1)


def elements(declared: Any) -> Any | None:
    """The type of a list's elements; ``None`` if ``declared`` is no list."""
    is_list = typing.get_origin(declared) in (list, Sequence)
    return _plain(typing.get_args(declared)[0]) if is_list else None


def values(declared: Any) -> Any | None:
    """The type of a map's values; ``None`` if ``declared`` is no map."""
    is_map = typing.get_origin(declared) in (dict, Mapping)
    return _plain(typing.get_args(declared)[1]) if is_map else None


def block(declared: Any) -> type | None:
    """The argument class of a nested block; ``None`` if ``declared`` is something else."""
    return declared if is_input_type(declared) else None


def scalar(declared: Any) -> Raw:
    """A scalar's type, with the values of an enum; ``any`` for what has no type."""
    if isinstance(declared, type) and issubclass(declared, enum.Enum):
        return {"type": "string", "enum": [str(member.value) for member in declared]}
    return {"type": _SCALARS.get(declared, "any")}


def _plain(declared: Any) -> Any:
    """``declared`` without ``Output``, ``Awaitable`` and ``None``; of a string or an enum, the enum."""
    while typing.get_origin(declared) is typing.Union:
        parts = typing.get_args(declared)
        enums = [part for part in parts if isinstance(part, type) and issubclass(part, enum.Enum)]
        declared = enums[0] if enums else parts[0]
    return declared
