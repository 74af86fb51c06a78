"""Faults of calls leave nothing behind."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from proof.faults import run
from rehearsal.engine.stack import resolve


@pytest.mark.rehearsal
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
