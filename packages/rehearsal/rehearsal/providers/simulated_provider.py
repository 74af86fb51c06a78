"""One provider for every cloud: creates, changes and deletes simulated resources, which are rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

from typing_extensions import override

from facts.concepts.unknown import UNKNOWN
from rehearsal.providers.base import (
    CallContext,
    CheckFailure,
    Created,
    Diff,
    Previous,
    Properties,
    Provider,
    ProviderError,
    at,
    without_none,
)
from rehearsal.providers.cloud import Record
from rehearsal.providers.differences import Comparison, diff
from rehearsal.providers.encrypted import ENCRYPTED
from rehearsal.providers.resource import (
    CloudT,
    NestedResource,
    Pending,
    Reference,
    SimulatedResource,
    Tie,
    values_at,
)
from rehearsal.providers.rules import broken
from rehearsal.providers.vendor import Action, Vendor

T = TypeVar("T")


def _with(inputs: Properties, paths: Sequence[str], others: Properties) -> Properties:
    """``inputs`` with what ``others`` have at these paths, in blocks that both have."""
    result = copy.deepcopy(inputs) if paths else inputs
    for path in paths:
        parent, _, last = path.rpartition(".")
        block, other = (at(each, parent) if parent else each for each in (result, others))
        if isinstance(block, dict) and isinstance(other, dict):
            block.pop(last, None)
            if other.get(last) is not None:
                block[last] = copy.deepcopy(other[last])
    return result


def simulated(plugin: str, what: str, name: str, known: Mapping[str, T]) -> T:
    """The entry for ``name``, which is a ``what`` (``resource type``, ``function``) of ``plugin``.

    Raises ProviderError: it is not simulated; the message lists those that are.
    """
    if name not in known:
        raise ProviderError(f"{plugin}: {what} {name} is not simulated; the rehearsal knows {', '.join(sorted(known))}")
    return known[name]


class SimulatedProvider(Vendor[CloudT]):
    """One simulated cloud, whose resources are in ``directory`` and whose machines are ``fleet``'s.

    A cloud's subclass brings what ``Vendor`` asks for.

    Args:
        directory: holds ``<plugin>.json``; made if it is not there. Several processes may share it.
        fleet: gets the clusters and pools; ``None`` where programs are only previewed.
        catalog: machines, GPUs, zones and prices; the project's own by default.
    """

    # The engine's calls.

    @override
    def instance(self) -> Provider:
        return copy.copy(self)

    @override
    def knows(self, type: str) -> bool:
        return type in self.rows

    @override
    def inventory(self) -> list[str]:
        return [f"{each.type} {each.id}" for each in self._cloud.store.everything() if each.type != ENCRYPTED]

    @override
    def configure(self, config: Properties) -> None:
        known = {key: config[key] for key in self.settings if config.get(key) not in (None, UNKNOWN)}
        self._cloud = replace(self._cloud, config=known)
        if self._order is not None:
            self._order.watch()

    @override
    def check(self, request: CallContext, olds: Properties, news: Properties) -> tuple[Properties, list[CheckFailure]]:
        row = self.row(request.type)
        inputs = row.with_defaults(without_none(copy.deepcopy(news)), olds)
        if row.name and inputs.get(row.name) is None:
            inputs[row.name] = olds.get(row.name) or self.auto_name(row, request, inputs)
        inputs = without_none(row.derive_inputs(self._cloud, self.with_provider_defaults(row, inputs)))
        return inputs, self.failures(row, inputs)

    @override
    def diff(self, request: CallContext, id: str, before: Previous, news: Properties, ignored: tuple[str, ...]) -> Diff:
        row = self.row(request.type)
        conditional = (path for path, must in row.replaces_if.items() if must(before.inputs, news))
        replaces = (*self.address(row), *row.replaces, *conditional)
        compared = Comparison(replaces, row.computed, row.links, row.unordered, self.absent)
        sent = _with(before.inputs, row.silent, before.state)
        input_diff = diff(compared, sent, news, ignored)
        replaced = bool(input_diff.replaces)
        first = replaced and (row.deletes_first or self.deletes_first(row, request, before.inputs, news))
        return replace(input_diff, delete_before_replace=first)

    def operation(self, request: CallContext, id: str, action: str) -> AbstractContextManager[None]:
        """Meanwhile the resource ``id`` is made or changed (``action``): the cloud may refuse others with it."""
        return nullcontext()

    @override
    def create(self, request: CallContext, inputs: Properties, timeout: float) -> Created:
        row = self.row(request.type)
        self._enforce(row, inputs)
        if request.preview:
            return Created("", self._foreseen(row, inputs))
        pending = self.new_resource(row, without_none(inputs))
        self._require_permission(row, "create", pending.id)
        existing = self._cloud.find(pending.id, row.token) if row.idempotent(inputs) else None
        if existing is None:
            if row.lifecycle:
                self._cloud.machines()
            with self._cloud.store.held():
                self.require(row, pending)
                existing = self.recorded(row, self.make(row, pending))
                self._cloud.store.put(existing)
            existing = self._started(row, existing, None, "creating")
            self.changed(row)
        return Created(existing.id, existing.state)

    @override
    def found(self, request: CallContext, inputs: Properties) -> Created:
        row = self.row(request.type)
        if row.lifecycle is None or self._cloud.fleet is not None:
            return super().found(request, inputs)
        # A preview has no machines, and reads what there is.
        for each in (NestedResource(row.token, inputs), *row.nested(inputs)):
            inner = self.row(each.token)
            self._cloud.store.put(self.recorded(inner, self.new_resource(inner, without_none(each.inputs))))
        return self.read(request, self.new_resource(row, inputs).id, inputs, {})

    @override
    def read(self, request: CallContext, id: str, inputs: Properties, state: Properties) -> Created:
        row = self.row(request.type)
        with self._cloud.store.held():
            record = self._cloud.find(id, row.token)
            record = record and self.current(row, record)
        if record is None:
            return Created("", {})
        # An import has no inputs and gets all live ones.
        live = {key: record.inputs.get(key) for key in inputs} if inputs else row.imported(record.inputs)
        return Created(record.id, record.state, without_none(live))

    @override
    def update(self, request: CallContext, id: str, before: Previous, news: Properties, timeout: float) -> Properties:
        row = self.row(request.type)
        self._enforce(row, news)
        if request.preview:
            self._require_unchanged(row, before.inputs, news)
            return self._foreseen(row, news, before.inputs, before.state)
        self._require_permission(row, "update", id)
        with self._cloud.store.held():
            existing = self._cloud.find(id, row.token)
            if existing is None or self.current(row, existing) is None:
                raise self.cloud_errors.missing_resource(self._cloud, row, id)
            self._require_unchanged(row, existing.inputs, news)
            sent = _with(without_none(copy.deepcopy(news)), row.silent, existing.inputs)
            sent = row.with_kept(sent, existing.inputs)
            pending = Pending(self._cloud, existing.id, sent, existing, deployed=before.inputs)
            self.require(row, pending)
            record = self.recorded(row, self.change(row, pending))
            self._cloud.store.put(record)
        record = self._started(row, record, existing, "updating")
        self.changed(row)
        return record.state

    @override
    def delete(self, request: CallContext, id: str, inputs: Properties, state: Properties, timeout: float) -> None:
        row = self.row(request.type)
        record = self._cloud.find(id, row.token)
        if record is None:
            return
        self._require_permission(row, "delete", id)
        self.with_retries(lambda: self._require_unused(row, record))
        for each in (*self._parts(record), record):
            self._end(each)

    @override
    def invoke(self, token: str, args: Properties) -> Properties:
        return simulated(self.name, "function", token, self.functions)(self._cloud, args)

    # A resource's life.

    def row(self, type: str) -> SimulatedResource[CloudT]:
        """The row of a resource type, or an error that names the type."""
        return simulated(self.name, "resource type", type, self.rows)

    def new_resource(self, row: SimulatedResource[CloudT], inputs: Properties) -> Pending[CloudT]:
        """A new resource with its future id."""
        return Pending(self._cloud, row.id.format_map(self.place(row, inputs)), inputs)

    def address(self, row: SimulatedResource[CloudT]) -> tuple[str, ...]:
        """The inputs that say where a resource is."""
        known = self.schema.inputs(row.token).properties
        return tuple(name for name in row.address if name in known)

    def _enforce(self, row: SimulatedResource[CloudT], inputs: Properties) -> None:
        """Raise the first broken rule; rules about values that are not known yet wait for the update."""
        message = broken((*self.rules_for_all_types, *row.rules), inputs, self._cloud)
        if message:
            raise self.cloud_errors.bad_request(self._cloud, row, message)
        for each in row.nested(inputs):
            self._enforce(self.row(each.token), each.inputs)

    def _require_permission(self, row: SimulatedResource[CloudT], action: Action, id: str) -> None:
        permission = self.permission(row, action)
        if permission and not self._cloud.account_limits.may(permission):
            raise self.cloud_errors.forbidden(self._cloud, row, permission, id)

    def _require_unchanged(self, row: SimulatedResource[CloudT], old: Properties, new: Properties) -> None:
        self.require_unchanged(row, old, new, nested=False)
        before = {self._called(each): each.inputs for each in row.nested(old)}
        for each in row.nested(new):
            inner = self.row(each.token)
            if self._called(each) in before:
                self.require_unchanged(inner, before[self._called(each)], each.inputs, nested=True)

    def _called(self, each: NestedResource) -> tuple[str, Any]:
        return each.token, each.inputs.get(self.address(self.row(each.token))[-1])

    def require(self, row: SimulatedResource[CloudT], pending: Pending[CloudT]) -> None:
        """Raise the cloud's error if what the inputs refer to does not exist or conflicts with them."""
        for path, references in row.references.items():
            for value in values_at(pending.inputs, path):
                id = self.target(path, references, value, pending.inputs)
                if self._cloud.find(id, references.token) is None:
                    raise self.cloud_errors.missing_reference(self._cloud, references, value, id)
        row.requires(pending)

    def _require_unused(self, row: SimulatedResource[CloudT], record: Record) -> None:
        """Raise the cloud's error if a resource cannot be deleted now."""
        row.require_deletable(self._cloud, record)
        parts = list(self._parts(record))
        going = {(each.type, each.id) for each in (*parts, record)}
        for each in (record, *parts):
            user = next((user for user in self._tied(each, "uses") if (user.type, user.id) not in going), None)
            if user is not None:
                raise self.cloud_errors.in_use(self._cloud, row, record.id, user.id)

    def recorded(self, row: SimulatedResource[CloudT], pending: Pending[CloudT]) -> Record:
        """The record of a resource, with what the cloud adds to its inputs."""
        common_outputs = self.common_outputs(row, pending.inputs)
        places = {**self.place(row, pending.inputs), "id": pending.id}
        sent = replace(pending, inputs=row.sent(pending.inputs))
        own = {
            name: each.format_map(places) if isinstance(each, str) else each(sent) for name, each in row.outputs.items()
        }
        return Record(pending.id, row.token, without_none(pending.inputs), without_none({**common_outputs, **own}))

    def _foreseen(
        self,
        row: SimulatedResource[CloudT],
        inputs: Properties,
        old_inputs: Properties | None = None,
        old_state: Properties | None = None,
    ) -> Properties:
        """The state as far as it is known before the request; an update keeps what is ``stable``."""
        declared = self.schema.inputs(row.token).properties
        always = {*self.common_output_names, *(path.partition(".")[0] for path in row.unknown)}
        later = [key for key in (*self.common_output_names, *row.outputs) if key not in declared or key in always]
        state = {**dict.fromkeys(later, UNKNOWN), **inputs}
        for path in row.unknown:
            key, _, inner = path.partition(".")
            if inner and isinstance(state[key], dict):
                state[key] = {**state[key], inner: UNKNOWN}
            elif inner and isinstance(state[key], list):
                state[key] = [{**each, inner: UNKNOWN} if isinstance(each, dict) else each for each in state[key]]
            elif isinstance(state[key], dict):
                state[key] = UNKNOWN
        if old_inputs is not None and old_state is not None:
            new = row.recomputed(old_inputs, inputs)
            stable = later if self.stable is None else [key for key in later if key in self.stable]
            unchanged = (key for key in stable if old_inputs.get(key) == inputs.get(key) and key not in new)
            state |= {key: old_state[key] for key in unchanged if key in old_state}
        places = self.place(row, inputs)
        for key in row.early:
            template = row.outputs[key]
            if not isinstance(template, str):
                state[key] = template(Pending(self._cloud, "", inputs))
            elif all(isinstance(places.get(name), str) for name in row.address):
                state[key] = template.format_map(places)
        return state

    def _started(self, row: SimulatedResource[CloudT], record: Record, before: Record | None, action: str) -> Record:
        """Start what does not run yet: the resource itself, and what is declared inside it."""
        if row.lifecycle is None:
            return self._inside(row, record)
        try:
            started = row.lifecycle.start(self._cloud, record, before)
            self._cloud.store.put(started)
            return self._inside(row, started)
        except Exception as error:
            # The API made the resource before its start failed; the provider keeps it in its state too.
            message = f"{self.failure_prefix(row.lifecycle.what, record.id, action)}: {error}"
            raise ProviderError(message, partial=Created(record.id, record.state)) from error

    def _inside(self, row: SimulatedResource[CloudT], record: Record) -> Record:
        for each in row.nested(record.inputs):
            if each.recorded:
                inner = self.row(each.token)
                pending = self.new_resource(inner, without_none(each.inputs))
                pending = replace(pending, before=self._cloud.store.get(inner.token, pending.id))
                self.require(inner, pending)
                part = self.recorded(inner, pending)
                self._cloud.store.put(part)
                if inner.lifecycle:
                    inner.lifecycle.start(self._cloud, part, pending.before)
        return record

    def _end(self, record: Record) -> None:
        row = self.rows.get(record.type)
        if row is not None and row.lifecycle is not None:
            row.lifecycle.stop(self._cloud, record)
        with self._cloud.store.held():
            if row is not None:
                self.remove(row, record)
            self._cloud.store.remove(record.type, record.id)

    def _parts(self, record: Record) -> Iterator[Record]:
        """What goes with ``record``: the innermost first."""
        below = f"{record.id.lower()}/"
        everything = self._cloud.store.everything() if self.ids_are_paths else ()
        parts = [each for each in everything if each.id.lower().startswith(below)]
        parts += [each for each in self._tied(record, "part") if each not in parts]
        yield from sorted(parts, key=lambda each: each.id.count("/"), reverse=True)

    def _tied(self, record: Record, tie: Tie) -> Iterator[Record]:
        """The resources that name ``record`` in an input of that tie."""
        for other in self._cloud.store.everything():
            row = self.rows.get(other.type)
            for path, references in row.references.items() if row else ():
                values = values_at(other.inputs, path) if references == Reference(record.type, tie) else ()
                named = (self.target(path, references, value, other.inputs).lower() for value in values)
                if record.id.lower() in named:
                    yield other
