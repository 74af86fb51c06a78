"""Every property that the program sends exists in the provider's SDK, at any depth, and has the right shape.

``components/resources.py`` bypasses the SDK's classes at run time for their import time; this puts their checks back.
"""

from __future__ import annotations

import collections.abc
import enum
import importlib
import inspect
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pulumi._types import input_type_py_to_pulumi_names, input_type_types, is_input_type

from tests import one_stack
from tests.stacks import STACK_FILES, run_program, stack_name

ONE_T4 = {"type": "nvidia-tesla-t4", "count": 1}
OBJECTS = ("kubernetes:", "pulumi:")  # those in a cluster are judged by its API server

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_gcp")


@pytest.mark.parametrize("file", [*STACK_FILES, *one_stack.files()], ids=stack_name)
def test_every_input_is_a_property_of_the_sdk(file: Path) -> None:
    custom = [resource for resource in run_program(file).resources if resource.custom]
    sent = [resource for resource in custom if not resource.type.startswith(OBJECTS)]
    assert sent
    problems = [problem for resource in sent for problem in problems_of(resource.type, resource.inputs)]
    assert problems == []


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ({"cluster": "c", "nodeCounts": 1}, "nodeCounts"),
        ({"cluster": "c", "nodeConfig": {"machineTyp": "e2"}}, "nodeConfig.machineTyp"),
        (
            {"cluster": "c", "nodeConfig": {"guestAccelerators": [{"kind": "t4", **ONE_T4}]}},
            "nodeConfig.guestAccelerators.kind",
        ),
        ({"cluster": "c", "nodeConfig": ["e2"]}, "nodeConfig"),
        ({"cluster": "c", "nodeLocations": "us-central1-a"}, "nodeLocations"),
        ({"cluster": "c", "initialNodeCount": "0"}, "initialNodeCount"),
        ({"nodeCount": 1.0}, "cluster"),
    ],
)
def test_a_wrong_input_is_found(inputs: dict[str, Any], problem: str) -> None:
    (found,) = problems_of("gcp:container/nodePool:NodePool", inputs)
    assert found.startswith(f"gcp:container/nodePool:NodePool {problem}:")


def problems_of(token: str, inputs: Mapping[str, Any]) -> Iterator[str]:
    package, path, name = token.split(":")
    module = importlib.import_module(f"pulumi_{package.replace('-', '_')}.{path.split('/')[0]}")
    if not hasattr(module, name):
        # Azure's SDK loads its modules when somebody looks at them. Code that looks at all modules there are while one
        # is loading (inspect.getmodule does) leaves it without its later classes.
        module = importlib.reload(module)
    # A type that is an input of other resources too has its own class for the resource.
    args = getattr(module, f"{name}InitArgs", None) or getattr(module, f"{name}Args")
    yield from (f"{token} {problem}" for problem in _object_problems(args, inputs, ""))


def _object_problems(args: type, values: Mapping[str, Any], where: str) -> Iterator[str]:
    types = input_type_types(args)
    for key, value in values.items():
        if key in types:
            yield from _value_problems(types[key], value, f"{where}{key}")
        else:
            yield f"{where}{key}: no such property"
    parameters = inspect.signature(args).parameters
    for python_name, key in input_type_py_to_pulumi_names(args).items():
        if parameters[python_name].default is inspect.Parameter.empty and key not in values:
            yield f"{where}{key}: required"


def _value_problems(wanted: Any, value: Any, where: str) -> Iterator[str]:
    origin = typing.get_origin(wanted)
    if origin is typing.Union:  # Input[T] is T, Awaitable[T] or Output[T]
        yield from _value_problems(typing.get_args(wanted)[0], value, where)
    elif isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        if value not in [member.value for member in wanted]:
            yield f"{where}: {value!r} is no {wanted.__name__}"
    elif not isinstance(value, _wire_type(wanted)):
        yield f"{where}: {value!r} is no {wanted}"
    elif is_input_type(wanted):
        yield from _object_problems(wanted, value, f"{where}.")
    elif origin is collections.abc.Sequence:
        for item in value:
            yield from _value_problems(typing.get_args(wanted)[0], item, where)


def _wire_type(wanted: Any) -> type | tuple[type, ...]:
    """What a value of the SDK's type is when it arrives at the engine; whole numbers arrive as floats."""
    if is_input_type(wanted) or typing.get_origin(wanted) is collections.abc.Mapping:
        return dict
    if typing.get_origin(wanted) is collections.abc.Sequence:
        return list
    return (int, float) if wanted in (int, float) else wanted
