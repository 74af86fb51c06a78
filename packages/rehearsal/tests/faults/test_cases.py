"""Every sabotage is refused by the gate if a rule can know of it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import rehearsal.faults.cases
from rehearsal.engine.stack import ROOT, locate
from rehearsal.faults.case import Case
from rehearsal.faults.runner import refusal, sabotaged_project
from rehearsal.faults.table import CASES, module_of
from tests.recorder import Recording
from tests.stacks import run_program, run_sabotaged

KNOWN = {name: case for name, case in CASES.items() if case.rule is not None}
UNKNOWN = {name: case for name, case in CASES.items() if case.rule is None}


@pytest.mark.rehearsal
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", KNOWN.values(), ids=KNOWN)
def test_the_gate_refuses_it_with_a_remedy(case: Case, tools: Path) -> None:
    found = refusal(case, tools=tools)
    assert found.refused, found.preview.output
    violation = next(one for one in found.preview.result.outcome.mandatory if one.rule == case.rule)
    assert violation.resource
    assert re.search(r"^\s*Fix: \S", violation.message, re.MULTILINE)


@pytest.mark.rehearsal
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", UNKNOWN.values(), ids=UNKNOWN)
def test_the_gate_lets_pass_what_no_rule_can_know(case: Case, tools: Path) -> None:
    found = refusal(case, tools=tools)
    assert found.expected, found.preview.output
    assert not found.refused


def test_every_module_of_the_folder_is_a_case() -> None:
    folder = Path(rehearsal.faults.cases.__path__[0])
    modules = {".".join(path.relative_to(folder).with_suffix("").parts) for path in folder.rglob("*.py")}
    modules = {module for module in modules if not module.endswith("__init__")} - {"added", "changed"}
    assert {import_module(f"rehearsal.faults.cases.{module}").CASE.name for module in modules} == set(CASES)


def test_every_case_names_a_stack_of_the_project_and_a_rule_of_the_gate_if_one_can_know() -> None:
    from policies.rules.table import RULES

    for case in CASES.values():
        assert case.rule in {None, *(rule.id for rule in RULES)}
        assert locate(case.stack)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_sabotage_changes_the_program(case: Case) -> None:
    path = locate(case.stack)
    sabotaged = run_sabotaged(path, case.sabotage)
    assert registered(sabotaged) != registered(run_program(path))


def test_a_program_that_nobody_breaks_declares_the_same_again() -> None:
    path = locate("examples/eks-t4.yaml")
    assert registered(run_sabotaged(path, lambda program: program())) == registered(run_program(path))


def registered(recording: Recording) -> dict[str, tuple[dict[str, Any], frozenset[str]]]:
    """What was declared by URN: in which order, each run decides anew."""
    return {each.urn: (each.inputs, frozenset(each.depends_on)) for each in recording.resources}


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)
def test_a_case_is_imported_by_itself(case: Case) -> None:
    assert import_module(module_of(case)).CASE is case


def test_a_sabotaged_project_is_the_checkout_but_for_the_program() -> None:
    case = next(iter(CASES.values()))
    with sabotaged_project(case) as project:
        assert (project / "components").resolve() == ROOT / "components"
        assert (project / "Pulumi.yaml").resolve() == ROOT / "Pulumi.yaml"
        program = (project / "__main__.py").read_text()
        assert f"from {module_of(case)} import CASE\n" in program
        assert str(ROOT / "__main__.py") in program
    assert not project.exists()
