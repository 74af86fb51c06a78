"""A simulated resource type is a row: what a provider needs to know about it, besides the schema."""

from __future__ import annotations

import copy
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.rules import ServerRule
from rehearsal.providers.store import Record
from rehearsal.providers.values import at

CloudT = TypeVar("CloudT", bound=SimulatedCloud)


@dataclass(frozen=True)
class Pending(Generic[CloudT]):
    """A resource that is being created or changed: its ``id``, its ``inputs``, its record ``before`` (``None``: new).

    ``answer`` is the cloud's description of it, where the records do not hold its whole state.
    """

    cloud: CloudT
    id: str
    inputs: Properties
    before: Record | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)


Tie = Literal["uses", "names", "part"]


@dataclass(frozen=True)
class Reference:
    """An input that names a resource of type ``token``, which must exist.

    It ``uses`` that resource, which cannot be deleted first; or ``names`` it; or is a ``part`` and is deleted with it.
    """

    token: str
    tie: Tie = "uses"


@dataclass(frozen=True)
class NestedResource:
    """A resource of type ``token`` that is declared inside another. Without ``recorded`` it is only checked."""

    token: str
    inputs: Properties
    recorded: bool = True


@dataclass(frozen=True)
class Lifecycle(Generic[CloudT]):
    """How a resource affects the simulated machines; ``what`` is the cloud's word for it in errors.

    ``start`` runs after a resource was recorded, new or changed, and returns its record; it may be
    called again after a failure. ``stop`` runs before the resource is deleted.
    """

    what: str
    start: Callable[[CloudT, Record, Record | None], Record]
    stop: Callable[[CloudT, Record], None] = lambda _, __: None


@dataclass(frozen=True, kw_only=True)
class SimulatedResource(Generic[CloudT]):
    """One resource type.

    Args:
        id: its id as a template of inputs; a change of those inputs means another resource.
        permission: what the user needs to make, change or delete it: a template with ``{action}``, where it is data.
        outputs: what the cloud adds: a template of inputs and ``{id}``, or a function; ``None`` is left out.
        early: outputs that the provider knows before it asks the cloud.
        unknown: outputs that are inputs, too: in a preview they are known only if the program gives a value that the
            cloud adds nothing to. A path into a block or a list of
            them (``vpcConfig.vpcId``) is what the cloud adds to it.
        recomputed: the outputs that an update from one set of inputs to another changes.
        name: the input that is generated if the program omits it; empty if none is.
        derive_inputs: adds inputs that depend on the provider's configuration or on other inputs.
        required: inputs that must be given, although the provider has an alternative that is not simulated.
        defaults: the provider's, by input path; a nested one applies only if its block is given.
        computed: input paths that the provider takes from the cloud if they are omitted: leaving one out of a later
            program is no change.
        references: the resources that inputs name (dotted path, through lists), in the order of lookup.
        requires: raises the cloud's error for conflicts with other resources.
        nested: the resources that are declared inside this one.
        idempotent: whether these inputs may describe a resource that exists, which is then taken as it is.
        require_deletable: raises the cloud's error if the resource must not be deleted.
        replaces: further input paths that cannot be updated in place (``x[]``: only adding or removing elements).
        replaces_if: input paths of which only some changes, from one value to another, cannot be made in place.
        immutable: input paths that the cloud refuses to change, with the default of an omitted one.
        links: inputs in which a resource's name and its URL mean the same.
        unordered: lists that are sets.
        absent: scalars that mean the same as an omitted input.
        imported: what an import finds, from what the stack gave: the cloud's own answers are inputs then, too, and what
            only the provider's state knew is lost.
        lifecycle: how it affects the simulated machines; most resources do not.
    """

    token: str
    id: str
    permission: str = ""
    outputs: Mapping[str, str | Callable[[Pending[CloudT]], Any]] = field(default_factory=dict)
    early: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    recomputed: Callable[[Properties, Properties], tuple[str, ...]] = lambda _, __: ()
    name: str = ""
    derive_inputs: Callable[[CloudT, Properties], Properties] = lambda _, inputs: inputs
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    computed: tuple[str, ...] = ()
    rules: Sequence[ServerRule[CloudT]] = ()
    references: Mapping[str, Reference] = field(default_factory=dict)
    requires: Callable[[Pending[CloudT]], None] = lambda _: None
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

    def with_defaults(self, inputs: Properties, olds: Properties) -> Properties:
        """``inputs``, which are changed, with what the provider takes where the program gave none: as it is in
        ``olds``, the inputs of the update before, or its own default."""
        before = {path: value for path in self.computed if (value := at(olds, path)) is not None}
        for path, value in {**self.defaults, **before}.items():
            *parents, last = path.split(".")
            block: Any = inputs
            for parent in parents:
                block = block.get(parent) if isinstance(block, dict) else None
            if isinstance(block, dict) and block.get(last) is None:
                block[last] = copy.deepcopy(value)
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
