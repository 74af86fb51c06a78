"""What `make preview` shows before anybody pays."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.engine.events import read_events
from rehearsal.report.changes import stack_change
from rehearsal.run.preview import show_stack, to_json
from tests.tables import cases

RECORDED = Path(__file__).parents[1] / "report" / "pull_requests"


@cases
def test_80_columns_show_pools_prices_quotas_and_changes(case: str, expected: list[str]) -> None:
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


def test_the_same_as_json() -> None:
    content = json.loads(json.dumps(to_json("dev", stack_change(read_events(RECORDED / "dearer-gpu.jsonl")))))
    pools = {pool["name"]: pool for pool in content["pools"]}
    assert (pools["t4-1"]["gpu"], pools["t4-1"]["gpusPerNode"], pools["t4-1"]["minNodes"]) == ("nvidia-l4", 1, 0)
    assert (pools["admin"]["minNodes"], pools["admin"]["maxNodes"]) == (None, None), "always on"
    assert (content["cost"]["maxHourlyUsd"], content["costBefore"]["maxHourlyUsd"]) == (
        pytest.approx(10.90, abs=0.01),
        pytest.approx(4.45, abs=0.01),
    )
    assert [(one["pool"], one["kind"], one["endsJobs"]) for one in content["changes"]] == [
        ("t4-1", "replaced", True),
        ("t4-4", "replaced", True),
    ]
    assert "GPUS_ALL_REGIONS" in [quota["name"] for quota in content["quotas"]]
    assert content["simulated"] is True
    first = to_json("dev", stack_change(read_events(RECORDED / "first-stack.jsonl")))
    assert (first["changes"], first["costBefore"]) == (None, None)
