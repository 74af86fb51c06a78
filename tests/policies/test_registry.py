"""The registry names modules that exist, only it knows the dialects, no import is hidden; the rules' page is current.

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
from policies import docs
from policies.readers import registry
from policies.rules.rule import Rule
from policies.rules.table import RULES

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


def test_the_page_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert docs.main(["--check"]) == 0, capsys.readouterr().err


def test_the_page_describes_every_rule_and_limit() -> None:
    page = docs.render()
    for rule in RULES:
        assert f"## {rule.id}\n" in page
        assert all(f"`{limit}`" in page for limit in rule.schema)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_refuses_its_own_example(rule: Rule[...]) -> None:
    violation = rule.check(rule.example, rule.example_limits)[0]
    assert violation.rule == rule.id
    assert not violation.not_evaluated


def test_an_old_page_is_noticed_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(docs, "PAGE", tmp_path / "policies.md")
    assert docs.main(["--check"]) == 1
    assert "policies.md is out of date: run `python -m policies.docs`" in capsys.readouterr().err
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
