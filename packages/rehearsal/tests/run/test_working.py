"""A line that says what runs, where somebody looks at a terminal, and nothing elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rehearsal.engine.events import PolicyViolation
from rehearsal.run.preview import show_violations
from rehearsal.run.working import working


@pytest.mark.parametrize("terminal", [True, False])
def test_what_runs_is_said_on_a_terminal_alone(terminal: bool) -> None:
    output = io.StringIO()
    with working("dev: starting", Console(file=output, force_terminal=terminal, width=80)) as say:
        say("dev: pulumi preview [gate]")
    assert ("dev: pulumi preview [gate]" in output.getvalue()) is terminal
    assert bool(output.getvalue()) is terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_a_violation_is_as_wide_as_a_terminal_and_one_line_in_a_log(terminal: bool) -> None:
    output, message = io.StringIO(), "Set the minimum to 0: " + "the autoscaler adds nodes when a pod asks. " * 4
    violation = PolicyViolation("gpu-zero-minimum", "mandatory", "t4", message.strip())
    show_violations(Console(file=output, force_terminal=terminal, color_system=None, width=80), [violation])
    _, *lines = output.getvalue().splitlines()
    assert (max(map(len, lines)) <= 80) is terminal
    assert all(line.startswith("  ") for line in lines)
    assert " ".join(" ".join(lines).split()) == message.strip()
