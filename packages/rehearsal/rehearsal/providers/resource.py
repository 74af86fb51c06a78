"""A simulated resource type is a row: what a provider needs to know about it, besides the schema.

A cloud's tables: ``resources.yaml`` has what is data about its resource types, ``rules.yaml`` what it refuses.
"""

from __future__ import annotations

import copy
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar, cast

import yaml

from rehearsal.providers.base import Properties, at, merged
from rehearsal.providers.cloud import Record, SimulatedCloud
from rehearsal.providers.rules import Check, ServerRule, declared_rule, no_check
from schemas import ZEROS, schema

CloudT = TypeVar("CloudT", bound=SimulatedCloud)

# Written in C: every preview waits for it.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Pending(Generic[CloudT]):
    """A resource that is being created or changed: its ``id``, its ``inputs``, its record ``before`` (``None``: new).

    ``answer`` is the cloud's description of it, where the records do not hold its whole state. ``deployed`` are its
    inputs in the stack's state, which knows nothing of what others changed since.
    """

    cloud: CloudT
    id: str
    inputs: Properties
    before: Record | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)
    deployed: Properties = field(default_factory=dict)


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
        unknown: optional and computed properties: in a preview they are known only if the program gives a value that
            the cloud adds nothing to. A path into a block or a list of
            them (``vpcConfig.vpcId``) is what the cloud adds to it.
        recomputed: the outputs that an update from one set of inputs to another changes.
        name: the input that is generated if the program omits it; empty if none is.
        derive_inputs: adds inputs that depend on the provider's configuration or on other inputs.
        required: inputs that must be given, although the provider has an alternative that is not simulated.
        defaults: the provider's, by input path; a nested one applies only if its block is given.
        computed: input paths that the provider takes from the cloud if they are omitted: leaving one out of a later
            program is no change.
        zeros: input path → the zero value that the provider sends where a declared block leaves the input out.
        silent: input paths that are sent when the resource is created, and never again: a change is an update without
            effect, which every later preview shows again.
        kept: input paths that the cloud leaves as they are where an update omits them in a declared block: the provider
            plans and sends a change, and nothing has changed.
        deletes_first: whether the provider deletes a resource before it creates what replaces it, whatever its name.
        references: the resources that inputs name (dotted path, through lists), in the order of lookup.
        requires: raises the cloud's error for conflicts with other resources.
        nested: the resources that are declared inside this one.
        idempotent: whether these inputs may describe a resource that exists, which is then taken as it is.
        require_deletable: raises the cloud's error if the resource must not be deleted.
        replaces: further input paths that cannot be updated in place (``x[]``: only adding or removing elements, or the
            block).
        replaces_if: input paths of which only some changes, from some inputs to others, cannot be made in place.
        immutable: input paths that the cloud refuses to change, with the default of an omitted one.
        links: inputs in which a resource's name and its URL mean the same.
        unordered: lists that are sets.
        imported: what an import finds, from what the stack gave: the cloud's own answers are inputs then, too, and what
            only the provider's state knew is lost.
        in_use: the cloud's error code where it cannot be deleted because something uses it.
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
    zeros: Mapping[str, Any] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    deletes_first: bool = False
    rules: Sequence[ServerRule[CloudT]] = ()
    references: Mapping[str, Reference] = field(default_factory=dict)
    requires: Callable[[Pending[CloudT]], None] = lambda _: None
    nested: Callable[[Properties], Iterable[NestedResource]] = lambda _: ()
    idempotent: Callable[[Properties], bool] = lambda _: False
    require_deletable: Callable[[CloudT, Record], None] = lambda _, __: None
    replaces: tuple[str, ...] = ()
    replaces_if: Mapping[str, Callable[[Properties, Properties], bool]] = field(default_factory=dict)
    immutable: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    imported: Callable[[Properties], Properties] = lambda inputs: inputs
    in_use: str = "InUse"
    lifecycle: Lifecycle[CloudT] | None = None

    @cached_property
    def address(self) -> tuple[str, ...]:
        """The inputs that the id is made of."""
        return fields(self.id)

    def with_defaults(self, inputs: Properties, olds: Properties) -> Properties:
        """``inputs``, which are changed, with what the provider takes where the program gave none: as it is in
        ``olds``, the inputs of the update before, or its own default."""
        return _with_values(_with_former(inputs, self.computed, olds), self.defaults)

    def sent(self, inputs: Properties) -> Properties:
        """A copy of ``inputs`` with what the provider adds to declared blocks when it sends them."""
        return _with_values(copy.deepcopy(inputs), self.zeros) if self.zeros else inputs

    def with_kept(self, inputs: Properties, before: Properties) -> Properties:
        """``inputs``, which are changed, with what the cloud leaves as it was ``before``."""
        return _with_former(inputs, self.kept, before)


