"""The version that people run, and what CHANGELOG.md says of an upgrade from it."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packages.rehearsal.tests.upgrade.deployment import Change
from packages.rehearsal.tests.upgrade.program import Program
from rehearsal.engine.changed_stacks import export
from rehearsal.engine.stack import ROOT

_SECTION: Final = re.compile(r"^### Upgrading from (?P<version>\S+)\n(?P<text>.*?)(?=^##)", re.MULTILINE | re.DOTALL)
_COMMIT: Final = re.compile(r"\bcommit `([0-9a-f]{40})`")
_CODE: Final = re.compile(r"`([^`]+)`")
_TYPE: Final = re.compile(r"[\w-]+:[\w./-]+:\w+")
EVERYWHERE: Final = "every cloud"


@dataclass(frozen=True)
class Row:
    """One change on purpose: ``codes`` are the resource types, inputs and rules that it names, ``where`` the clouds.

    What is not updated but created, replaced or deleted has that word as a code.
    """

    what: str
    codes: frozenset[str]
    where: frozenset[str]

    def explains(self, change: Change, cloud: str) -> bool:
        """Whether it names the type and, of an update, everything that differs."""
        named = change.op == "update" or change.op in self.codes
        return self.of(cloud) and named and change.type in self.codes and all(map(self._names, change.paths))

    @property
    def about_resources(self) -> bool:
        """Whether it names a resource type. Rows about refusals, pipelines and packages do not."""
        return any(map(_TYPE.fullmatch, self.codes))

    def of(self, cloud: str) -> bool:
        """Whether it is about a cloud."""
        return cloud in self.where or EVERYWHERE in self.where

    def _names(self, path: str) -> bool:
        return any(path == code or path.startswith((f"{code}.", f"{code}[")) for code in self.codes)


def _section() -> re.Match[str]:
    section = _SECTION.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert section is not None, "CHANGELOG.md has no section `### Upgrading from`"
    return section


@functools.cache
def rows() -> tuple[Row, ...]:
    """The table of the section."""
    lines = [line.strip("| ").split(" | ") for line in _section()["text"].splitlines() if line.startswith("| ")]
    header, *content = lines
    assert header == ["what changes", "where", "what it does to what runs", "to keep the old, or what to do"]
    assert all(len(cells) == len(header) and all(cells) for cells in content)
    return tuple(
        Row(what, frozenset(_CODE.findall(what)), frozenset(where.replace("`", "").split(", ")))
        for what, where, *_ in content
    )


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
    """Rows about resources that explain nothing in any of the ``updates``: pairs of a cloud and its changes."""
    left = [row for row in candidates if row.about_resources]
    if left:
        for cloud, changes in updates:
            made = [*changes]
            left = [row for row in left if not any(row.explains(each, cloud) for each in made)]
    return [row.what for row in left]


def unexplained(changes: Iterable[Change], cloud: str) -> list[Change]:
    """The changes that no row of the table explains."""
    return [each for each in changes if not any(row.explains(each, cloud) for row in rows())]
