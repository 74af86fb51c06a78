"""A simulated resource is a row: what its stand-in has to know about one resource type, beside the schema."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.rules import ServerRule
from rehearsal.providers.store import Record

CloudT = TypeVar("CloudT", bound=SimulatedCloud)


@dataclass(frozen=True)
class PendingResource(Generic[CloudT]):
    """A resource on its way: its future ``id``, its ``inputs``, and what it was ``before`` (``None``: it is new).

    ``answer`` is what the cloud says of it, where its state is not in the records alone.
    """

    cloud: CloudT
    id: str
    inputs: Properties
    before: Record | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reference:
    """An input names a resource of type ``token``, which must exist.

    It ``uses`` that resource, which cannot go before; or only ``names`` it; or is a ``part`` of it and goes with it.
    """

    token: str
    tie: Literal["uses", "names", "part"] = "uses"


@dataclass(frozen=True)
class NestedResource:
    """A resource of type ``token`` that is declared inside another. One that is not ``kept`` is only checked."""

    token: str
    inputs: Properties
    kept: bool = True


@dataclass(frozen=True)
class Lifecycle(Generic[CloudT]):
    """What a resource is to the simulated machines; ``what`` is the cloud's word for it in errors.

    ``start`` follows a resource that was just recorded, new or changed, and gives the record as it is then; it may be
    called again after it failed. ``stop`` precedes the resource's end.
    """

    what: str
    start: Callable[[CloudT, Record, Record | None], Record]
    stop: Callable[[CloudT, Record], None]


@dataclass(frozen=True, kw_only=True)
class SimulatedResource(Generic[CloudT]):
    """One resource type.

    Args:
        id: its id as a template of inputs, whose change therefore means another resource.
        outputs: what the cloud adds: a template of inputs and ``{id}``, or a function, whose ``None`` is left out.
        early: outputs that the provider knows before it asks the cloud.
        unknown: outputs that are inputs, too: in a preview they are known only if the program gives a value that the
            cloud adds nothing to. A path into a block or a list of
            them (``vpcConfig.vpcId``) is what the cloud adds to it.
        renews: the outputs that an update from one set of inputs to another makes anew.
        name: the input that is made up if the program leaves it open; empty if none is.
        completes: adds inputs that depend on the provider's configuration or on other inputs.
        required: inputs that must be given, although the provider has an alternative that is not simulated.
        defaults: the provider's, by input path; a nested one applies only if its block is given.
        refers: what other resources the inputs name (dotted path, through lists), in the order of looking them up.
        requires: raises the cloud's error about what only a look at other resources tells.
        inside: the resources that are declared inside this one.
        idempotent: whether these inputs may describe a resource that exists, which is then taken as it is.
        keeps: raises the cloud's error if the resource must not be deleted.
        replaces: further input paths that cannot be updated in place (``x[]``: only adding or removing elements).
        replaces_if: input paths of which only some changes, from one value to another, cannot be made in place.
        fixed: input paths that the cloud refuses to change, with what an absent one means.
        links: inputs in which a resource's name and its URL mean the same.
        unordered: lists that are sets.
        absent: scalars that mean the same as an input left open.
        imported: what an import finds, from what the stack gave: the cloud's own answers are inputs then, too, and what
            only the provider's state knew is lost.
        lives: what it is to the simulated machines; most resources are nothing to them.
    """

    token: str
    id: str
    outputs: Mapping[str, str | Callable[[PendingResource[CloudT]], Any]] = field(default_factory=dict)
    early: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    recomputed: Callable[[Properties, Properties], tuple[str, ...]] = lambda _, __: ()
    name: str = ""
    derive_inputs: Callable[[CloudT, Properties], Properties] = lambda _, inputs: inputs
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    rules: Sequence[ServerRule[CloudT]] = ()
    references: Mapping[str, Reference] = field(default_factory=dict)
    requires: Callable[[PendingResource[CloudT]], None] = lambda _: None
    nested: Callable[[Properties], Iterable[NestedResource]] = lambda _: ()
    idempotent: Callable[[Properties], bool] = lambda _: False
    require_deletable: Callable[[CloudT, Record], None] = lambda _, __: None
    replaces: tuple[str, ...] = ()
    replaces_if: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    immutable: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    absent: tuple[Any, ...] = ()
    imported: Callable[[Properties], Properties] = lambda inputs: inputs
    lifecycle: Lifecycle[CloudT] | None = None

    @cached_property
    def address(self) -> tuple[str, ...]:
        """The inputs that the id is made of."""
        return fields(self.id)

    def with_defaults(self, inputs: Properties) -> Properties:
        """``inputs``, which are changed, with the provider's defaults where the program gave none."""
        for path, value in self.defaults.items():
            *parents, last = path.split(".")
            block: Any = inputs
            for parent in parents:
                block = block.get(parent) if isinstance(block, dict) else None
            if isinstance(block, dict) and block.get(last) is None:
                block[last] = value
        return inputs


def fields(template: str) -> tuple[str, ...]:
    """The names in a template, each once."""
    return tuple(dict.fromkeys(name for _, name, _, _ in string.Formatter().parse(template) if name))


def values_at(inputs: Any, path: str) -> list[Any]:
    """Every value at a dotted path; lists on the way are entered."""
    values = [inputs]
    for key in path.split("."):
        values = [each.get(key) for each in _flat(values) if isinstance(each, dict)]
    return [each for each in _flat(values) if each is not None]


def _flat(values: list[Any]) -> list[Any]:
    return [item for each in values for item in (each if isinstance(each, list) else [each])]