def _with_former(inputs: Properties, paths: Iterable[str], before: Properties) -> Properties:
    """``inputs``, which are changed, with what was at these paths ``before`` where they have nothing."""
    for path in paths:
        _complete(inputs, path.split("."), lambda old: old, before)
    return inputs


def _with_values(inputs: Properties, values: Mapping[str, Any]) -> Properties:
    """``inputs``, which are changed, with these values by path where they have none."""
    for path, value in values.items():
        _complete(inputs, path.split("."), lambda _, value=value: value, {})
    return inputs


def _complete(inputs: Any, path: Sequence[str], value: Callable[[Any], Any], olds: Any) -> None:
    """Put ``value`` of what ``olds`` have there where nothing is, if its block is given; in each element of lists."""
    key, *below = path
    before = olds.get(key) if isinstance(olds, dict) else None
    if not isinstance(inputs, dict):
        return
    if not below:
        if inputs.get(key) is None and value(before) is not None:
            inputs[key] = copy.deepcopy(value(before))
    elif isinstance(inputs.get(key), list):
        elements = before if isinstance(before, list) else []
        for new, old in zip_longest(inputs[key], elements[: len(inputs[key])]):
            _complete(new, below, value, old)
    else:
        _complete(inputs.get(key), below, value, before)


def changed(before: Record, now: Record, paths: Iterable[str]) -> bool:
    """Whether an input at one of the paths is another than before."""
    return any(at(before.inputs, path) != at(now.inputs, path) for path in paths)


_OFF: Final = (None, False)


def ends(path: str) -> Callable[[Properties, Properties], bool]:
    """Whether what was declared or on at the path is so no longer: for ``replaces_if``."""
    return lambda before, after: at(before, path) not in _OFF and at(after, path) in _OFF


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


