"""Every fault of the program fails a rehearsal without the gate."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.faults.injections import CASES, Case
from rehearsal.faults.runner import noticed_by, rehearse_without_gate


@pytest.mark.rehearsal
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_rehearsal_notices_it_without_the_gate(case: Case, tools: Path) -> None:
    output = io.StringIO()
    finished = rehearse_without_gate(case, Console(file=output, width=160), tools=tools)
    assert not finished.passed
    assert noticed_by(case, finished), output.getvalue()
