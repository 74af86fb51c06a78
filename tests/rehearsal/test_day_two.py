"""Each edit of day two is one that settings take, changes what it says, and its verdict follows what was seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from components.settings import from_stack_file
from rehearsal.day_two import EDITS, edit_stack, judged
from rehearsal.stack import ROOT, available, locate
from rehearsal.timeline import PodRecord

STACKS = [name for name in available() if name != "prod"]


def load(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(file.read_text())["config"]
    return content


@pytest.mark.parametrize("stack", STACKS)
def test_every_edit_is_a_stack_that_settings_take_and_differs_from_the_one_before(stack: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.edited.yaml"
    file.write_text(locate(stack, ROOT).read_text())
    before = load(file)
    for edit in EDITS:
        edit_stack(file, edit)
        assert load(file) != before, edit.id
        before = load(file)
        from_stack_file(file)


def test_what_is_raised_is_lowered_and_what_is_added_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.edited.yaml"
    file.write_text((ROOT / "Pulumi.dev.yaml").read_text())
    start, seen = load(file), {}
    for edit in EDITS:
        edit_stack(file, edit)
        seen[edit.id] = load(file)["gpucluster:gpuPools"]
    assert seen["maximum-raised"][0]["maxNodes"] == start["gpucluster:gpuPools"][0]["maxNodes"] + 1
    assert seen["maximum-lowered"][0]["maxNodes"] == start["gpucluster:gpuPools"][0]["maxNodes"]
    assert len(seen["pool-added"]) == len(seen["pool-removed"]) + 1


@pytest.mark.parametrize(
    ("gone", "phase", "announced", "passed"),
    [
        (None, "Running", (), True),
        (None, "Running", ("replace pool",), True),
        (7.0, "Running", (), False),
        (None, "Failed", (), False),
        (7.0, "Running", ("replace pool",), True),
    ],
)
def test_a_job_may_end_only_where_the_preview_said_so(
    gone: float | None, phase: str, announced: tuple[str, ...], passed: bool
) -> None:
    pod = PodRecord("1", "default", "day-two", "day-two", None, 1, 0.0, phase=phase, running=1.0, gone=gone)
    assert judged(pod, announced)[0] is passed


def test_the_operations_page_has_a_row_for_every_edit() -> None:
    rows = (ROOT / "docs" / "operations.md").read_text().splitlines()
    for edit in EDITS:
        assert [row for row in rows if row.startswith(f"| {edit.title} | ")], edit.title
