"""What `make preview` shows before anybody pays, and its JSON."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import rehearsal.report.changes
from rehearsal.engine.events import read_events
from rehearsal.report.changes import StackChange, stack_change, to_json
from rehearsal.run.preview import show_stack

RECORDED = Path(__file__).parents[1] / "report" / "pull_requests"


def change_of(case: str) -> StackChange:
    return stack_change(read_events(RECORDED / f"{case}.jsonl"))


def shown(change: StackChange, columns: int) -> list[str]:
    output = io.StringIO()
    show_stack(Console(file=output, width=columns, force_terminal=True, color_system=None), change)
    return output.getvalue().splitlines()


@pytest.mark.parametrize("case", ["first-stack", "dearer-gpu", "removed-pool"])
def test_80_columns_show_pools_prices_quotas_and_changes(case: str) -> None:
    change = change_of(case)
    lines = shown(change, 80)
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    for words in {
        "first-stack": ("t4-4 4 × nvidia-t4 spot 0..4 $0.84/h", "idle $0.19/h", "20 GPUs GPUS_ALL_REGIONS global"),
        "dearer-gpu": ("t4-1 replaced: nvidia-t4 → nvidia-l4", "$4.45/h → $10.90/h", "running jobs on it end"),
        "removed-pool": ("Changes: t4-4 removed: running jobs on it end", "$4.45/h → $1.08/h"),
    }[case]:
        assert words in text
    assert ("Changes" in text) is (case != "first-stack")


def test_a_long_name_is_shown_whole_at_80_columns() -> None:
    change = change_of("first-stack")
    (*_, pool) = change.after.pools
    long = replace(pool, name="inference-8-" + "x" * 40, gpu="nvidia-a100-40gb", capacity="capacity-block")
    lines = shown(replace(change, after=replace(change.after, pools=(long,))), 80)
    assert max(map(len, lines)) <= 80
    assert sum(line.count("x") for line in lines if "nvidia" in line or line.strip("x ") == "") >= 30


@pytest.mark.parametrize("case", ["first-stack", "dearer-gpu", "refused"])
def test_the_json_has_what_the_docstring_promises(case: str) -> None:
    written = json.loads(json.dumps(to_json("dev", change_of(case), "a cloud")))
    part = (rehearsal.report.changes.__doc__ or "").partition("``build/preview")[2]
    documented = set(re.findall(r"[a-z]\w+", " ".join(re.findall(r"``[{]?([\w, ]+)[}]?``", part))))
    assert set(written) <= documented
    for key in ("pools", "quotas", "changes", "violations"):
        assert all(set(entry) <= documented for entry in written[key] or ())
    assert written["passed"] is (case != "refused")
    assert written["pools"][-1] == {
        "name": "t4-4",
        "gpu": "nvidia-l4" if case == "dearer-gpu" else "nvidia-t4",
        "gpusPerNode": 4,
        "capacity": "spot",
        "machineType": "g2-standard-48" if case == "dearer-gpu" else "n1-standard-16",
        "minNodes": 0,
        "maxNodes": 4,
        "hourlyUsd": 2.26 if case == "dearer-gpu" else 0.84,
    }
    assert (written["changes"] is None, written["costBefore"] is None) == ((case == "first-stack",) * 2)
