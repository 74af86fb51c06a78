"""Every injected fault fails a rehearsal without the gate; faults of calls leave nothing behind. These take longest."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.engine.stack import resolve
from rehearsal.faults import run
from rehearsal.faults.injections import CASES, Case
from rehearsal.faults.runner import noticed_by, rehearse_without_gate


@pytest.mark.rehearsal
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_rehearsal_notices_it_without_the_gate(case: Case, tools: Path) -> None:
    output = io.StringIO()
    finished = rehearse_without_gate(case, Console(file=output, width=160), tools=tools)
    assert not finished.passed
    assert noticed_by(case, finished), output.getvalue()


@pytest.mark.rehearsal
@pytest.mark.exhaustive
def test_faults_leave_the_stack_as_without_them(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``make faults STACK=dev SEED=1 N=8``: it draws three kills, one in the update of a Kubernetes object.

    Nine faults of the complete cluster and of the engine's files follow the creation.
    """
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    output = io.StringIO()
    passed = run.run(resolve("dev"), Console(file=output, width=160), tools, seed=1, most=8)
    lines = output.getvalue().splitlines()
    assert passed, output.getvalue()
    assert lines[0] == "dev: first a run without faults"
    (total,) = (line for line in lines if line.startswith("all "))
    assert total.split() == ["all", *["17", "of", "17"], *["17", "of", "17"], "0", "0", "0"]
