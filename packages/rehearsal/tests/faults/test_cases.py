"""Every injected fault is refused by the gate if a rule can know of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rehearsal.engine.stack import ROOT, locate
from rehearsal.faults.injections import CASES, INJECTIONS, Case
from rehearsal.faults.runner import faulty_project, refusal
from tests.recorder import Recording
from tests.stacks import run_program, run_with_fault

KNOWN = {name: case for name, case in CASES.items() if case.rule is not None}
UNKNOWN = {name: case for name, case in CASES.items() if case.rule is None}


@pytest.mark.rehearsal
@pytest.mark.parametrize("case", KNOWN.values(), ids=KNOWN)
def test_the_gate_refuses_it_with_a_remedy(case: Case, tools: Path) -> None:
    verdict = refusal(case, tools=tools)
    assert verdict.refused, verdict.preview.output
    violation = next(one for one in verdict.preview.result.outcome.mandatory if one.rule == case.rule)
    assert violation.resource
    assert re.search(r"^\s*Fix: \S", violation.message, re.MULTILINE)


@pytest.mark.rehearsal
@pytest.mark.parametrize("case", UNKNOWN.values(), ids=UNKNOWN)
def test_the_gate_passes_a_fault_that_no_rule_can_detect(case: Case, tools: Path) -> None:
    verdict = refusal(case, tools=tools)
    assert verdict.expected, verdict.preview.output
    assert not verdict.refused


def test_every_injection_is_a_row_of_the_table() -> None:
    assert set(INJECTIONS) <= set(CASES)


def test_every_case_names_a_stack_of_the_project_and_a_rule_of_the_gate_if_one_can_know() -> None:
    from policies.rules.table import RULES

    for case in CASES.values():
        assert case.rule in {None, *(rule.id for rule in RULES)}
        assert locate(case.stack)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_fault_changes_the_program(case: Case) -> None:
    path = locate(case.stack)
    faulty = run_with_fault(path, case.inject)
    assert registered(faulty) != registered(run_program(path))


def test_a_program_that_nobody_breaks_declares_the_same_again() -> None:
    path = locate("examples/eks-t4.yaml")
    assert registered(run_with_fault(path, lambda program: program())) == registered(run_program(path))


def registered(recording: Recording) -> dict[str, tuple[dict[str, Any], frozenset[str]]]:
    """What was declared by URN: in which order, each run decides anew."""
    return {each.urn: (each.inputs, frozenset(each.depends_on)) for each in recording.resources}


def test_a_faulty_project_is_the_checkout_but_for_the_program() -> None:
    case = next(iter(CASES.values()))
    with faulty_project(case) as project:
        assert (project / "components").resolve() == ROOT / "components"
        assert (project / "Pulumi.yaml").resolve() == ROOT / "Pulumi.yaml"
        program = (project / "__main__.py").read_text()
        assert f"CASES[{case.name!r}].inject(" in program
        assert str(ROOT / "__main__.py") in program
    assert not project.exists()
