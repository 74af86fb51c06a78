"""Words that must not come back: as names in the code, and in what people read. CONTRIBUTING.md says how to write."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.stacks import ROOT
from tests.tables import cases

VAGUE_NAMES: Final = frozenset(
    ["found", "given", "gone", "kept", "rung", "rungs", "said", "seen", "told", "twin", "twins", "wanted", "whoever"]
)
"""They say how a value came about. A name says what it is: ``node_group``, ``violations``, ``expected``."""

PROSE: Final = {
    "beforehand": "fixtures, in advance",
    "governor": "autoscaler simulation",
    "rung": "capacity type",
    "rungs": "capacity types, fallback order",
    "sabotage": "fault injection",
    "stand-in": "simulated provider",
    "stand-ins": "simulated providers",
    "thereby": "so, by that",
    "twins": "fallback pools",
    "whoever": "the specific noun: any principal, the user",
}
"""Word → the field's term for it."""

_PROSE: Final = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(PROSE, key=len, reverse=True))})(?![\w-])", re.IGNORECASE)
_THIS: Final = Path(__file__).resolve()


def _tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [file for line in listed.splitlines() if (file := ROOT / line).exists() and file.stem != _THIS.stem]


def defined_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Functions, classes, parameters, variables and attributes that a module defines, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case _:
                pass


def vague(names: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those that are only such a word, with or without a leading underscore."""
    return [(name, line) for name, line in names if name.strip("_").lower() in VAGUE_NAMES]


def foreign(text: str) -> list[str]:
    """Words of ``PROSE`` in a text, in lower case."""
    return [word.lower() for word in _PROSE.findall(text)]


def test_names_say_what_a_value_is() -> None:
    trees = {file.relative_to(ROOT): ast.parse(file.read_text(encoding="utf-8")) for file in _tracked("*.py")}
    violations = [f"{file}:{line}: {name}" for file, tree in trees.items() for name, line in vague(defined_names(tree))]
    assert violations == [], "a name says what the value is, not how it came about"


def test_modules_and_folders_are_named_for_what_they_hold() -> None:
    files = _tracked("*.py")
    parts = {part for file in files for part in file.relative_to(ROOT).with_suffix("").parts}
    assert vague((part, 0) for part in parts) == []


@pytest.mark.parametrize("pattern", ["*.md", "*.py", "*.yaml", "*.yml", "*.csv"])
def test_texts_use_the_terms_of_the_field(pattern: str) -> None:
    lines = {file: file.read_text(encoding="utf-8").splitlines() for file in _tracked(pattern)}
    places = [(f"{file.relative_to(ROOT)}:{at}", each) for file, its in lines.items() for at, each in enumerate(its, 1)]
    violations = [f"{place}: {word}: write {PROSE[word]}" for place, line in places for word in foreign(line)]
    assert violations == []


@cases
def test_a_vague_name_is_detected_wherever_it_is_defined(code: str, names: list[str]) -> None:
    assert [name for name, _ in vague(defined_names(ast.parse(code)))] == names


@cases
def test_a_word_is_detected_alone_and_in_any_case(text: str, words: list[str]) -> None:
    assert foreign(text) == words
