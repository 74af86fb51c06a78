"""One stand-in for every cloud: the life of simulated resources, which are rows, checked against a generated schema."""

from __future__ import annotations

import copy
import importlib.metadata
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from typing_extensions import override

from catalog import of
from concepts.unknown import UNKNOWN
from rehearsal.simulation import Fleet
from rehearsal.standins import check
from rehearsal.standins.base import CheckFailure, Created, Diff, Properties, Provider, ProviderError, Request
from rehearsal.standins.differences import diff
from rehearsal.standins.registry import simulated
from rehearsal.standins.resource import CloudT, Inside, Made, Refers, Resource, values_at
from rehearsal.standins.rules import broken
from rehearsal.standins.store import Record, Store
from rehearsal.standins.values import without_none
from schemas import Schema, schema

if TYPE_CHECKING:
    from catalog import CloudCatalog


@dataclass(frozen=True)
class Compared:
    """How the inputs of one resource type are compared (``differences.Comparable``)."""

    replaces: tuple[str, ...]
    links: tuple[str, ...]
    unordered: tuple[str, ...]
    absent: tuple[Any, ...]


class StandIn(Provider, Generic[CloudT]):
    """One simulated cloud, whose resources are in ``directory`` and whose machines are ``fleet``'s.

    A cloud's subclass brings its rows, its functions and its words for errors.

    Args:
        directory: holds ``<plugin>.json``; made if it is not there. Several processes may share it.
        fleet: gets the clusters and pools; ``None`` where programs are only previewed.
        catalog: machines, GPUs, zones and prices; the project's own by default.
    """

    cloud_name: ClassVar[str]
    rows: ClassVar[Mapping[str, Resource[Any]]]
    functions: ClassVar[Mapping[str, Callable[[Any, Properties], Properties]]]
    settings: ClassVar[tuple[str, ...]]
    """The provider's settings that the resources use."""
    words: ClassVar[check.Words]
    answers: ClassVar[tuple[str, ...]] = ()
    """Outputs of every resource (``answered``)."""
    make_cloud: ClassVar[Callable[..., Any]]

    def __init__(self, directory: Path, fleet: Fleet | None, catalog: CloudCatalog | None = None) -> None:
        self.version = importlib.metadata.version(f"pulumi-{self.name}")
        self._cloud: CloudT = type(self).make_cloud(
            Store(directory, self.name, self.already_exists), fleet, lambda: catalog or of(self.cloud_name)
        )

    # What a cloud's stand-in brings.

    @abstractmethod
    def auto_name(self, row: Resource[CloudT], request: Request) -> str:
        """The name that the provider gives a resource that the program does not name."""

    @abstractmethod
    def completed(self, row: Resource[CloudT], inputs: Properties) -> Properties:
        """``inputs`` with what every type takes from the provider's configuration."""

    @abstractmethod
    def deletes_first(self, row: Resource[CloudT], request: Request, old: Properties, new: Properties) -> bool:
        """Whether a replacement cannot exist beside what it replaces."""

    @abstractmethod
    def place(self, row: Resource[CloudT], inputs: Properties) -> Mapping[str, Any]:
        """What the places in an id's template are for ``inputs``."""

    @abstractmethod
    def target(self, path: str, refers: Refers, value: str, inputs: Properties) -> str:
        """The id of the resource that ``value``, which is at ``path`` in ``inputs``, names."""

    @staticmethod
    @abstractmethod
    def already_exists(id: str) -> ProviderError:
        """The cloud's error about a resource that exists."""

    @abstractmethod
    def bad_request(self, message: str) -> ProviderError:
        """The cloud's error about a request that breaks one of its rules."""

    @abstractmethod
    def missing(self, refers: Refers, value: str, id: str) -> ProviderError:
        """The cloud's error about an input whose ``value`` names the resource at ``id``, which does not exist."""

    @abstractmethod
    def gone(self, id: str) -> ProviderError:
        """The cloud's error about a resource that should be there."""

    @abstractmethod
    def in_use(self, row: Resource[CloudT], id: str, by: str) -> ProviderError:
        """The cloud's error about a resource that cannot go while another uses it."""

    def answered(self, row: Resource[CloudT], inputs: Properties) -> Properties:
        """The outputs called ``answers``."""
        return {}

    def replacing(self, row: Resource[CloudT]) -> tuple[str, ...]:
        """Further inputs of a resource type that cannot be updated in place, as they say where it is."""
        return ()

    def require_unchanged(self, row: Resource[CloudT], old: Properties, new: Properties, *, inside: bool) -> None:
        """Raise the cloud's error if an update would change what it refuses to change; ``inside`` another resource?"""

    def failures(self, row: Resource[CloudT], inputs: Properties) -> list[CheckFailure]:
        """Everything wrong with ``inputs`` that needs no server to tell."""
        missing = [CheckFailure(key, "is required") for key in row.required if inputs.get(key) is None]
        return [*missing, *check.failures(self.schema, row.token, inputs, self.words)]

    def changed(self) -> None:
        """Called after a resource came or changed."""

    # The engine's calls.

    @cached_property
    def schema(self) -> Schema:
        """What the provider takes and answers."""
        return schema(self.cloud_name)

    @override
    def instance(self) -> Provider:
        return copy.copy(self)

    @override
    def inventory(self) -> list[str]:
        return [f"{record.type} {record.id}" for record in self._cloud.store.everything()]

    @override
    def configure(self, config: Properties) -> None:
        known = {key: config[key] for key in self.settings if config.get(key) not in (None, UNKNOWN)}
        self._cloud = replace(self._cloud, config=known)

    @override
    def check(self, request: Request, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        row = self.row(request.type)
        inputs = row.with_defaults(without_none(copy.deepcopy(news)))
        if row.name and inputs.get(row.name) is None:
            inputs[row.name] = olds.get(row.name) or self.auto_name(row, request)
        inputs = without_none(row.completes(self._cloud, self.completed(row, inputs)))
        return inputs, self.failures(row, inputs)

    @override
    def diff(
        self,
        request: Request,
        id: str,
        old_inputs: Properties,
        old_state: Properties,
        news: Properties,
        ignore_changes: tuple[str, ...],
    ) -> Diff:
        row = self.row(request.type)
        found = diff(self._compared(row), old_inputs, news, ignore_changes)
        more = (
            path
            for path, must in row.replaces_if.items()
            if path in found.changes and must(old_inputs.get(path), news.get(path))
        )
        replaces = (*found.replaces, *more)
        first = bool(replaces) and self.deletes_first(row, request, old_inputs, news)
        return replace(found, replaces=replaces, delete_before_replace=first)

    @override
    def create(self, request: Request, inputs: Properties, timeout: float) -> Created:
        row = self.row(request.type)
        self._enforce(row, inputs)
        if request.preview:
            return Created("", self._foreseen(row, inputs))
        made = self.made(row, inputs)
        existing = self._cloud.store.get(made.id) if row.idempotent(inputs) else None
        if existing is None:
            self._look(row, made)
            if row.lives:
                self._cloud.machines()
            existing = self._record(row, made)
            self._cloud.store.add(existing)
            existing = self._started(row, existing, None, "creating")
            self.changed()
        return Created(existing.id, existing.state)

    @override
    def read(self, request: Request, id: str, inputs: Properties, state: Properties) -> Created:
        record = self._cloud.find(id, self.row(request.type).token)
        if record is None:
            return Created("", {})
        # An import has no inputs and gets all live ones.
        live = {key: record.inputs.get(key) for key in inputs} if inputs else record.inputs
        return Created(record.id, record.state, without_none(live))

    @override
    def update(
        self,
        request: Request,
        id: str,
        old_inputs: Properties,
        old_state: Properties,
        news: Properties,
        timeout: float,
    ) -> Properties:
        row = self.row(request.type)
        self._enforce(row, news)
        if request.preview:
            self._require_unchanged(row, old_inputs, news)
            return self._foreseen(row, news, old_inputs, old_state)
        existing = self._cloud.find(id, row.token)
        if existing is None:
            raise self.gone(id)
        self._require_unchanged(row, existing.inputs, news)
        made = Made(self._cloud, existing.id, news, existing)
        self._look(row, made)
        record = self._record(row, made)
        self._cloud.store.put(record)
        record = self._started(row, record, existing, "updating")
        self.changed()
        return record.state

    @override
    def delete(self, request: Request, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        row = self.row(request.type)
        record = self._cloud.find(id, row.token)
        if record is None:
            return
        row.keeps(self._cloud, record)
        parts = list(self._parts(record))
        going = {each.id for each in (*parts, record)}
        for each in (record, *parts):
            user = next((user for user in self._tied(each, "uses") if user.id not in going), None)
            if user is not None:
                raise self.in_use(row, record.id, user.id)
        for each in (*parts, record):
            self._end(each)

    @override
    def invoke(self, token: str, args: Properties) -> Properties:
        return simulated(self.name, "function", token, self.functions)(self._cloud, args)

    # A resource's life.

    def row(self, type: str) -> Resource[CloudT]:
        """The row of a resource type; an error that names it where there is none."""
        return simulated(self.name, "resource type", type, self.rows)

    def made(self, row: Resource[CloudT], inputs: Properties) -> Made[CloudT]:
        """A new resource, as it will be called."""
        return Made(self._cloud, row.id.format_map(self.place(row, inputs)), inputs)

    def address(self, row: Resource[CloudT]) -> tuple[str, ...]:
        """The inputs that say where a resource is."""
        known = self.schema.inputs(row.token).properties
        return tuple(name for name in row.address if name in known)

    def _compared(self, row: Resource[CloudT]) -> Compared:
        replaces = (*self.address(row), *self.replacing(row), *row.replaces)
        return Compared(replaces, row.links, row.unordered, row.absent)

    def _enforce(self, row: Resource[CloudT], inputs: Properties) -> None:
        """Raise the first broken rule; rules about values that are not known yet wait for the update."""
        message = broken(row.rules, inputs, self._cloud)
        if message:
            raise self.bad_request(message)
        for each in row.inside(inputs):
            self._enforce(self.row(each.token), each.inputs)

    def _require_unchanged(self, row: Resource[CloudT], old: Properties, new: Properties) -> None:
        self.require_unchanged(row, old, new, inside=False)
        before = {self._called(each): each.inputs for each in row.inside(old)}
        for each in row.inside(new):
            inner = self.row(each.token)
            if self._called(each) in before:
                self.require_unchanged(inner, before[self._called(each)], each.inputs, inside=True)

    def _called(self, each: Inside) -> tuple[str, Any]:
        return each.token, each.inputs.get(self.address(self.row(each.token))[-1])

    def _look(self, row: Resource[CloudT], made: Made[CloudT]) -> None:
        """Raise the cloud's error if what the inputs refer to does not exist or conflicts with them."""
        for path, refers in row.refers.items():
            for value in values_at(made.inputs, path):
                id = self.target(path, refers, value, made.inputs)
                if self._cloud.find(id, refers.token) is None:
                    raise self.missing(refers, value, id)
        row.requires(made)

    def _record(self, row: Resource[CloudT], made: Made[CloudT]) -> Record:
        answered = self.answered(row, made.inputs)
        places = {**self.place(row, made.inputs), "id": made.id}
        own = {
            name: each.format_map(places) if isinstance(each, str) else each(made) for name, each in row.outputs.items()
        }
        return Record(made.id, row.token, without_none(made.inputs), without_none({**answered, **own}))

    def _foreseen(
        self,
        row: Resource[CloudT],
        inputs: Properties,
        old_inputs: Properties | None = None,
        old_state: Properties | None = None,
    ) -> Properties:
        """The state as far as it is known before the request; an update keeps what it had."""
        given = self.schema.inputs(row.token).properties
        always = {*self.answers, *row.unknown}
        later = [key for key in (*self.answers, *row.outputs) if key not in given or key in always]
        state = {**dict.fromkeys(later, UNKNOWN), **inputs}
        state |= {key: UNKNOWN for key in row.unknown if not isinstance(inputs.get(key), str)}
        if old_inputs is not None and old_state is not None:
            kept = (key for key in later if old_inputs.get(key) == inputs.get(key) and key in old_state)
            return {**state, **{key: old_state[key] for key in kept}}
        places = self.place(row, inputs)
        for key in row.early:
            template = row.outputs[key]
            if isinstance(template, str) and all(isinstance(places.get(name), str) for name in row.address):
                state[key] = template.format_map(places)
        return state

    def _started(self, row: Resource[CloudT], record: Record, before: Record | None, doing: str) -> Record:
        """Start what does not run yet: the resource itself, and what is declared inside it."""
        if row.lives is None:
            return self._inside(row, record)
        with _kept(record, f"error {doing} {row.lives.what} {record.id}"):
            started = row.lives.start(self._cloud, record, before)
            self._cloud.store.put(started)
            return self._inside(row, started)

    def _inside(self, row: Resource[CloudT], record: Record) -> Record:
        for each in row.inside(record.inputs):
            if each.kept:
                inner = self.row(each.token)
                made = self.made(inner, without_none(each.inputs))
                made = replace(made, before=self._cloud.store.get(made.id))
                self._look(inner, made)
                part = self._record(inner, made)
                self._cloud.store.put(part)
                if inner.lives:
                    inner.lives.start(self._cloud, part, made.before)
        return record

    def _end(self, record: Record) -> None:
        row = self.rows.get(record.type)
        if row is not None and row.lives is not None:
            row.lives.stop(self._cloud, record)
        self._cloud.store.remove(record.id)

    def _parts(self, record: Record) -> Iterator[Record]:
        """What goes with ``record``: the innermost first."""
        below = f"{record.id.lower()}/"
        parts = [each for each in self._cloud.store.everything() if each.id.lower().startswith(below)]
        parts += [each for each in self._tied(record, "part") if each not in parts]
        yield from sorted(parts, key=lambda each: each.id.count("/"), reverse=True)

    def _tied(self, record: Record, tie: str) -> Iterator[Record]:
        """The resources that name ``record`` in an input of that tie."""
        for other in self._cloud.store.everything():
            row = self.rows.get(other.type)
            for path, refers in row.refers.items() if row else ():
                if (refers.token, refers.tie) == (record.type, tie) and self._names(other, path, refers, record):
                    yield other

    def _names(self, other: Record, path: str, refers: Refers, record: Record) -> bool:
        return any(
            self.target(path, refers, value, other.inputs).lower() == record.id.lower()
            for value in values_at(other.inputs, path)
        )


@contextmanager
def _kept(record: Record, doing: str) -> Iterator[None]:
    """The API made the resource before its start failed; the provider keeps it in its state too."""
    try:
        yield
    except Exception as error:
        raise ProviderError(f"{doing}: {error}", partial=Created(record.id, record.state)) from error


def table(rows: Sequence[Resource[Any]]) -> Mapping[str, Resource[Any]]:
    """Rows by their type."""
    return {row.token: row for row in rows}
