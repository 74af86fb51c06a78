"""``gpu plan`` and ``gpu trace``: traces and what is wrong in them, and pools that a stack file may have."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.settings.read import load
from facts.jobs.recommendation import GpuPrice, Market, recommend, resolved, types_of
from facts.jobs.trace import PATTERNS, Pattern, TraceError, TraceJob, generated, read_trace, written
from gpu.commands import plan
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import FakeCluster, Run, gpu, in_place

__all__ = ["gpu"]

JOBS = generated("mixed", jobs=120, days=3, seed=1, largest=4)
CALM = generated("diurnal", jobs=60, days=5, seed=1, largest=4)
"""Few at the same time: a stack with many nodes must also have a larger admin pool and network."""
ACCOUNTS = {"gke": "my-project-1", "eks": "us-east-1", "aks": "11111111-1111-1111-1111-111111111111"}


def file_of(folder: Path, jobs: tuple[TraceJob, ...] = JOBS) -> str:
    file = folder / "trace.csv"
    file.write_text(written(jobs))
    return str(file)


@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
@pytest.mark.parametrize("asked", ["t4", "a100"])
def test_a_stack_may_have_the_recommended_pools(cloud: str, asked: str, gpu: Run, tmp_path: Path) -> None:
    code, out, err = gpu("plan", file_of(tmp_path, CALM), "--cloud", cloud, "--gpu", asked, "--max-wait", "20")
    assert (code, err) == (0, "")
    written_lines = yaml.safe_load(out[out.index("config:") :])["config"]
    region = out.split(f"{cloud} ")[1].split(",")[0]
    own: dict[str, Any] = {key.partition(":")[2]: value for key, value in written_lines.items()}
    own |= {"cloud": cloud, "region": region, "network": {"authorizedNetworks": [{"name": "me", "cidr": "9.9.9.9/32"}]}}
    settings = load(own, stack="dev", project=ACCOUNTS[cloud])
    assert max(each.gpus.per_node for each in settings.gpu_pools) >= 4
    assert ("unneededMinutes" in out) is (cloud != "gke")


def test_a_cheaper_idle_time_size_and_capacity_are_chosen() -> None:
    market = Market("gke", "us-central1")
    jobs = resolved(JOBS, types_of(market.pools()), "t4")
    best = recommend(jobs, market, max_wait=1800)
    fours = [each for each in market.pools() if (each.name, each.scaling.spot) == ("t4-4", False)]
    other = market.design(fours)
    assert best.cost.usd is not None
    assert best.cost.usd < 0.5 * (plan.simulate(jobs, other, 0).usd or 0)
    assert all(each.scaling.spot for each in best.design.offer.pools)
    assert best.idle_minutes is None
    assert [each.gpus.per_node for each in best.design.offer.pools] == [1, 2, 4]


def test_a_machine_that_is_sold_as_spot_only_is_not_offered_on_demand() -> None:
    pools = [each for each in Market("gke", "us-central1").pools() if each.name == "h10080gb-1"]
    assert [each.scaling.spot for each in pools] == [True]


def test_a_wait_that_no_start_allows_gives_the_shortest_wait() -> None:
    market = Market("eks", "us-west-2")
    jobs = resolved(JOBS, types_of(market.pools()), "t4")
    impatient, patient = (recommend(jobs, market, max_wait=seconds) for seconds in (0, 3600))
    assert impatient.cost.wait(95) <= patient.cost.wait(95)
    assert (impatient.cost.usd or 0) > (patient.cost.usd or 0)
    assert patient.idle_minutes == 1


def test_a_size_with_few_jobs_may_make_them_wait_if_all_together_do_not() -> None:
    market = Market("eks", "us-west-2")
    steady = [TraceJob(submit=60.0 * n, duration=600) for n in range(300)]
    rare = [TraceJob(submit=5000.0 * n, duration=600, gpus=4) for n in range(1, 4)]
    jobs = resolved([*steady, *rare], types_of(market.pools()), "t4")
    best = recommend(jobs, market, max_wait=250)
    assert best.cost.wait(95) <= 250 < max(best.cost.waits)
    assert [each.gpus.per_node for each in best.design.offer.pools] == [1, 4]


def test_who_can_wait_gets_fewer_nodes_and_a_lower_bill() -> None:
    market = Market("eks", "us-west-2")
    jobs = resolved([TraceJob(submit=0, duration=600) for _ in range(24)], types_of(market.pools()), "t4")
    soon, later = (recommend(jobs, market, max_wait=60 * minutes) for minutes in (15, 90))
    assert [each.design.offer.pools[0].scaling.max_nodes for each in (soon, later)] == [24, 3]
    assert later.cost.wait(95) <= 5400
    assert (later.cost.usd or 0) < 0.8 * (soon.cost.usd or 0)


def test_jobs_get_the_cheapest_type_that_they_ask_for() -> None:
    prices = {"nvidia-l4": 0.7, "nvidia-t4": 0.3, "nvidia-a100-40gb": 3.0, "nvidia-a100-80gb": 4.0}
    types = {gpu: GpuPrice(usd, 4 if gpu == "nvidia-t4" else 8) for gpu, usd in prices.items()}
    asked = (None, "l4", "a100", "24GB", "41GB")
    jobs = [TraceJob(submit=0, duration=1, gpu=each) for each in asked]
    chosen = ["nvidia-t4", "nvidia-l4", "nvidia-a100-40gb", "nvidia-l4", "nvidia-a100-80gb"]
    assert [each.gpu for each in resolved(jobs, types)] == chosen
    eight = [TraceJob(submit=0, duration=1, gpus=8, gpu=each) for each in (None, "t4")]
    assert [each.gpu for each in resolved(eight, types)] == ["nvidia-l4", "nvidia-t4"]
    with pytest.raises(TraceError, match="no GPU type for '200GB'; write one of: nvidia-a100-40gb, "):
        resolved([TraceJob(submit=0, duration=1, gpu="200GB")], types)


def test_without_a_cloud_it_compares_with_the_pools(gpu: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Cluster(FakeCluster):
        def offer(self) -> Any:
            pools = (pool("t4-1", machine_types=("n1-standard-4",)), pool("t4-4", size=4, hourly_usd=2.0))
            return replace(offer(*pools), cloud="gke", region="us-central1")

    in_place(monkeypatch, Cluster, plan)
    code, out, _ = gpu("plan", file_of(tmp_path), "--json")
    assert code == 0
    costs = json.loads(out)["costs"]
    assert set(costs) == {"stack dev", "recommended"}
    assert costs["recommended"]["usd"] < costs["stack dev"]["usd"]
    assert costs["stack dev"]["maxNodes"] == {"t4-1": 3, "t4-4": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--cloud", "own"), "--cloud own: write one of gke, eks, aks"),
        (("--cloud", "gke", "--region", "mars"), "--region mars: gke has no such region"),
        (("--cloud", "gke", "--gpu", "mi300"), "no GPU type for 'mi300'"),
    ],
)
def test_wrong_options_are_refused(arguments: tuple[str, ...], message: str, gpu: Run, tmp_path: Path) -> None:
    code, _, err = gpu("plan", file_of(tmp_path), *arguments)
    assert code == 2
    assert message in err


def test_a_worker_with_more_gpus_than_a_machine_is_refused(gpu: Run, tmp_path: Path) -> None:
    trace = file_of(tmp_path, (TraceJob(submit=0, duration=1, gpus=8),))
    code, _, err = gpu("plan", trace, "--cloud", "gke", "--gpu", "t4")
    assert (code, "a worker asks for 8 nvidia-t4, a machine has 4 at most; use more workers" in err) == (2, True)


def test_a_file_that_is_not_there_or_wrong_is_a_message(gpu: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("submit_seconds,gpus,duration_seconds\n0,none,1\n")
    assert gpu("plan", str(tmp_path / "none.csv"), "--cloud", "gke")[0] == 2
    code, _, err = gpu("plan", str(tmp_path / "bad.csv"), "--cloud", "gke")
    assert (code, "bad.csv:2: column gpus: 'none': write a whole number, at least 1" in err) == (2, True)


def test_a_generated_trace_is_printed(gpu: Run) -> None:
    code, out, _ = gpu("trace", "bursty", "--jobs", "20", "--days", "1")
    assert (code, len(out.splitlines())) == (0, 21)
    assert gpu("trace", "bursty", "--jobs", "20", "--days", "1")[1] == out
    assert gpu("trace", "random")[0] == 2


def test_spot_is_compared_where_its_price_is_not_known_but_given() -> None:
    known, assumed = Market("eks", "us-west-2"), Market("eks", "us-west-2", spot_percent=40)
    jobs = resolved(JOBS, types_of(known.pools()), "t4")
    assert not any(each.scaling.spot for each in known.pools())
    assert all(not each.scaling.spot for each in recommend(jobs, known, max_wait=1800).design.offer.pools)
    best = recommend(jobs, assumed, max_wait=1800)
    assert best.cost.paid_spot == best.cost.paid
    assert best.cost.usd == pytest.approx(0.4 * (recommend(jobs, known, max_wait=1800).cost.usd or 0), rel=0.1)


HEADER = "submit_seconds,gpus,gpu,workers,duration_seconds,max_wait_seconds,priority\n"


def test_a_trace_has_a_job_per_line_in_order_of_submission() -> None:
    text = HEADER + "60,4,a100,2,3600,900,5\n\n0,1,,,30,,\n"
    assert read_trace(text, "t.csv") == (
        TraceJob(submit=0, gpus=1, duration=30),
        TraceJob(submit=60, gpus=4, gpu="a100", workers=2, duration=3600, max_wait=900, priority=5),
    )


def test_three_columns_are_enough_in_any_order() -> None:
    (read,) = read_trace("duration_seconds,submit_seconds,gpus\n1.5,2,3\n", "t")
    assert read == TraceJob(submit=2, gpus=3, duration=1.5)


def test_all_problems_are_listed_with_line_and_column() -> None:
    text = HEADER + "0,0,,1,30,,\n-1,1,,x,0,soon,high\n1,2\n0,1,,1,30,,\n"
    with pytest.raises(TraceError) as raised:
        read_trace(text, "t.csv")
    assert raised.value.problems == (
        "t.csv:2: column gpus: '0': write a whole number, at least 1",
        "t.csv:3: column submit_seconds: '-1': write seconds since the start of the trace",
        "t.csv:3: column workers: 'x': write a whole number, at least 1",
        "t.csv:3: column duration_seconds: '0': write seconds, more than 0",
        "t.csv:3: column max_wait_seconds: 'soon': write seconds, or nothing",
        "t.csv:3: column priority: 'high': write a whole number; higher starts first",
        "t.csv:4: 2 cells, the header has 7",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gpus,duration_seconds\n1,1\n", "t:1: no column submit_seconds"),
        ("submit_seconds,gpus,duration_seconds,gpus\n", "t:1: column gpus: write submit_seconds, gpus, "),
        ("submit_seconds,gpus,duration_seconds,color\n", "t:1: column color: write submit_seconds, gpus, "),
        ("submit_seconds,gpus,duration_seconds\n", "t: no jobs"),
        ("", "t:1: no column submit_seconds"),
    ],
)
def test_a_wrong_header_is_one_problem_each(text: str, problem: str) -> None:
    with pytest.raises(TraceError, match=problem):
        read_trace(text, "t")


def test_a_message_lists_twenty_problems_and_counts_the_rest() -> None:
    with pytest.raises(TraceError) as raised:
        read_trace("submit_seconds,gpus,duration_seconds\n" + "0,0,1\n" * 25, "t")
    assert str(raised.value).splitlines()[-1] == "and 5 more"
    assert len(str(raised.value).splitlines()) == 21


def test_a_gpu_is_a_type_or_the_least_memory() -> None:
    memory = {gpu: TraceJob(submit=0, duration=1, gpu=gpu).gpu_memory_gib for gpu in ("24GB", "40 GiB", "80Gi", "l4")}
    assert memory == {"24GB": 24, "40 GiB": 40, "80Gi": 80, "l4": None}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_generated_trace_is_read_as_it_was_written_and_the_same_for_a_seed(pattern: Pattern) -> None:
    jobs = generated(pattern, jobs=100, days=3, seed=1, largest=4)
    assert len(read_trace(written(jobs), "t")) == 100
    assert jobs == generated(pattern, jobs=100, days=3, seed=1, largest=4)
    assert jobs != generated(pattern, jobs=100, days=3, seed=2, largest=4)
    assert all(0 <= job.submit <= 3 * 86_400 + 600 and job.gpus in (1, 2, 4) for job in jobs)


def test_by_day_there_are_more_jobs_than_at_night() -> None:
    hours = [job.submit / 3600 % 24 for job in generated("diurnal", jobs=400, days=7, seed=1)]
    assert sum(6 <= hour < 18 for hour in hours) > 300


def test_runs_of_a_sweep_are_equal_and_submitted_together() -> None:
    jobs = generated("sweep", jobs=48, days=1, seed=1)
    assert len(set(jobs)) == 2
