"""Every sabotage is noticed by the rehearsal when the gate is off: a file of its own, as it takes longest."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.faults.case import Case
from rehearsal.faults.runner import caught, rehearsed
from rehearsal.faults.table import CASES


@pytest.mark.rehearsal
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_rehearsal_notices_it_without_the_gate(case: Case, tools: Path) -> None:
    output = io.StringIO()
    finished = rehearsed(case, Console(file=output, width=160), tools=tools)
    assert not finished.passed
    assert caught(case, finished), output.getvalue()
