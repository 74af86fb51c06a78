"""The simulation of a trace: what must hold whatever the jobs are, and small cases counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.offer import PoolOffer
from facts.jobs.bound import without_waiting
from facts.jobs.simulation import Design, NodeLife, TraceCost, simulate
from facts.jobs.trace import PATTERNS, Pattern, TraceJob, generated
from packages.gpu.tests.offers import offer, pool

HOUR = 3600.0


def job(submit: float = 0, hours: float = 1, **changes: Any) -> TraceJob:
    return TraceJob(submit=submit, duration=hours * HOUR, **changes)


def run(jobs: list[TraceJob], *pools: PoolOffer, reclaims: float = 0.0, **changes: Any) -> TraceCost:
    """Nodes take 6 minutes to start; the pools' own idle time is 10 minutes."""
    lives = {each.name: NodeLife(low=360, high=360, reclaims_per_hour=reclaims) for each in pools}
    return simulate(jobs, Design(offer=offer(*pools), lives=lives, **changes))


def test_a_job_waits_for_its_node_which_is_paid_until_it_has_been_idle() -> None:
    outcome = run([job()], pool())
    assert outcome.waits == (360,)
    assert outcome.paid == pytest.approx(0.1 + 1 + 10 / 60)
    assert (outcome.used, outcome.usd) == (1, pytest.approx(outcome.paid))
    assert outcome.ratio == pytest.approx(1.2667, abs=1e-4)


def test_two_jobs_that_fit_on_a_node_share_it() -> None:
    outcome = run([job(gpus=2), job(gpus=2)], pool("t4-4", size=4))
    assert outcome.peaks == {"t4-4": 1}
    assert outcome.paid == pytest.approx(4 * (0.1 + 1 + 10 / 60))


def test_a_job_that_comes_while_a_node_starts_gets_the_room_that_is_left() -> None:
    outcome = run([job(gpus=2), job(100, gpus=2), job(200, gpus=1)], pool("t4-4", size=4))
    assert outcome.peaks == {"t4-4": 2}
    assert sorted(outcome.waits) == [260, 360, 360]


def test_an_idle_node_runs_the_next_job_without_wait_and_ends_after_its_idle_time() -> None:
    ends = 360 + HOUR + 600
    assert run([job(), job(ends - 1)], pool()).waits == (360, 0)
    assert run([job(), job(ends + 1)], pool()).waits == (360, 360)


def test_idle_time_counts_from_the_end_of_the_last_job() -> None:
    second = 360 + HOUR + 300
    assert run([job(), job(second, 0.01), job(second + 36 + 599)], pool()).waits == (360, 0, 0)


def test_a_pod_goes_to_the_fullest_node_so_that_larger_ones_find_room() -> None:
    jobs = [job(gpus=3, hours=6), job(gpus=2, hours=6), job(HOUR, gpus=1), job(HOUR + 1, gpus=2)]
    assert run(jobs, pool("t4-4", size=4)).waits == (360, 360, 0, 0)


def test_a_small_job_stays_off_a_larger_node_unless_sizes_are_not_isolated() -> None:
    jobs = [job(gpus=4), job(360 + HOUR + 60, hours=5)]
    pools = (pool(), pool("t4-4", size=4))
    isolated, shared = run(jobs, *pools), run(jobs, *pools, isolated=False)
    assert (isolated.waits, isolated.peaks["t4-1"]) == ((360, 360), 1)
    assert (shared.waits, shared.peaks["t4-1"]) == ((360, 0), 0)
    assert shared.paid > isolated.paid + 14


def test_a_full_pool_makes_jobs_wait_and_the_fallback_takes_them() -> None:
    spot = pool("t4-1-spot", spot=True, max_nodes=1, hourly_usd=0.3)
    fallback = pool("t4-1-ondemand", max_nodes=1, preference=1)
    assert run([job(), job()], spot).waits == (360, 360 + HOUR)
    outcome = run([job(), job()], spot, fallback)
    assert (outcome.waits, outcome.peaks) == ((360, 360), {"t4-1-spot": 1, "t4-1-ondemand": 1})
    assert outcome.paid_spot == pytest.approx(outcome.paid / 2)


def test_workers_start_together_or_not_at_all() -> None:
    outcome = run([job(), job(60, workers=3)], pool(max_nodes=3))
    assert outcome.waits == (360, 300 + HOUR + 360)  # two nodes are requested when the third is free
    assert run([job(workers=4)], pool(max_nodes=3)).unplaced == 1
    assert run([job(workers=4)], pool("t4-4", size=4)).peaks == {"t4-4": 1}


