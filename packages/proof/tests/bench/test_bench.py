from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from components.settings.read import from_stack_file
from facts.concepts.kubernetes import Taint
from proof.bench import measure_all
from proof.bench.previews import measure_previews
from proof.bench.project import PLACES, Goal, Sample, slope
from proof.bench.scheduling import GPUS_PER_NODE, groups, our_stack
from rehearsal.engine.engine import EngineError


def test_ratios_are_taken_pair_by_pair() -> None:
    ratio = Sample((2.0, 9.0, 4.0)).over(Sample((1.0, 3.0, 4.0)))
    assert ratio.values == (2.0, 3.0, 1.0)
    assert ratio.median == 2.0
    assert str(ratio) == "2.00 (1.00–3.00)"


def test_differences_are_taken_pair_by_pair() -> None:
    added = Sample((2.0, 9.0, 4.0)).beyond(Sample((1.0, 3.0, 4.0)))
    assert added.values == (1.0, 6.0, 0.0)


def test_unequal_numbers_of_repetitions_have_no_ratio() -> None:
    with pytest.raises(ValueError, match="zip"):
        Sample((1.0, 2.0)).over(Sample((1.0,)))


def test_the_slope_of_a_line_is_exact_and_a_bend_lowers_the_fit() -> None:
    assert slope([(1, 10), (2, 12), (4, 16)]) == (pytest.approx(2.0), pytest.approx(1.0))
    _, fit = slope([(1, 1), (10, 1), (100, 100)])
    assert fit < 0.995


def test_a_goal_is_met_by_the_median() -> None:
    sample = Sample((1.0, 2.0, 30.0))
    assert Goal("x", sample, "s", 2.0).met is True
    assert Goal("x", sample, "s", 1.9).met is False
    assert Goal("x", sample, "s").met is None


def test_the_baselines_pool_has_the_taint_and_starts_empty() -> None:
    _, gpu = groups(7)
    assert gpu.nodes.taints == (Taint("nvidia.com/gpu", "present", "NoSchedule"),)
    assert (gpu.initial_nodes, gpu.scaling.min_nodes, gpu.scaling.max_nodes, gpu.machine.gpus) == (
        0,
        0,
        7,
        GPUS_PER_NODE,
    )


def test_the_stack_of_125_nodes_is_accepted(tmp_path: Path) -> None:
    settings = from_stack_file(our_stack(tmp_path, 125))
    assert [(pool.gpus.per_node, pool.scaling.max_nodes) for pool in settings.gpu_pools] == [(8, 125)]


def test_a_failed_measurement_does_not_discard_the_others() -> None:
    def fails() -> list[Goal]:
        raise EngineError("no cluster [here]")

    before, after = Goal("before", Sample((1.0,)), "s"), Goal("after", Sample((2.0,)), "s")
    output = io.StringIO()
    measures = {"a": lambda: [before], "b": fails, "c": lambda: [after]}
    goals, errors = measure_all(Console(file=output, width=80), measures)
    assert goals == [before, after]
    assert [str(error) for error in errors] == ["no cluster [here]"]
    assert "failed: no cluster [here]" in output.getvalue()
    assert "1.00 (1.00–1.00)" in output.getvalue()


@pytest.mark.rehearsal
def test_every_cloud_is_previewed_with_and_without_the_gate(tools: Path) -> None:
    goals = measure_previews(tools, 1)
    measured = {goal.name for goal in goals}
    assert "preview that the gate refuses" in measured
    for cloud in PLACES:
        assert {f"preview of dev on {cloud}", f"preview of dev on {cloud} with the gate"} <= measured
