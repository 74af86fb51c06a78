"""What `make preview` shows before anybody pays."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.engine.events import read_events
from rehearsal.report.changes import stack_change
from rehearsal.run.preview import show_stack

RECORDED = Path(__file__).parents[1] / "report" / "pull_requests"


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("first-stack", ("t4-4 4 × nvidia-t4 spot 0..4 $0.84/h", "$0.19/h idle", "GPUS_ALL_REGIONS in global: 20 ")),
        ("dearer-gpu", ("t4-1 replaced: nvidia-t4 → nvidia-l4", "$4.45/h → $10.90/h", "running jobs on it end")),
        ("removed-pool", ("t4-4 removed: running jobs on it end", "$4.45/h → $1.08/h")),
    ],
)
def test_80_columns_show_pools_prices_quotas_and_changes(case: str, expected: tuple[str, ...]) -> None:
    change = stack_change(read_events(RECORDED / f"{case}.jsonl"))
    longest = replace(change.after.pools[0], name="z" * 60, gpu="nvidia-a100-40gb", capacity="capacity-block")
    output = io.StringIO()
    console = Console(file=output, width=80, force_terminal=True, color_system=None)
    show_stack(console, change)
    text = " ".join(output.getvalue().split())
    assert [words for words in expected if words not in text] == []
    show_stack(console, replace(change, after=replace(change.after, pools=(longest,))))
    assert max(map(len, output.getvalue().splitlines())) <= 80
    assert output.getvalue().count("z") >= 60, "a long name is shown whole"
