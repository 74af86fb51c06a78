"""The version that people run, and what CHANGELOG.md says of an upgrade from it."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packages.rehearsal.tests.upgrade.deployment import Change
from packages.rehearsal.tests.upgrade.program import Program
from rehearsal.engine.changed_stacks import export
from rehearsal.engine.stack import ROOT

_SECTION: Final = re.compile(r"^### Upgrading from (?P<version>\S+)\n(?P<text>.*?)(?=^###? )", re.MULTILINE | re.DOTALL)
_COMMIT: Final = re.compile(r"\bcommit `([0-9a-f]{40})`")
_TITLED: Final = re.compile(r"^#### (.+)\n((?:(?!#### ).*\n)*)", re.MULTILINE)
_CODE: Final = re.compile(r"`([^`]+)`")
_PREVIEW: Final = "What the preview shows"
EVERYWHERE: Final = "all"


@dataclass(frozen=True)
class Row:
    """One change on purpose: ``where`` are the clouds, ``codes`` the resource types, inputs and rules that it names.

    A Kubernetes type is its kind. What is not updated but created, replaced or deleted has that word as a code.
    """

    where: frozenset[str]
    what: str
    previewed: bool = True
    """Whether it explains a difference of resources: it is in the table that does."""

    @property
    def codes(self) -> frozenset[str]:
        """The words in backticks."""
        return frozenset(_CODE.findall(self.what))

    def explains(self, change: Change, cloud: str) -> bool:
        """Whether it names the type and, of an update, everything that differs."""
        named = {change.op, _type(change)} - {"update"} <= self.codes
        return self.previewed and self.of(cloud) and named and all(self._naming(path) for path in change.paths)

    def used(self, change: Change) -> frozenset[str]:
        """The codes that it explains a change by."""
        return frozenset((change.op, _type(change))).union(*map(self._naming, change.paths)) & self.codes

    def of(self, cloud: str) -> bool:
        """Whether it is about a cloud."""
        return cloud in self.where or EVERYWHERE in self.where

    def _naming(self, path: str) -> frozenset[str]:
        return frozenset(code for code in self.codes if path == code or path.startswith((f"{code}.", f"{code}[")))


def _type(change: Change) -> str:
    return change.type.rpartition(":")[2] if change.type.startswith("kubernetes:") else change.type


def _section() -> re.Match[str]:
    section = _SECTION.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert section is not None, "CHANGELOG.md has no section `### Upgrading from`"
    return section


@functools.cache
def rows() -> tuple[Row, ...]:
    """The tables of the section."""
    return tuple(row for table in tables().values() for row in table)


@functools.cache
def tables() -> dict[str, tuple[Row, ...]]:
    """The same, by title."""
    return {title: tuple(_rows(title, text)) for title, text in _TITLED.findall(_section()["text"])}


def _rows(title: str, text: str) -> Iterator[Row]:
    header, *content = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert header[0] == "where"
    for cells in content:
        assert len(cells) == len(header)
        assert all(cells)
        yield Row(frozenset(cells[0].split(", ")), cells[1], title == _PREVIEW)


def commit() -> str:
    """The tag of the version that the section names, or its commit while there is no tag."""
    section = _section()
    named = _COMMIT.search(section["text"])
    return named[1] if named else f"v{section['version']}"


@functools.cache
def released() -> Path:
    """The project as that version has it, exported once. Raises ``NoSuchCommit``, with what to do."""
    place = ROOT / "build" / "released" / commit()
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as folder:
            export(commit(), Path(folder) / "project")
            try:
                (Path(folder) / "project").rename(place)
            except OSError:  # another process was first
                assert place.is_dir()
    return place


@functools.cache
def program(project: Path) -> Program:
    """The program of a version, in one process for all tests of this one."""
    return Program(project)


def unused(candidates: Iterable[Row], updates: Iterable[tuple[str, Iterable[Change]]]) -> list[str]:
    """Codes by which a row explains nothing in any of the ``updates``: pairs of a cloud and its changes."""
    left = {row: row.codes for row in candidates if row.previewed}
    for cloud, changes in updates:
        for change in changes:
            left |= {row: codes - row.used(change) for row, codes in left.items() if row.explains(change, cloud)}
    return [f"{code}: {row.what}" for row, codes in left.items() for code in sorted(codes)]


def unexplained(changes: Iterable[Change], cloud: str) -> list[Change]:
    """The changes that no row explains."""
    return [each for each in changes if not any(row.explains(each, cloud) for row in rows())]
