"""A cloud's tables: ``resources.yaml`` has what is data about its resource types, ``rules.yaml`` what it refuses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Generic, cast

import yaml

from rehearsal.providers.resource import CloudT, Pending, Reference, SimulatedResource, Tie
from rehearsal.providers.rules import Check, ServerRule, declared_rule, no_check


class Table(Generic[CloudT]):
    """The tables in a cloud's ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._resources, self.declared_rules = _read(folder / "resources.yaml"), _read(folder / "rules.yaml")
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

    def row(self, token: str, **code: Any) -> SimulatedResource[CloudT]:
        """A resource type: its entry in the table, and what is code.

        An entry has the fields of ``SimulatedResource``, and:

        - ``outputs`` that are not text are constants; those of ``code`` come on top;
        - ``answers``: outputs that are the input, or this value if it is omitted;
        - ``references``: path → token, or tie and token;
        - ``replaces``, ``unordered``: ``{a: [b, c]}`` stands for ``a.b`` and ``a.c``;
        - ``imported``: what an import finds for omitted inputs; ``null``: it does not find this input;
        - ``rules``: their name in ``rules.yaml``.
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
        entry.pop("rules", "")
        lists = {key: tuple(_flat(value)) for key, value in entry.items() if isinstance(value, list)}
        return {**entry, **lists, **code}

    def output(self, declared: Any) -> str | Callable[[Pending[CloudT]], Any]:
        """A template or a constant."""
        return declared if isinstance(declared, str) else lambda _: declared


def _read(file: Path) -> Any:
    # Written in C: every preview waits for it.
    return yaml.load(file.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _reference(text: str) -> Reference:
    tie, _, token = text.rpartition(" ")
    return Reference(token, cast("Tie", tie or "uses"))


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
