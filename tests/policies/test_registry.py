"""The registry names modules that exist, and only the registry knows the dialects."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import policies
from policies.readers import registry

ROOT = Path(policies.__file__).parent
TABLES = ("READERS", "REFERRERS", "SPELLINGS", "ADDITIONS")
MODULES = sorted({name for names in registry.MODULES.values() for name in names})


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