def test_workers_without_room_take_none_from_others() -> None:
    jobs = [job(), job(60, workers=6), job(60)]
    outcome = run(jobs, pool("t4-2", size=2, max_nodes=3))
    assert (outcome.waits[2], outcome.paid) == (300, pytest.approx(9.8))


def test_a_higher_priority_starts_first() -> None:
    outcome = run([job(), job(60, 2), job(120, 3, priority=1, max_wait=HOUR)], pool(max_nodes=1))
    assert outcome.waits == (360 + 3 * HOUR, 300 + 4 * HOUR, 240)
    assert outcome.late == 0


def test_a_job_that_waits_longer_than_it_may_is_late() -> None:
    assert [run([job(max_wait=seconds)], pool()).late for seconds in (359, 360)] == [1, 0]


def test_nodes_that_are_always_on_are_paid_from_the_first_job_to_the_end_of_the_last() -> None:
    outcome = run([job(), job(9 * HOUR)], pool(), always_on={"t4-1": 2})
    assert (outcome.waits, outcome.paid, outcome.hours) == ((0, 0), 20, 10)


def test_a_reclaimed_job_loses_what_ran_since_its_checkpoint_and_still_ends() -> None:
    spot = pool(spot=True)
    outcome = run([job(hours=10)], spot, reclaims=1.0)
    assert outcome.reclaims > 0
    assert outcome.used == 10
    assert outcome.paid > 10 + outcome.reclaims * 0.1
    assert outcome.paid < 10 + outcome.reclaims * 0.6 + 0.1 + 10 / 60
    assert outcome.waits[0] == pytest.approx(360 * (outcome.reclaims + 1))
    assert run([job(hours=10)], pool(), reclaims=1.0).reclaims == 0


def test_a_job_that_fits_no_pool_is_counted() -> None:
    outcome = run([job(gpus=8), job(gpu="a100"), job()], pool())
    assert (outcome.unplaced, len(outcome.waits)) == (2, 1)


def test_percentiles_are_those_of_the_nearest_rank() -> None:
    outcome = run([job(60 * n, 0.01) for n in range(100)], pool(max_nodes=1, idle_minutes=60))
    waits = sorted(outcome.waits)
    assert [outcome.wait(percent) for percent in (1, 50, 99, 100)] == [waits[0], waits[49], waits[98], waits[99]]
    assert run([], pool()).wait(50) == 0


def test_a_pool_without_a_price_has_no_bill() -> None:
    assert run([job()], pool(hourly_usd=None)).usd is None


@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_holds_for_every_trace(pattern: Pattern, isolated: bool) -> None:
    jobs = list(generated(pattern, jobs=300, days=4, seed=3, largest=4))
    pools = (pool(max_nodes=50), pool("t4-2", size=2, max_nodes=9), pool("t4-4", size=4, max_nodes=2, spot=True))
    outcome = run(jobs, *pools, reclaims=0.05, isolated=isolated)
    assert len(outcome.waits) + outcome.unplaced == 300
    assert outcome.unplaced == 0
    assert outcome.used == pytest.approx(sum(each.duration * each.gpus for each in jobs) / HOUR)
    assert outcome.paid >= outcome.used
    assert min(outcome.waits) >= 0
    assert all(outcome.peaks[each.name] <= each.scaling.max_nodes for each in pools)
    assert outcome.paid == run(jobs, *pools, reclaims=0.05, isolated=isolated).paid


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_bound_is_below_every_cluster_on_which_no_job_waits(pattern: Pattern) -> None:
    jobs = list(generated(pattern, jobs=200, days=2, seed=5, largest=4))
    ready = run(jobs, pool("t4-4", size=4, max_nodes=1000), always_on={"t4-4": 200})
    assert max(ready.waits) == 0
    used = sum(each.duration * each.gpus for each in jobs) / HOUR
    assert used < without_waiting(jobs, 240) < run(jobs, pool("t4-4", size=4, max_nodes=1000)).paid < ready.paid


def test_the_bound_keeps_a_gpu_between_uses_if_that_is_shorter_than_a_start() -> None:
    assert without_waiting([job()], 360) == pytest.approx(1.1)
    assert without_waiting([job(), job(HOUR)], 360) == pytest.approx(2.1)
    assert without_waiting([job(), job(HOUR + 180)], 360) == pytest.approx(2.15)
    assert without_waiting([job(), job(9 * HOUR)], 360) == pytest.approx(2.2)
    assert without_waiting([job(gpus=2), job(gpu="a100")], 360) == pytest.approx(3.3)
