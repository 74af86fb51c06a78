"""``make bench-trace``: published designs as they are described, and what must hold for every trace."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from facts.jobs.recommendation import Market, resolved, types_of
from facts.jobs.trace import TraceError, TraceJob, generated, written
from proof.bench.traces import built_design, measure, run_trace_bench, seeds
from rehearsal.engine.stack import resolve

JOBS = generated("mixed", jobs=150, days=4, seed=2, largest=4)
STACKS = ("dev", "examples/eks-t4.yaml", "examples/aks-train-infer.yaml")


@pytest.mark.parametrize("stack", STACKS)
def test_no_design_pays_less_than_its_jobs_use_and_the_bound_is_between(stack: str) -> None:
    result = measure(JOBS, resolve(stack).settings, seed=1)
    used = sum(job.duration * job.all_gpus for job in JOBS) / 3600
    costs = {**result.published, "stack": result.stack, "recommended": result.recommended}
    assert [name for name, cost in costs.items() if cost.unplaced] == []
    assert {round(cost.used, 6) for cost in costs.values()} == {round(used, 6)}
    assert [name for name, cost in costs.items() if cost.paid < used] == []
    assert used < result.bound < min(cost.paid for cost in (result.recommended, *result.published.values()))
    best = result.published[result.best]
    assert best.usd == min(cost.usd or 0 for cost in result.published.values())
    assert result.recommended.wait(95) <= best.wait(95) + 60


def test_five_designs_are_described_with_their_sentences() -> None:
    assert len(seeds()) == 5
    assert [seed["name"] for seed in seeds() if not seed["quotes"] or not seed["source"]] == []
    expected = {*("name", "source", "quotes"), *("sizes", "spot", "always_on", "max_nodes", "idle_minutes")}
    assert {key for seed in seeds() for key in seed} == expected


def test_designs_are_built_as_they_are_described() -> None:
    market = Market("gke", "us-central1")
    two, one = TraceJob(submit=0, duration=60, gpus=2), TraceJob(submit=0, duration=60)
    jobs = resolved([two, one], types_of(market.pools()), "t4")
    built = {seed["name"]: built_design(seed, jobs, market, 0) for seed in seeds()}
    sizes = {name: [pool.gpus.per_node for pool in design.offer.pools] for name, design in built.items()}
    assert sizes == {"GKE tips": [2], "acs-engine": [1, 2], "bare VMs": [2], "GKE auto-scale": [1, 2], "EKS spot": [4]}
    assert {name for name, design in built.items() if design.offer.pools[0].scaling.spot} == {
        "GKE auto-scale",
        "EKS spot",
    }
    assert built["acs-engine"].always_on == {"t4-1": 1, "t4-2": 1}
    assert built["bare VMs"].always_on == {"t4-2": 2}
    assert [pool.scaling.max_nodes for pool in built["GKE auto-scale"].offer.pools] == [8, 8]
    assert {design.isolated for design in built.values()} == {False}


def test_the_table_names_designs_bound_and_goals(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(written(JOBS))
    console = Console(file=io.StringIO(), width=80)
    run_trace_bench(console, resolve("dev").settings, "dev", file, 1)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    own = ("150 jobs, ", "bare VMs", "stack dev", "recommended")
    for words in (*own, "bound, if no job waits: ", "(goal: at most 1.15)"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_trace_that_no_machine_runs_is_refused() -> None:
    with pytest.raises(TraceError, match="none of the published designs runs all jobs"):
        measure([TraceJob(submit=0, duration=60, gpus=16)], resolve("dev").settings, seed=1)
