"""The gate hides no import of ours in a function; which parts may import which is in tests/test_architecture.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = ("components", "facts", "gpu", "policies", "rehearsal", "schemas", "tests")


def imports(file: Path) -> Iterator[tuple[str, bool]]:
    """Each module of ours that a file imports, and whether it does so at the top."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [node.module or ""]
        yield from ((name, node in tree.body) for name in names if name.partition(".")[0] in OURS)


@pytest.mark.parametrize("folder", ["policies", "facts/concepts"])
def test_no_import_of_ours_is_hidden_in_a_function(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert {f"{file}: {name}" for file in files for name, at_the_top in imports(file) if not at_the_top} == set()


def test_an_import_is_detected_wherever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("import json\nfrom components.pools import x\n\ndef f():\n    import facts.catalog.eks\n")
    assert list(imports(file)) == [("components.pools", True), ("facts.catalog.eks", False)]