class Table(Generic[CloudT]):
    """The tables in a cloud's ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._resources, self.declared_rules = _read(folder / "resources.yaml"), _read(folder / "rules.yaml")
        self._cloud_name = folder.name
        self._rules: dict[str, dict[str, ServerRule[CloudT]]] = {
            name: {id: declared_rule(id, row) for id, row in rules.items()}
            for name, rules in self.declared_rules.items()
        }

    def check(self, name: str, id: str) -> Callable[[Check[CloudT]], Check[CloudT]]:
        """Bring the decorated check of the rule ``id`` under ``name``."""

        def register(check: Check[CloudT]) -> Check[CloudT]:
            self._rules[name][id] = replace(self._rules[name][id], check=check)
            return check

        return register

    def rules(self, token: str) -> list[ServerRule[CloudT]]:
        """The rules of a type, in the table's order."""
        rules = self._rules.get(self._resources[token].get("rules", ""), {}).values()
        lacking = [rule.id for rule in rules if rule.check is no_check]
        assert not lacking, f"rules without a check: {', '.join(lacking)}"
        return [*rules]

    def id(self, token: str) -> str:
        """The template of a resource type's id."""
        return str(self._resources[token]["id"])

    def recreates(self, token: str) -> tuple[str, ...]:
        """The inputs of a pool of machines of which a change has the cloud replace every node."""
        return tuple(_paths(self._resources[token]["recreates"]))

    def sent(self, token: str, inputs: Properties) -> Properties:
        """A copy of ``inputs`` with what the provider adds to declared blocks when it sends them."""
        return _with_values(copy.deepcopy(inputs), _of_provider(self._cloud_name, token)["zeros"])

    def row(self, token: str, **code: Any) -> SimulatedResource[CloudT]:
        """A resource type: its entry in the table, and what is code.

        An entry has the fields of ``SimulatedResource``. Its ``replaces``, ``immutable``, ``computed``, ``defaults``,
        ``unordered``, ``zeros`` and ``silent`` come on top of those that the schema has of the provider's source. And:

        - ``outputs`` that are not text are constants; those of ``code`` come on top;
        - ``answers``: outputs that are the input, or this value if it is omitted; a block completes the input's;
        - ``references``: path → token, or tie and token;
        - ``replaces``, ``unordered``: ``{a: [b, c]}`` stands for ``a.b`` and ``a.c``;
        - ``imported``: what an import finds for omitted inputs; ``null``: it does not find this input;
        - ``rules``: their name in ``rules.yaml``; ``recreates``: see there; ``recorded``: whether a test holds the type
          to what the cloud or its provider was seen to answer or send.
        """
        return SimulatedResource(token=token, **self.fields(token, code))

    def rows(self, *modules: Any) -> dict[str, SimulatedResource[CloudT]]:
        """Every type with its rules: as the ``ROWS`` of a module have it, or as it is in the table alone.

        ``modules`` also have the rules' checks.
        """
        with_code = {row.token: row for module in modules for row in getattr(module, "ROWS", ())}
        every = {token: with_code.get(token) or self.row(token) for token in self._resources}
        return {token: replace(row, rules=self.rules(token)) for token, row in every.items()}

    def fields(self, token: str, code: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the row."""
        entry = dict(self._resources[token])
        outputs = {key: self.output(value) for key, value in entry.pop("outputs", {}).items()}
        answers = {key: _answer(key, value) for key, value in entry.pop("answers", {}).items()}
        entry["outputs"] = {**outputs, **answers, **code.pop("outputs", {})}
        entry["references"] = {path: _reference(text) for path, text in entry.pop("references", {}).items()}
        if "imported" in entry:
            imported = entry["imported"]
            lost = {key: value for key, value in imported.items() if value is None}
            entry["imported"] = lambda inputs: {**imported, **inputs, **lost}
        for other in ("rules", "recreates", "recorded"):
            entry.pop(other, None)
        lists = {key: tuple(_paths(value)) for key, value in entry.items() if isinstance(value, list)}
        for key, value in _of_provider(self._cloud_name, token).items():
            entry[key] = {**value, **entry.get(key, {})} if isinstance(value, dict) else (*value, *lists.pop(key, ()))
        return {**entry, **lists, **code}

    def output(self, declared: Any) -> str | Callable[[Pending[CloudT]], Any]:
        """A template or a constant."""
        return declared if isinstance(declared, str) else lambda _: declared


@cache
def _of_provider(cloud: str, token: str) -> Mapping[str, Any]:
    """What the schema says that the provider does with the inputs of a type."""
    every = [*schema(cloud).every(token)]
    suffix = {"change": "", "presence": "[]"}
    taken = {path: each.default for path, each in every if each.replaces != "refused" and each.default is not None}
    return {
        "replaces": tuple(path + suffix[each.replaces] for path, each in every if each.replaces in suffix),
        "computed": tuple(path for path, each in every if each.computed),
        "defaults": taken,
        "immutable": {path: each.default for path, each in every if each.replaces == "refused"},
        "unordered": tuple(path for path, each in every if each.unordered),
        "zeros": {path: ZEROS[each.type] for path, each in every if each.sends == "zero" and path not in taken},
        "silent": tuple(path for path, each in every if each.sends == "creation"),
    }


def recorded_types(cloud: str) -> dict[str, bool]:
    """The simulated resource types of a cloud, and whether each is held to a recording."""
    (file,) = (Path(__file__).parent / cloud).rglob("resources.yaml")
    return {token: bool(row.get("recorded")) for token, row in _read(file).items()}


def _read(file: Path) -> Any:
    return yaml.load(file.read_text("utf-8"), Loader=_LOADER)


def _reference(text: str) -> Reference:
    tie, _, token = text.rpartition(" ")
    return Reference(token, cast("Tie", tie or "uses"))


def _answer(key: str, default: Any) -> Callable[[Pending[Any]], Any]:
    def answer(pending: Pending[Any]) -> Any:
        declared = pending.inputs.get(key)
        return default if declared in (None, "") else merged(default, declared)

    return answer


def _paths(paths: list[Any]) -> Iterator[Any]:
    for each in paths:
        if isinstance(each, dict):
            yield from (f"{key}.{path}" for key, below in each.items() for path in _paths(below))
        else:
            yield each


def manifests(folder: Path, *names: str) -> list[dict[str, Any]]:
    """Copies of the objects in ``<name>.yaml`` of the folder, in the order of the names."""
    return [copy.deepcopy(each) for name in names for each in _documents(folder / f"{name}.yaml")]


@cache
def _documents(file: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.load_all(file.read_text("utf-8"), Loader=_LOADER) if document]
