"""The registry names modules that exist, only the registry knows the dialects, and no import of ours is hidden.

Which parts may import which is in tests/test_architecture.py.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import policies
from policies.readers import registry

ROOT = Path(policies.__file__).parent
TABLES = ("READERS", "REFERRERS", "SPELLINGS", "ADDITIONS")
MODULES = sorted({name for names in registry.MODULES.values() for name in names})
OURS = ("components", "facts", "gpu", "policies", "rehearsal", "schemas", "tests")


@pytest.mark.parametrize("name", MODULES)
def test_every_module_reads_something(name: str) -> None:
    module = importlib.import_module(f"policies.{name}")
    assert any(getattr(module, table, None) for table in TABLES)


def test_every_dialect_is_in_the_registry() -> None:
    files = {f"dialects.{file.stem}" for file in (ROOT / "dialects").glob("*.py") if file.stem != "__init__"}
    assert files == {name for name in MODULES if name.startswith("dialects.")}


def test_nothing_else_imports_a_dialect() -> None:
    """So that ``policies/dialects`` can grow or go without a change to the readers of the clouds' own SDKs."""
    importing = re.compile(r"^\s*(?:from|import) policies\.dialects", re.MULTILINE)
    files = (file for file in ROOT.rglob("*.py") if file.parent.name != "dialects")
    assert [str(file) for file in files if importing.search(file.read_text())] == []


def test_readers_of_kubernetes_may_use_those_of_clouds_but_not_the_other_way_round() -> None:
    importing = re.compile(r"^from policies\.readers\.kubernetes", re.MULTILINE)
    files = (file for cloud in ("aks", "eks", "gke") for file in (ROOT / "readers" / cloud).glob("*.py"))
    assert [str(file) for file in files if importing.search(file.read_text())] == []


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
    files = sorted((ROOT.parent / folder).rglob("*.py"))
    assert files
    assert {f"{file}: {name}" for file in files for name, at_the_top in imports(file) if not at_the_top} == set()


def test_an_import_is_detected_wherever_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("import json\nfrom components.pools import x\n\ndef f():\n    import facts.catalog.eks\n")
    assert list(imports(file)) == [("components.pools", True), ("facts.catalog.eks", False)]
