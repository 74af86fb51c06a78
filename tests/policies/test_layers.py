"""The gate stands on the concepts and the catalogue alone, and its rules on the concepts: no import is hidden."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = ("catalog", "components", "concepts", "policies", "rehearsal", "tests")
MAY_IMPORT = {
    "policies/rules": ("policies.rules", "concepts"),
    "policies": ("policies", "catalog", "concepts"),
    "catalog": ("catalog", "concepts"),
    "concepts": ("concepts",),
}


def imports(file: Path) -> Iterator[tuple[str, bool]]:
    """Each module of ours that a file imports, and whether it does so at the top."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [node.module or ""]
        yield from ((name, node in tree.body) for name in names if name.partition(".")[0] in OURS)


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_storey_imports_only_what_is_below_it(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name, _ in imports(file)
        if not within(name, MAY_IMPORT[folder])
    }
    assert found == set()


@pytest.mark.parametrize("folder", ["policies", "concepts"])
def test_no_import_of_ours_is_hidden_in_a_function(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert {f"{file}: {name}" for file in files for name, at_the_top in imports(file) if not at_the_top} == set()


def test_an_import_is_seen_wherever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("import json\nfrom components.pools import x\n\ndef f():\n    import catalog.eks\n")
    assert list(imports(file)) == [("components.pools", True), ("facts.catalog.eks", False)]
