"""A cloud's tables: ``resources.yaml`` has what is data about its resource types, ``rules.yaml`` what it refuses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Generic, cast

import yaml

from rehearsal.providers.resource import CloudT, Pending, Reference, SimulatedResource, Tie
from rehearsal.providers.rules import RuleBook


class Table(Generic[CloudT]):
    """The tables in a cloud's ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._resources, self._rules = _read(folder / "resources.yaml"), _read(folder / "rules.yaml")

    def rules(self, name: str) -> RuleBook[CloudT]:
        """The rules under ``name``; the module that asks adds the checks that are code."""
        return RuleBook(self._rules[name])

    def id(self, token: str) -> str:
        """The template of a resource type's id."""
        return str(self._resources[token]["id"])

    def row(self, token: str, **code: Any) -> SimulatedResource[CloudT]:
        """A resource type: its entry in the table, and what is code.

        An entry has the fields of ``SimulatedResource``, and:

        - ``outputs`` that are not text are constants; those of ``code`` come on top;
        - ``answers``: outputs that are the input, or this value if it is omitted;
        - ``references``: path → token, or tie and token;
        - ``replaces``, ``unordered``: ``{a: [b, c]}`` stands for ``a.b`` and ``a.c``;
        - ``imported``: what an import finds for omitted inputs;
        - ``rules``: their name in ``rules.yaml``, where none of them needs code.
        """
        entry = dict(self._resources[token])
        outputs = {key: _output(value) for key, value in entry.pop("outputs", {}).items()}
        answers = {key: _answer(key, value) for key, value in entry.pop("answers", {}).items()}
        entry["outputs"] = {**outputs, **answers, **code.pop("outputs", {})}
        entry["references"] = {path: _reference(text) for path, text in entry.pop("references", {}).items()}
        if "imported" in entry:
            imported = entry["imported"]
            entry["imported"] = lambda inputs: {**imported, **inputs}
        if "rules" in entry:
            entry["rules"] = self.rules(entry["rules"]).rules
        lists = {key: tuple(_flat(value)) for key, value in entry.items() if isinstance(value, list)}
        return SimulatedResource(token=token, **{**entry, **lists, **code})


def _read(file: Path) -> Any:
    # Written in C: every preview waits for it.
    return yaml.load(file.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _reference(text: str) -> Reference:
    tie, _, token = text.rpartition(" ")
    return Reference(token, cast("Tie", tie or "uses"))


def _output(value: Any) -> str | Callable[[Pending[Any]], Any]:
    return value if isinstance(value, str) else lambda _: value


def _answer(key: str, default: Any) -> Callable[[Pending[Any]], Any]:
    return lambda pending: pending.inputs.get(key) or default


def _flat(paths: list[Any]) -> Iterator[Any]:
    for each in paths:
        if isinstance(each, dict):
            yield from (f"{key}.{path}" for key, below in each.items() for path in _flat(below))
        else:
            yield each


def manifests(folder: Path, *names: str) -> list[dict[str, Any]]:
    """Copies of the objects in ``<name>.yaml`` of the folder, in the order of the names."""
    return [copy.deepcopy(each) for name in names for each in _documents(folder / f"{name}.yaml")]


@cache
def _documents(file: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(file.read_text("utf-8")) if document]
