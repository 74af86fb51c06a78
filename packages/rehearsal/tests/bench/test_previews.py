"""The measured previews on real binaries: all of them end as they have to."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsal.bench.previews import measure_previews
from rehearsal.bench.project import PLACES
from rehearsal.faults.runner import faulty_project
from rehearsal.faults.table import CASES


@pytest.mark.rehearsal
@pytest.mark.exhaustive
def test_every_cloud_is_previewed_with_and_without_the_gate(tools: Path) -> None:
    goals = measure_previews(tools, 1, faulty_project(CASES["minimum-one"]))
    measured = {goal.name for goal in goals}
    assert "preview that the gate refuses" in measured
    for cloud in PLACES:
        assert {f"preview of dev on {cloud}", f"preview of dev on {cloud} with the gate"} <= measured
