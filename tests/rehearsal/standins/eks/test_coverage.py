"""The stand-in's tables against the SDK: names that exist, and nothing required that the SDK leaves open."""

from __future__ import annotations

import importlib
import inspect
import typing
from typing import Any

import pytest
from pulumi._types import input_type_py_to_pulumi_names, input_type_types, is_input_type

from rehearsal.standins.eks.provider import KINDS
from rehearsal.standins.eks.translate import To, service_model

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws")

# Made up where the program gives none, or required by the request although the SDK has a default of its own.
STRICTER = {
    "aws:ec2/vpc:Vpc": {"cidrBlock"},
    "aws:ec2/subnet:Subnet": {"cidrBlock"},
    "aws:ec2/natGateway:NatGateway": {"subnetId"},
    "aws:ec2/vpcEndpoint:VpcEndpoint": {"serviceName"},
}


def arguments(token: str) -> type:
    _, path, name = token.split(":")
    module = importlib.import_module(f"pulumi_aws.{path.split('/')[0]}")
    found: type = getattr(module, f"{name}Args")
    return found


def block(annotation: Any) -> type | None:
    """The class of a nested block, or of a list's elements."""
    if is_input_type(annotation):
        found: type = annotation
        return found
    return next((inner for each in typing.get_args(annotation) if (inner := block(each)) is not None), None)


@pytest.mark.parametrize("token", sorted(KINDS))
def test_paths_of_the_tables_exist_in_the_sdk(token: str) -> None:
    """A misspelt path would quietly turn a replacement into an update, or ignore an input."""
    shape = KINDS[token].shape
    named = (shape.name,) if shape.name else ()
    paths = (*shape.replaces, *shape.unordered, *shape.local, *shape.required, *shape.one_of, *shape.defaults, *named)
    for path in paths:
        cls: type | None = arguments(token)
        for part in path.removesuffix("[]").split("."):
            assert cls is not None, f"{token}: {path}"
            known = input_type_types(cls)
            assert part in known, f"{token}: {path}"
            cls = block(known[part])


@pytest.mark.parametrize("token", sorted(KINDS))
def test_what_the_sdk_requires_is_required(token: str) -> None:
    cls, shape = arguments(token), KINDS[token].shape
    parameters = inspect.signature(cls).parameters
    names = input_type_py_to_pulumi_names(cls)
    needed = {key for name, key in names.items() if parameters[name].default is inspect.Parameter.empty}
    assert set(shape.required) - STRICTER.get(token, set()) == needed


@pytest.mark.parametrize("token", sorted(KINDS))
def test_computed_outputs_are_those_of_the_sdk(token: str) -> None:
    _, path, name = token.split(":")
    resource = getattr(importlib.import_module(f"pulumi_aws.{path.split('/')[0]}"), name)
    members = {key: each.fget for key, each in vars(resource).items() if isinstance(each, property)}
    known = {getattr(getter, "_pulumi_name", key) for key, getter in members.items()}
    assert set(KINDS[token].computed) <= known


@pytest.mark.parametrize("token", sorted(KINDS))
def test_tables_name_what_the_model_has(token: str) -> None:
    shape = KINDS[token].shape
    model = service_model(shape.service)
    for structure, rules in shape.table.items():
        members = model.shape_for(structure).members
        for rule in rules.values():
            assert not isinstance(rule, To) or rule.name in members, f"{structure}: {rule}"
