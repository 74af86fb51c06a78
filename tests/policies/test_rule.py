"""A rule is its function, with everything that is said about it: the registry names modules that exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import policies
from facts.concepts.declared import (
    Cluster,
    Credential,
    EncryptionKey,
    Exposure,
    NodeGroup,
    NotEvaluated,
    Reservation,
    Stack,
    Unreadable,
    Violation,
    Workload,
)
from policies import docs
from policies.readers import registry
from policies.readers.resource import matches
from policies.rules import table
from policies.rules.node_groups import ceiling, zero_minimum
from policies.rules.regions import allowed
from policies.rules.rule import Rule, rule
from policies.rules.samples import CLUSTER, GPUS
from policies.rules.table import BY_ID, RULES

SUBJECTS = {EncryptionKey, Exposure, Reservation, NodeGroup, Workload, Cluster, Credential, Stack}
SUBJECTS |= {NotEvaluated, Unreadable}


def test_every_id_is_there_once() -> None:
    assert [name for name, times in Counter(rule.id for rule in RULES).items() if times > 1] == []
    assert list(BY_ID.values()) == list(RULES)


@pytest.mark.parametrize("known", RULES, ids=lambda known: known.id)
def test_its_subjects_and_limits_are_those_of_its_function(known: Rule[...]) -> None:
    assert known.subjects
    assert set(known.subjects) <= SUBJECTS
    _, *limits = inspect.signature(known.function).parameters.values()
    assert len(limits) == len(known.schema), "each limit is a parameter, and each parameter a limit"
    assert all(limit.default is not inspect.Parameter.empty for limit in limits)
    more = {**known.limits(), **known.example_limits}
    assert known.check(known.example, known.example_limits) == known.check(known.example, more)


def test_called_it_is_the_function_and_asked_it_takes_the_limits_of_a_configuration() -> None:
    large = replace(GPUS, scaling=replace(GPUS.scaling, max_nodes=100))
    assert ceiling(large) == ceiling.check(large) == []
    assert ceiling(large, 64) == ceiling(large, max_gpus=64) == ceiling.check(large, {"maxGpus": 64}) != []
    assert ceiling.limits() == {"maxGpus": None}
    assert ceiling.limits({"maxGpus": 8}) == {"maxGpus": 8}


def test_a_limit_has_its_functions_default_in_json() -> None:
    assert allowed.schema["regions"]["default"] == []
    assert allowed.check(CLUSTER) == []
    assert len(allowed.check(CLUSTER, {"regions": ["europe-west4"]})) == 1


def test_the_engine_asks_rules_about_a_stack_once_and_others_per_resource() -> None:
    assert zero_minimum.subjects == (NodeGroup,)
    assert zero_minimum.scope == "resource"
    assert allowed.subjects == (Cluster, NodeGroup)
    assert BY_ID["gpu-not-only-pool"].scope == "stack"


@pytest.mark.parametrize(("remediable", "known"), [(True, True), (False, False)])
def test_only_a_remediable_rule_has_that_level(remediable: bool, known: bool) -> None:
    made: dict[str, Any] = {"title": "t", "why": "w", "remedy": "r", "level": "advisory", "severity": "low"}

    @rule("mine", **made, example=GPUS, remediable=remediable)
    def mine(group: NodeGroup) -> list[Violation]:
        return [Violation(mine.id, group.name, "r")]

    assert ("remediate" in mine.levels) is known
    assert mine(GPUS)[0].rule == "mine"


def test_a_violation_ends_with_the_rules_remedy_unless_it_has_a_specific_one() -> None:
    assert zero_minimum.violation("message", "urn").remedy == zero_minimum.remedy
    assert zero_minimum.violation("message", "urn", remedy="Specific.").remedy == "Specific."
    assert [
        violation.remedy for violation in zero_minimum(replace(GPUS, scaling=replace(GPUS.scaling, min_nodes=1)))
    ] == [zero_minimum.remedy]


@pytest.mark.parametrize("file", sorted(Path(table.__file__).parent.glob("*.py")), ids=lambda file: file.name)
def test_only_a_rule_makes_its_violations(file: Path) -> None:
    """So that no function repeats the remedy of its rule."""
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    made = [each.lineno for each in calls if isinstance(each.func, ast.Name) and each.func.id == "Violation"]
    assert len(made) == (1 if file.name == "rule.py" else 0), f"call violation() of the rule in line {made}"


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


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_listed_for_every_package_that_it_reads(name: str) -> None:
    module = importlib.import_module(f"policies.{name}")
    listed = {package for package, names in registry.MODULES.items() if name in names}
    keys = {key for table in TABLES for key in getattr(module, table, {})}
    missing = sorted(
        f"{key} is not read: add {name} to MODULES['{package}'] in policies/readers/registry.py"
        for key in keys
        if not any(matches(each, package := registry.package_of(key)) for each in listed)
    )
    assert missing == []


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
    for each in RULES:
        assert f"## {each.id}\n" in page
        assert all(f"`{limit}`" in page for limit in each.schema)


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
