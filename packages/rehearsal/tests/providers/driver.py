"""Drives a cloud's simulated provider: the engine's calls in the engine's order."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.noting_fleet import NotingFleet
from rehearsal.providers.base import CallContext, Created, Diff, Previous, Properties, ProviderError
from rehearsal.providers.cloud import Store
from rehearsal.providers.simulated_provider import SimulatedProvider
from tests.yaml_file import read_yaml


@dataclass(frozen=True)
class Of:
    """An input of a step that the cloud chose: an output, by its path, of the first or ``nth`` resource of a type."""

    type: str
    output: str = "id"
    nth: int = 0


@dataclass(frozen=True)
class Step:
    """One resource that can be made after the steps before it.

    ``update`` changes it in place, ``replace`` cannot (``None``: there is no such change). ``again`` is what comes of
    making it twice: the second is refused, or the first is taken as it is, or there is another.
    """

    type: str
    inputs: Properties
    update: Properties | None
    replace: Properties | None
    again: Literal["refused", "same", "another"] = "refused"


class Examples:
    """The ``account.yaml`` of a cloud's folder: its ``inputs``, by name, and its ``steps``."""

    def __init__(self, folder: Path) -> None:
        content = read_yaml(folder / "account.yaml")
        self._inputs: dict[str, Properties] = content["inputs"]
        self.steps = tuple(map(_step, content["steps"]))

    def inputs(self, name: str) -> Callable[..., Properties]:
        """A function that gives the inputs of that name; its keyword arguments replace whole blocks."""
        return lambda **changes: {**copy.deepcopy(self._inputs[name]), **changes}


def _step(row: dict[str, Any]) -> Step:
    inputs = row["inputs"]
    update, replace = ({**inputs, **row[key]} if key in row else None for key in ("update", "replace"))
    return Step(row["type"], inputs, update, replace, row.get("again", "refused"))


class Account:
    """One program's view of a simulated provider; ``restart`` is a new process on the same state."""

    provider_type: ClassVar[type[SimulatedProvider[Any]]]
    settings: ClassVar[dict[str, str]]
    missing: ClassVar[str]
    """What the cloud says about something that is not there, as a pattern."""
    absent: ClassVar[Mapping[str, str]] = {}
    """Names of the cloud's form that nothing has, by the last step of an input's path; else ``nowhere``."""
    in_use: ClassVar[str]
    setting: ClassVar[str] = ""
    """The input that is missing where the provider is not configured."""
    on_disk: ClassVar[bool] = True

    def __init__(self, directory: Path, **config: str) -> None:
        self.directory = directory
        self.fleet = NotingFleet()
        self.config = {**self.settings, **config}
        self.made: list[tuple[str, Created]] = []
        self.provider = self.new_provider()

    @classmethod
    def steps(cls) -> Sequence[Step]:
        """A resource of every type, each after those that it needs."""
        raise NotImplementedError

    @classmethod
    def needed(cls, step: Step) -> Sequence[Step]:
        """The steps that must come before one."""
        every = list(cls.steps())
        return every[: every.index(step)]

    def new_provider(self) -> SimulatedProvider[Any]:
        """The provider of a new process."""
        return self._configured(self.provider_type(self.directory, self.fleet))

    def _configured(self, provider: SimulatedProvider[Any]) -> SimulatedProvider[Any]:
        provider.configure(dict(self.config))
        return provider

    def restart(self) -> None:
        """The next engine."""
        self.provider.close()
        self.provider = self.new_provider()

    def stop(self) -> None:
        self.provider.close()

    def store(self) -> Store:
        """What exists, as another process sees it."""
        return Store(self.directory, self.provider.name)

    def resolved(self, value: Any) -> Any:
        """``value`` with what was made in the place of each ``Of``."""
        if isinstance(value, Of):
            resource = [created for type, created in self.made if type == value.type][value.nth]
            part: Any = {**resource.state, "id": resource.id}
            for key in value.output.split("."):
                part = part[int(key) if isinstance(part, list) else key]
            return part
        if isinstance(value, dict):
            return {key: self.resolved(each) for key, each in value.items()}
        return [self.resolved(each) for each in value] if isinstance(value, list) else value

    def request(self, type: str, name: str = "it", **more: Any) -> CallContext:
        return CallContext(f"urn:pulumi:dev::test::{type}::{name}", type, name, random_seed=name.encode(), **more)

    def check(self, type: str, inputs: Properties, olds: Properties | None = None, name: str = "it") -> Properties:
        accepted, failures = self.provider.check(self.request(type, name), olds or {}, self.resolved(inputs))
        if failures:
            raise ProviderError("; ".join(f"{failure.property}: {failure.reason}" for failure in failures))
        return accepted

    def create(self, type: str, inputs: Properties, name: str = "it") -> Created:
        accepted = self.check(type, inputs, name=name)
        created = self.provider.create(self.request(type, name), accepted, 0)
        self.made.append((type, Created(created.id, created.state, accepted)))
        return self.made[-1][1]

    def refuses(self, type: str, inputs: Properties, words: str) -> None:
        """A creation fails with what matches ``words``."""
        with pytest.raises(ProviderError, match=words):
            self.create(type, inputs)

    def takes(self, type: str, inputs: Properties, refusal: str | None) -> None:
        """A creation succeeds, or fails with what matches ``refusal`` if there is one."""
        if refusal is None:
            assert self.create(type, inputs).id
        else:
            self.refuses(type, inputs, refusal)

    def preview(self, type: str, inputs: Properties) -> Properties:
        accepted = self.check(type, inputs)
        return self.provider.create(self.request(type, preview=True), accepted, 0).state

    def diff(self, type: str, old: Properties, new: Properties, ignored: tuple[str, ...] = ()) -> Diff:
        before = self.check(type, old)
        after = self.check(type, new, before)
        return self.provider.diff(self.request(type), "id", Previous(before, before), after, ignored)

    def update(self, type: str, existing: Created, inputs: Properties, *, preview: bool = False) -> Properties:
        old = existing.inputs or {}
        accepted = self.check(type, inputs, old)
        request = self.request(type, preview=preview)
        return self.provider.update(request, existing.id, Previous(old, existing.state), accepted, 0)

    def delete(self, type: str, existing: Created) -> None:
        self.provider.delete(self.request(type), existing.id, existing.inputs or {}, existing.state, 0)

    def read(self, type: str, id: str, inputs: Properties | None = None) -> Created:
        return self.provider.read(self.request(type), id, inputs or {}, {})


def changed(inputs: Properties, changes: Properties) -> Properties:
    """A copy of ``inputs`` with values at dotted paths replaced."""
    result: Properties = {**inputs}
    for path, value in changes.items():
        key, dot, rest = path.partition(".")
        result[key] = changed(result.get(key) or {}, {rest: value}) if dot else value
    return result


def with_one_unknown(value: Any) -> Iterator[Any]:
    """Copies of ``value`` in which one part, at any depth, is known only at update."""
    parts = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, part in parts:
        for changed in (UNKNOWN, *with_one_unknown(part)):
            copied = copy.copy(value)
            copied[key] = changed
            yield copied
