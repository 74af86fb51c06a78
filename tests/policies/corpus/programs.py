"""Reads the corpus: programs in YAML, close to Pulumi's, and what the gate has to say to each.

A file in ``cases/`` lists cases; its ``shared`` values are there for YAML's own references. A case has an ``id``, a
``story`` (how a person comes to write this), a ``program``, and

- ``refused_by``: the rule that must report a violation,
- ``not_evaluated``: words of the reason for which the gate must say that it cannot judge the program, or
- neither: no mandatory rule may report anything. ``silent`` names a rule that may not report anything either.

``limits`` are those of the rule, ``pools`` the gate's configuration of pools that another program declares.

A resource of a program has a ``type``, a ``name`` (``gpu`` if left out) and ``inputs``, or is one of ``shared.yaml`` by
its name, or is ``like`` one with other inputs (a JSON merge patch, RFC 7396). An input that is null is left out. The
value ``${resource}`` is an output of that resource, unknown until the update; ``${unknown}`` is one of another program.
``links`` are outputs whose value is known: ``[resource, input, its source]``. ``!json`` and ``!base64`` encode a text.
"""

from __future__ import annotations

import base64
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Case, Resource
from tests.yaml_file import LOADER

_FOLDER: Final = Path(__file__).parent


class _Loader(LOADER):
    pass


def _json(loader: _Loader, node: yaml.MappingNode) -> str:
    return json.dumps(loader.construct_mapping(node, deep=True))


def _base64(_: _Loader, node: yaml.ScalarNode) -> str:
    return base64.b64encode(node.value.encode()).decode()


_Loader.add_constructor("!json", _json)
_Loader.add_constructor("!base64", _base64)


def loaded(file: Path) -> Any:
    """What a file says in the corpus' YAML."""
    return yaml.load(file.read_text(), _Loader)


_KEYS: Final = {"id", "story", "program", "refused_by", "not_evaluated", "silent", "limits", "pools", "links"}
_SHARED: Final[dict[str, Any]] = loaded(_FOLDER / "shared.yaml")


@functools.cache
def read_cases() -> list[Case]:
    """All cases of all files."""
    files = sorted((_FOLDER / "cases").glob("*.yaml"))
    return [read_case(row) for file in files for row in loaded(file)["cases"]]


def read_case(row: dict[str, Any]) -> Case:
    """One case."""
    if unknown := row.keys() - _KEYS:
        raise ValueError(f"case {row['id']} has unknown keys {sorted(unknown)}; there are {sorted(_KEYS)}")
    rows = list(_expanded(row["program"]))
    names = {each.get("name", "gpu") for each in rows}
    links = [link for each in rows for link in _links(each, names)]
    return Case(
        id=row["id"],
        resources=tuple(_resource(each) for each in rows),
        verdict="refused" if "refused_by" in row else "not evaluated" if "not_evaluated" in row else "allowed",
        rule=row.get("refused_by") or row.get("silent"),
        limits=row.get("limits", {}),
        links=(*links, *(tuple(link) for link in row.get("links", ()))),
        pools=row.get("pools", {}),
        reason=row.get("not_evaluated", ""),
    )


def _expanded(rows: list[Any]) -> Iterator[dict[str, Any]]:
    """The resources, those by name from the shared ones; a shared list of names is all of these."""
    for row in rows:
        if isinstance(row, str):
            shared = _SHARED[row]
            yield from _expanded(shared) if isinstance(shared, list) else (shared,)
        elif "like" in row:
            yield _patched(_SHARED[row["like"]], {key: value for key, value in row.items() if key != "like"})
        else:
            yield row


def _patched(value: Any, patch: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(patch, dict):
        return patch
    merged = {**value, **{key: _patched(value.get(key), change) for key, change in patch.items()}}
    return {key: part for key, part in merged.items() if part is not None}


def _resource(row: dict[str, Any]) -> Resource:
    return row["type"], row.get("name", "gpu"), _with_unknowns(row.get("inputs", {}))


def _with_unknowns(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_unknowns(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_with_unknowns(part) for part in value]
    return UNKNOWN if _source(value) else value


def _links(row: dict[str, Any], names: set[str]) -> Iterator[tuple[str, str, str]]:
    """``(resource, input, resource whose output it is)`` for each ``${resource}`` of the program."""

    def sources(value: Any) -> Iterator[str]:
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from sources(part)
        if source := _source(value):
            yield source

    for key, value in row.get("inputs", {}).items():
        yield from ((row.get("name", "gpu"), key, source) for source in sources(value) if source in names)


def _source(value: Any) -> str:
    """The resource whose output a value is; empty for other values."""
    output = re.fullmatch(r"\$\{([\w-]+)\}", value) if isinstance(value, str) else None
    return output[1] if output else ""


@dataclass(frozen=True)
class Trio:
    """A program with one open value, ``${value}``: the rule refuses it with the first and allows it with the second.

    ``no_unknown``: why the rule reports nothing while the value is unknown; ``unknown_refused``: why it refuses it.
    """

    rule: str
    program: list[Any]
    refused: Any
    allowed: Any
    unknown: Any = "${unknown}"
    no_unknown: str = ""
    unknown_refused: str = ""
    limits: dict[str, Any] = field(default_factory=dict)

    def case(self, value: Any) -> Case:
        """The program with this value."""
        program = _filled(self.program, value)
        return read_case({"id": self.rule, "silent": self.rule, "program": program, "limits": self.limits})


def _filled(part: Any, value: Any) -> Any:
    if isinstance(part, dict):
        return {key: _filled(each, value) for key, each in part.items()}
    if isinstance(part, list):
        return [_filled(each, value) for each in part]
    return value if part == "${value}" else part


def read_trios() -> tuple[list[Trio], dict[str, str]]:
    """The trios, and the rules that have none: rule → why."""
    read = loaded(_FOLDER / "trios.yaml")
    return [Trio(**row) for row in read["trios"]], read["without"]
