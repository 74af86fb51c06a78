"""docs/architecture.md says who may import what and what may share a name; this holds the code to it.

Circles of imports are found, too.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.stacks import ROOT

PACKAGES = (
    "components", "facts", "packages/account/account", "packages/cli/gpucluster", "packages/gpu/gpu",
    "packages/machines/machines", "packages/proof/proof", "packages/rehearsal/rehearsal", "policies", "schemas",
)  # fmt: skip
REHEARSAL = ROOT / "packages" / "rehearsal"
EVERYTHING, NOTHING = "everything", "nothing of ours"


@functools.cache
def table() -> Mapping[str, tuple[str, ...]]:
    """Part of the tree, as a module's name → the parts that it may import besides itself, or ``EVERYTHING``."""
    rows = _rows(ROOT / "docs" / "architecture.md", "| part | what | may import |")
    return {_module(row[0]): _allowed(row[-1]) for row in rows} | dict(storeys())


@functools.cache
def storeys() -> Mapping[str, tuple[str, ...]]:
    """The same of the rehearsal's own table, from the top storey down."""
    rows = _rows(REHEARSAL / "docs" / "architecture.md", "| part | what | imports of the rehearsal |")
    return {
        f"rehearsal.{_module(part)}": (*(f"rehearsal.{each}" for each in _allowed(own)), *_allowed(others))
        for part, _, own, others in rows
    }


@functools.cache
def program_imports() -> Mapping[str, tuple[str, ...]]:
    """Module of the program, the gate or the command → the storeys of the rehearsal that may import it."""
    rows = _rows(REHEARSAL / "docs" / "architecture.md", "| module | imported by |")
    return {
        _module(name).removesuffix(".__init__"): tuple(f"rehearsal.{each}" for each in _allowed(parts))
        for name, parts in rows
    }


def _rows(page: Path, head: str) -> list[list[str]]:
    text = page.read_text()
    return [line.split(" | ") for line in text[text.index(head) :].split("\n\n")[0].splitlines()[2:]]


def _module(cell: str) -> str:
    (path,) = re.findall(r"`(?:packages/[^/]+/)?([^`]+)`", cell)
    return path.removesuffix("/").removesuffix(".py").replace("/", ".")


def _allowed(cell: str) -> tuple[str, ...]:
    if cell.strip(" |") in (EVERYTHING, NOTHING, "nothing"):
        return (EVERYTHING,) if EVERYTHING in cell else ()
    return tuple(_module(each) for word in cell.strip(" |").split(", ") for each in _each(word))


def _each(word: str) -> list[str]:
    """``a/{b c}/`` stands for ``a/b/`` and ``a/c/``."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", word)
    return [f"{found[1]}{part}{found[3]}" for part in found[2].split()] if found else [word]


@functools.cache
def modules() -> Mapping[str, Path]:
    """Every module of ours by its name."""
    files = [ROOT / "__main__.py", *(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))]
    return {_module(f"`{file.relative_to(ROOT)}`").removesuffix(".__init__"): file for file in files}


@functools.cache
def parsed() -> Mapping[str, ast.Module]:
    """The syntax tree of every module."""
    return {name: ast.parse(file.read_text()) for name, file in modules().items()}


@functools.cache
def imports() -> Mapping[str, frozenset[str]]:
    """Module → those of ours that it imports, wherever in the file and for whatever purpose."""
    return {name: frozenset(_imported(tree)) - {name} for name, tree in parsed().items()}


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                imported = (name for name in (f"{node.module}.{alias.name}", node.module) if name in modules())
                yield from list(imported)[:1]


@functools.cache
def classes() -> Mapping[str, tuple[str, ...]]:
    """Name of a public class → the modules that have one of that name."""
    by_name: dict[str, tuple[str, ...]] = {}
    for module, tree in parsed().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                by_name[node.name] = (*by_name.get(node.name, ()), module)
    return by_name


def ambiguous(named: Mapping[str, Iterable[str]]) -> list[str]:
    """Names that stand for several things.

    One thing may have its name in the same module of each cloud, and again where another layer states it: as a section
    of the stack file, and as what the gate reads of a program.
    """
    return sorted(
        name for name, those in named.items() if len({_place(one) for one in those if not _restates(one)}) > 1
    )


def _restates(module: str) -> bool:
    return module == "facts.concepts.declared" or _inside(module, "components.settings")


def _place(module: str) -> tuple[str, ...]:
    return tuple("<cloud>" if part in _clouds() else part for part in module.split("."))


@functools.cache
def _clouds() -> frozenset[str]:
    """What the clouds' folders are called: the cluster's name with us, the vendor's where its documents are read."""
    homes = (ROOT / "components" / "clouds", ROOT / "schemas" / "sources")
    return frozenset(init.parent.name for home in homes for init in home.glob("*/__init__.py"))


@functools.cache
def part_of(module: str) -> str:
    """The most special part of the table that the module belongs to."""
    return max((part for part in table() if _inside(module, part)), key=len, default="")


def _inside(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def forbidden(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """What no row of the table allows; a row allows modules, or whole folders."""
    return sorted(
        f"{one} imports {other}"
        for one, others in edges.items()
        for other in others
        if (own := part_of(one)) != part_of(other)
        and EVERYTHING not in table()[own]
        and not any(_inside(other, part) for part in table()[own])
        and own not in program_imports().get(other, ())
    )


def circles(edges: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Modules that import each other, directly or by way of others."""
    reached = {module: _reached(module, edges) for module in edges}
    tied = [{other for other in reached[module] if module in reached[other]} for module in edges]
    return [set(circle) for circle in {frozenset(circle) for circle in tied if circle}]


def _reached(module: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [*edges.get(module, ())]
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += edges.get(one, ())
    return reached


def test_every_module_is_in_the_table() -> None:
    assert [module for module in modules() if not part_of(module)] == []


def test_the_table_names_only_what_there_is() -> None:
    named = {part for part, allowed in table().items() for part in (part, *allowed)} - {EVERYTHING}
    assert {part for part in named if not any(_inside(module, part) for module in modules())} == set()


def test_nobody_imports_what_the_table_does_not_allow() -> None:
    assert forbidden(imports()) == []


def test_the_rehearsal_imports_downwards_only() -> None:
    order = [*storeys()]
    places = {(part, each) for part, allowed in storeys().items() for each in allowed if each in order}
    upwards = {(part, each) for part, each in places if order.index(each) <= order.index(part)}
    assert upwards == set()


def test_every_folder_of_the_rehearsal_is_a_storey() -> None:
    folders = {f"rehearsal.{init.parent.name}" for init in (REHEARSAL / "rehearsal").glob("*/__init__.py")}
    assert folders | {"rehearsal.simulation"} == set(storeys())


def test_no_row_allows_what_nobody_of_the_rehearsal_imports() -> None:
    used = {(part_of(one), f"{part_of(other)}.") for one, others in imports().items() for other in others}
    rows = [(part, each) for part, allowed in storeys().items() for each in allowed]
    idle = [
        (part, each)
        for part, each in rows
        if not any(one == part and other.startswith(f"{each}.") for one, other in used)
    ]
    assert idle == []


def test_the_rehearsal_imports_exactly_the_listed_modules_of_program_gate_and_command() -> None:
    ours = ("facts", "machines", "rehearsal", "schemas")
    of_parts = [(part_of(one), others) for one, others in imports().items() if part_of(one) in storeys()]
    pairs = {(other, part) for part, others in of_parts for other in others}
    imported = {(other, part) for other, part in pairs if not any(_inside(other, each) for each in ours)}
    assert imported == {(module, part) for module, parts in program_imports().items() for part in parts}
    assert len(program_imports()) <= 13, "a short list that only gets shorter"


def test_an_import_against_the_table_is_found() -> None:
    upward = "facts.concepts.pool imports facts.catalog.cloud"
    assert forbidden({"facts.concepts.pool": ["facts.catalog.cloud"]}) == [upward]
    upward = "components.settings.fields.problems imports components.settings.limits"
    assert forbidden({"components.settings.fields.problems": ["components.settings.limits"]}) == [upward]
    assert forbidden({"policies.pack": ["components.settings"]}) == ["policies.pack imports components.settings"]
    upward = "rehearsal.cluster.api imports rehearsal.fleet.nodes"
    assert forbidden({"rehearsal.cluster.api": ["rehearsal.fleet.nodes"]}) == [upward]
    assert forbidden(
        {"rehearsal.checks.permissions": ["components.settings.sections.teams", "components.settings.pools"]}
    ) == ["rehearsal.checks.permissions imports components.settings.pools"]


def test_no_modules_import_each_other() -> None:
    assert circles(imports()) == []


def test_a_circle_is_found_however_long() -> None:
    assert circles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}) == [{"a", "b", "c"}]
    assert circles({"a": ["b"], "b": []}) == []


def test_a_class_name_stands_for_one_thing() -> None:
    assert ambiguous(classes()) == []


@pytest.mark.parametrize(
    ("modules", "several"),
    [
        (["rehearsal.sandbox.sandbox", "rehearsal.sandbox.client"], True),
        (["components.clouds.gke.network", "components.clouds.eks.network"], False),
        (["components.clouds.gke.network", "components.clouds.eks.routes"], True),
        (["components.settings.pools", "components.node_pool"], False),
        (["components.settings.pools", "components.node_pool", "rehearsal.simulation"], True),
        (["components.cluster", "facts.concepts.declared"], False),
        (["components.cluster"], False),
    ],
)
def test_one_name_of_two_things_is_found(modules: list[str], several: bool) -> None:
    assert ambiguous({"Thing": modules}) == (["Thing"] if several else [])
