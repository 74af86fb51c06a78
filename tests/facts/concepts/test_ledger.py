"""The ledger counts each node and pod once, whoever writes it and however often, and equals the bill to the cent."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timezone
from typing import Any
from unittest import mock

import pytest

from facts.concepts import ledger
from facts.concepts.kubernetes import gpu_limit
from rehearsal.checks.ledger_cluster import LedgerCluster, at, job_uid, pool

POOLS = [pool("l4", 1.0), pool("h100", 98.0, gpus=8), pool("l4-spot", 0.4), pool("unpriced", None)]
NOON = datetime(2026, 11, 29, 12, tzinfo=timezone.utc).timestamp()
MINUTE, HOUR, DAY = 60, 3600, 86_400


def cluster(now: float = NOON) -> LedgerCluster:
    return LedgerCluster(pools=[dict(each) for each in POOLS], now=now)


def passing(there: LedgerCluster, minutes: float, every: int = ledger.EVERY_MINUTES) -> None:
    """Time passes, and the program runs."""
    end = there.now + minutes * MINUTE
    while there.now + every * MINUTE <= end:
        there.now += every * MINUTE
        there.run()
    there.now = end


def totals(there: LedgerCluster) -> dict[str, float]:
    return ledger.month_of(there.days().values())


def test_a_job_pays_for_its_share_while_it_runs_and_while_its_node_starts() -> None:
    there = cluster()
    there.run()
    there.add_node("n", "h100")
    there.add_pod("p", "n", gpus=2, job="train", user="ada@example.org", team="vision")
    passing(there, 6)
    there.run_pod("p")
    passing(there, 60)
    there.end_pod("p")
    passing(there, 20)
    (day,) = there.days().values()
    (pod,) = day.pods.values()
    assert (pod.namespace, pod.job, pod.user, pod.gpus) == ("vision", "train", "ada@example.org", 2)
    share = 98.0 * 2 / 8
    assert ledger.cost_of(pod) == pytest.approx((2.0, share, share / 10))
    (node,) = day.nodes.values()
    assert node.end - node.start == 86 * MINUTE, "until it was seen last"
    assert ledger.idle_usd(day) == pytest.approx(98 * 86 / 60 - share * 1.1)


@pytest.mark.parametrize("over_midnight", [False, True])
@pytest.mark.parametrize("claims", [True, False])
def test_a_machine_is_billed_before_it_is_a_node(claims: bool, over_midnight: bool) -> None:
    """By its NodeClaim to the cent; without, the start of each machine is missing, and the ledger says so."""
    there = cluster(NOON // DAY * DAY + 2 * MINUTE if over_midnight else NOON)
    there.claims = {} if claims else None
    there.run()
    for number, (pool_name, seconds) in enumerate([("l4", 90), ("h100", 240), ("l4-spot", 30)]):
        there.add_node(f"n{number}", pool_name, seconds)
    there.add_pod("p", "n1", gpus=8)
    there.pods["p"]["metadata"]["creationTimestamp"] = at(there.now - 300)
    passing(there, 6)
    there.run_pod("p")
    passing(there, 54)
    for number in range(3):
        there.remove_node(f"n{number}")
    passing(there, 10)
    missing = 0.0 if claims else (90 * 1.0 + 240 * 98.0 + 30 * 0.4) / HOUR
    assert there.recorded_usd == pytest.approx(there.bill - missing)
    assert there.config_maps[ledger.HEAD]["data"]["starts"] == ("machines" if claims else "nodes")
    waited = [ledger.cost_of(pod).provisioning for day in there.days().values() for pod in day.pods.values()]
    assert sum(waited) == pytest.approx(98.0 * (360 + 240 * claims) / HOUR)


def test_the_claim_of_another_node_counts_nothing() -> None:
    there = cluster()
    there.claims = {}
    there.run()
    there.add_node("n", "l4", 60)
    there.claims["n"]["metadata"]["uid"] = "another"
    passing(there, 5)
    (node,) = (node for day in there.days().values() for node in day.nodes.values())
    assert node.start == NOON


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_writing_again_counts_nothing_twice(runs: int) -> None:
    there = cluster()
    there.add_node("n", "l4")
    there.add_pod("p", "n")
    there.run_pod("p")
    there.now += 10 * MINUTE
    for _ in range(runs):
        there.run()
    assert totals(there)["running"] == pytest.approx(1 / 6, abs=1e-4)
    versions = {each["metadata"]["resourceVersion"] for each in there.config_maps.values()}
    assert versions == {"1"}, "nothing is written that is known"


def test_two_writers_at_the_same_time_lose_and_double_nothing() -> None:
    there = cluster()
    there.run()
    for number in range(3):
        there.add_node(f"n{number}", "l4")
    there.now += 5 * MINUTE

    def other() -> None:
        there.now -= MINUTE  # its clock is behind, or it began earlier
        there.run()
        there.now += MINUTE

    there.before_write.append(other)
    there.run()
    assert [len(day.nodes) for day in there.days().values()] == [3]
    assert there.recorded_usd == pytest.approx(there.bill, abs=0.005)
    there.before_write += [other] * 2
    there.now += 5 * MINUTE
    there.run()
    assert there.recorded_usd == pytest.approx(there.bill, abs=0.005)


def test_who_is_always_overtaken_gives_up_without_a_wrong_entry() -> None:
    there = cluster()
    there.add_node("n", "l4")
    there.run()

    def other() -> None:
        for each in there.config_maps.values():
            each["metadata"]["resourceVersion"] += "0"
        there.before_write.append(other)

    there.now += HOUR
    there.before_write.append(other)
    with pytest.raises(SystemExit, match="2026-11-29: others write all the time"):
        there.run()
    there.before_write.clear()
    there.run()
    assert there.recorded_usd == pytest.approx(there.bill, abs=0.005)


@pytest.mark.parametrize("event", [True, False])
def test_a_node_that_is_gone_ends_when_kubernetes_noted_it_or_was_last_seen(event: bool) -> None:
    there = cluster()
    there.add_node("n", "l4")
    there.add_pod("p", "n")
    there.run_pod("p")
    passing(there, 10)
    there.now += 3 * MINUTE
    there.remove_node("n", event)
    passing(there, 30)
    (day,) = there.days().values()
    (node,), (pod,) = day.nodes.values(), day.pods.values()
    assert node.final
    assert pod.final
    assert node.end - node.start == pod.end - pod.start == (13 if event else 10) * MINUTE


def test_a_node_whose_end_kubernetes_notes_some_seconds_later_loses_no_minute() -> None:
    """The program ran in between: https://github.com/kubernetes/kubernetes/blob/v1.34.4/cmd/kube-controller-manager
    (``--node-monitor-period``, 5 seconds)."""
    there = cluster()
    there.add_node("n", "h100")
    there.add_pod("p", "n", gpus=8)
    there.run_pod("p")
    passing(there, 10)
    there.now += 5 * MINUTE - 3
    metadata = there.nodes["n"]["metadata"]
    there.remove_node("n", event=False)
    there.now += 3
    there.run()
    there.now += 1
    there.note("RemovingNode", metadata, "Node")
    passing(there, 30)
    (day,) = there.days().values()
    (node,), (pod,) = day.nodes.values(), day.pods.values()
    assert node.final
    assert pod.final
    assert node.end - node.start == pod.end - pod.start == 15 * MINUTE + 1
    assert there.recorded_usd == pytest.approx(there.bill + 98 * 4 / HOUR, abs=0.005)


@pytest.mark.parametrize("minutes", [1, 4])
def test_a_node_that_came_and_went_between_two_runs_counts_by_its_events(minutes: int) -> None:
    there = cluster()
    passing(there, 10)
    there.add_job("j", there.now, "h100", gpus=8, succeeded=0, end=False)
    there.add_node("admin", "cpu")
    there.add_node("n", "h100")
    there.add_pod("j-a1b2c", "n", gpus=8, job="j")
    there.run_pod("j-a1b2c")
    there.now += minutes * MINUTE
    there.pools.append(pool("cpu", 0.0))  # of a node without a GPU nobody knows the pool any more
    there.remove_node("n")
    there.remove_node("admin")
    passing(there, 10)
    (day,) = there.days().values()
    assert [(node.name, node.pool, node.end - node.start) for node in day.nodes.values()] == [
        ("n", "h100", minutes * MINUTE)
    ]
    assert there.recorded_usd == pytest.approx(there.bill, abs=0.005)


@pytest.mark.parametrize("written", ["2099-01-01T00:00:00Z", "2020-01-01T00:00:00Z"])
def test_times_that_a_user_has_written_into_an_event_count_for_nothing(written: str) -> None:
    there = cluster()
    there.add_node("n", "l4")
    passing(there, 10)
    there.remove_node("n")
    there.events[-1] |= {"firstTimestamp": written, "eventTime": written}
    passing(there, 5)
    (day,) = there.days().values()
    (node,) = day.nodes.values()
    assert (node.end - node.start, node.final) == (10 * MINUTE, True)
    assert len(there.config_maps) == 2


def with_two_nodes_that_went() -> LedgerCluster:
    """A cluster in which two nodes, ``n0`` and ``n1``, have gone after an hour with a pod of a Job each."""
    there = cluster()
    there.run()
    for number in range(2):
        there.add_job(f"j{number}", there.now, "l4", end=False)
        there.add_node(f"n{number}", "l4")
        there.add_pod(f"j{number}-a1b2c", f"n{number}", job=f"j{number}")
        there.run_pod(f"j{number}-a1b2c")
    there.now += HOUR
    for number in range(2):
        there.remove_node(f"n{number}")
    return there


@pytest.mark.parametrize("without", [("name",), ("uid",), ("namespace",), ("name", "uid", "namespace", "kind")])
@pytest.mark.parametrize("reason", ["Scheduled", "RegisteredNode", "RemovingNode"])
def test_an_event_that_a_user_has_left_incomplete_ends_no_run(reason: str, without: tuple[str, ...]) -> None:
    """The API server takes events without a name and UID of what they are about."""
    there = with_two_nodes_that_went()
    odd = next(each for each in there.events if each["reason"] == reason)
    odd["involvedObject"] = {key: value for key, value in odd["involvedObject"].items() if key not in without}
    there.run()
    names = {node.name for day in there.days().values() for node in day.nodes.values()}
    assert "n1" in names, "what is complete counts"


@pytest.mark.parametrize("key", ["name", "uid"])
def test_an_event_with_a_longer_name_than_objects_have_is_none_of_kubernetes(key: str) -> None:
    """What is kept of it would have no room in a ConfigMap, so that no run could write any more."""
    there = with_two_nodes_that_went()
    for each in [each for each in there.events if each["involvedObject"]["name"].startswith(("n0", "j0"))]:
        each["involvedObject"] = {**each["involvedObject"], key: f"n0{'x' * 1_200_000}"}
    there.run()
    nodes = [node for day in there.days().values() for node in day.nodes.items()]
    assert [node.name for _, node in nodes] == ["n1"]
    assert all(len(uid) + len(node.name) < 1000 for uid, node in nodes)


class Text(dict[str, str]):
    """A large part of an object."""


def test_jobs_of_any_size_fit_into_the_memory_of_the_program() -> None:
    """An object of 1.5 MiB takes nine times that while a page is read (4 bytes for a character of its text, and of its
    parts), and 4 times in the page before: 390 MiB of 512 for 20 objects each."""
    there = cluster()
    for number in range(150):
        there.add_job(f"j{number}", NOON, "l4", end=False, succeeded=0)
    texts: list[weakref.ref[Text]] = []
    alive: list[int] = []
    answer_to = there.request

    def request(method: str, path: str, body: Any = None) -> Any:
        answer = answer_to(method, path, body)
        if path.startswith("/apis/batch/v1/jobs"):
            answer = deepcopy(answer)
            for each in answer["items"]:
                text = Text(name="TEXT")
                each["spec"]["template"]["spec"]["containers"][0]["env"] = [text]
                each["metadata"]["annotations"] = text
                texts.append(weakref.ref(text))
        alive.append(sum(each() is not None for each in texts))
        return answer

    with mock.patch.object(there, "request", request):
        there.run()
    assert len(texts) == 150
    assert max(alive) <= 40


def test_any_number_of_events_ends_no_run() -> None:
    """Who may create events writes them faster than they are read, and a run has four minutes."""
    there = cluster()
    passing(there, 10)
    there.add_node("n", "l4")
    there.now += HOUR
    asked: list[str] = []
    answer_to = there.request

    def request(method: str, path: str, body: Any = None) -> Any:
        asked.append(path)
        answer = answer_to(method, path, body)
        more = {"metadata": {"continue": "0"}} if path.startswith("/api/v1/events") else {}
        return {**answer, **more}

    def clock() -> float:
        return float(len(asked))

    with mock.patch.object(there, "request", request), mock.patch.object(ledger, "monotonic", clock):
        there.add_job("j", there.now, "l4", end=False)
        there.run()
    assert len(asked) < 240, "at a second for a page"
    assert [node.name for day in there.days().values() for node in day.nodes.values()] == ["n"]


@pytest.mark.parametrize(("namespace", "known"), [("default", True), ("team-a", False)])
def test_events_of_nodes_count_in_the_namespace_of_the_clusters_owner_alone(namespace: str, known: bool) -> None:
    there = cluster()
    passing(there, 10)
    there.now += HOUR // 2
    there.add_node("n", "l4")
    there.remove_node("n")
    for event in there.events:
        event["metadata"]["namespace"] = namespace
    there.run()
    assert [name for day in there.days().values() for name in day.nodes] == ["uid-n"] * known


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("8", 8),
        ("2k", 2000),
        ("3M", 3_000_000),
        ("1Ki", 1024),
        ("2Gi", 2 * 1024**3),
        ("1E", 10**18),
        ("2e3", 2000),
    ],
)
def test_a_number_of_gpus_as_the_api_server_writes_it(text: str, number: int) -> None:
    there = cluster()
    there.add_node("n", "l4")
    there.add_pod("p", "n")
    there.pods["p"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = text
    there.run()
    assert [pod.gpus for day in there.days().values() for pod in day.pods.values()] == [number] * bool(number)


@pytest.mark.parametrize("text", ["", "x", "1x", "k", "nan", "inf", "1e999"])
@pytest.mark.parametrize("kind", ["pods", "jobs"])
def test_an_object_that_cannot_be_read_costs_its_own_entry(kind: str, text: str) -> None:
    there = cluster()
    there.add_node("n", "l4")
    for name in ("odd", "plain"):
        there.add_pod(name, "n")
        there.run_pod(name)
        there.add_job(name, NOON, "l4")
    odd = getattr(there, kind)["odd"]
    pod = odd["spec"] if kind == "pods" else odd["spec"]["template"]["spec"]
    pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = text
    there.now += HOUR
    there.run()
    (day,) = there.days().values()
    assert "uid-plain" in day.pods
    assert ("uid-odd" in day.pods) is (kind == "jobs")


@pytest.mark.parametrize(
    ("first", "gpus"),
    [
        ([{"restartPolicy": "Always", "n": 2}], 3),
        ([{"n": 4}], 4),
        ([{"n": 1}, {"restartPolicy": "Always", "n": 1}], 2),
        ([{"restartPolicy": "Always", "n": 1}, {"n": 4}], 5),
    ],
)
def test_gpus_of_init_containers_and_sidecars_count(first: list[dict[str, Any]], gpus: int) -> None:
    there = cluster()
    there.add_node("n", "h100")
    there.add_pod("p", "n")
    there.pods["p"]["spec"]["initContainers"] = [
        {**each, "resources": {"limits": {"nvidia.com/gpu": str(each["n"])}}} for each in first
    ]
    assert gpu_limit(there.pods["p"]["spec"]) == gpus, "all others count as the ledger does"
    there.run()
    assert [pod.gpus for day in there.days().values() for pod in day.pods.values()] == [gpus]


def test_each_day_has_its_part() -> None:
    there = cluster(NOON + 11 * HOUR)
    there.add_node("n", "l4")
    there.add_pod("p", "n")
    there.now += 30 * MINUTE
    there.run_pod("p")
    passing(there, 120)
    there.remove_node("n")
    passing(there, 10)
    days = there.days()
    assert {day: [round(node.end - node.start) for node in each.nodes.values()] for day, each in days.items()} == {
        "2026-11-29": [HOUR],
        "2026-11-30": [90 * MINUTE],
    }
    assert [round(sum(ledger.cost_of(pod).running for pod in each.pods.values()), 2) for each in days.values()] == [
        0.5,
        1.5,
    ]
    assert there.recorded_usd == pytest.approx(there.bill, abs=0.005)


def test_a_price_that_changes_holds_for_new_nodes() -> None:
    there = cluster(NOON + 11 * HOUR)
    there.add_node("old", "l4")
    passing(there, 30)
    there.pools[0]["hourly_usd"] = 2.0
    there.add_node("new", "l4")
    passing(there, 90)
    prices = {
        node.name: {day.nodes[uid].usd for day in there.days().values()}
        for uid, node in there.days()["2026-11-30"].nodes.items()
    }
    assert prices == {"old": {1.0}, "new": {2.0}}


def test_a_pool_that_is_no_longer_published_goes_on_at_its_price() -> None:
    there = cluster()
    there.add_node("n", "l4")
    passing(there, 10)
    del there.pools[0]
    passing(there, 10)
    (node,) = there.days()["2026-11-29"].nodes.values()
    assert (node.usd, node.final, node.end - node.start) == (1.0, False, 20 * MINUTE)


def ended_while_down(there: LedgerCluster) -> None:
    """A pod ran for an hour on a node that is gone, and is still there."""
    there.add_node("n", "l4")
    there.add_pod("p", "n", job="train")
    there.pods["p"]["spec"]["nodeSelector"] = {"gpucluster.dev/pool": "l4"}
    there.run_pod("p")
    there.now += HOUR
    there.end_pod("p")
    pod = there.pods["p"]
    there.remove_node("n")
    there.pods["p"] = pod
    there.add_job("train", there.now - HOUR, "l4")


def gone_while_down(there: LedgerCluster) -> None:
    """The pods are gone as well; their Job is there."""
    started = there.now
    there.now += HOUR
    there.add_job("train", started, "l4")


@pytest.mark.parametrize("happened", [ended_while_down, gone_while_down])
def test_what_ended_while_the_program_was_down_is_counted_by_its_own_times(
    happened: Callable[[LedgerCluster], None],
) -> None:
    there = cluster()
    there.run()
    happened(there)
    there.now += 2 * HOUR
    there.run()
    there.run()
    (pod,) = there.days()["2026-11-29"].pods.values()
    assert (pod.job, pod.estimated, ledger.cost_of(pod).running) == ("train", True, pytest.approx(1.0))
    assert there.days()["2026-11-29"].missing == {}


def test_the_days_of_jobs_that_ended_while_the_program_was_down_are_read_once() -> None:
    there = cluster()
    there.run()
    started = there.now
    there.now += 25 * HOUR
    there.run()
    there.now += HOUR
    for number in range(20):
        there.add_job(f"j{number}", started, "l4")
    with mock.patch.object(ledger, "_of_days", side_effect=vars(ledger)["_of_days"]) as read:
        there.run()
    assert read.call_count == 1
    assert {pod.job for day in there.days().values() for pod in day.pods.values()} == {f"j{n}" for n in range(20)}


def came_and_went(there: LedgerCluster, pool: str, pods: int, *, job: str = "train", gpus: int = 1) -> None:
    """A node comes, runs the Job's pods for 20 minutes and goes."""
    name = f"n{len(there.events)}"
    there.add_node(name, pool)
    started = there.now
    for number in range(pods):
        there.add_pod(f"{job}-{number}-x{number}x{len(there.events):03}", name, gpus, job=job)
    there.now += 20 * MINUTE
    there.remove_node(name)
    if job:
        there.add_job(job, started, pool, gpus=gpus, succeeded=pods)
    there.now += 5 * MINUTE


@pytest.mark.parametrize(
    ("pool", "pods", "gpus", "running"), [("l4", 1, 1, 1 / 3), ("h100", 2, 2, 98 / 6), ("h100", 8, 1, 98 / 3)]
)
def test_a_node_that_came_and_went_while_the_program_was_down_is_counted_by_its_events(
    pool: str, pods: int, gpus: int, running: float
) -> None:
    there = cluster()
    there.events_kept = HOUR
    there.run()
    there.now += 10 * MINUTE
    came_and_went(there, pool, pods, gpus=gpus)
    for _ in range(3):
        there.run()
        there.now += 5 * MINUTE
    (day,) = there.days().values()
    (node,) = day.nodes.values()
    assert (node.pool, node.final, node.end - node.start) == (pool, True, 20 * MINUTE)
    assert {pod.job for pod in day.pods.values()} == {"train"}
    assert len(day.pods) == pods
    assert day.missing == {}
    assert totals(there)["running"] == pytest.approx(running, abs=1e-4)
    assert there.recorded_usd == pytest.approx(there.bill, abs=1e-4)


def pods_of_others(there: LedgerCluster) -> None:
    """A service's pods, which no Job has."""
    came_and_went(there, "l4", 1, job="")


def begun_before_the_events(there: LedgerCluster) -> None:
    """Only the end of the node is known."""
    there.add_node("n", "l4")
    there.now += 2 * HOUR
    there.add_pod("train-abcde", "n", job="train")
    there.remove_node("n")
    there.add_job("train", there.now, "l4")
    there.now += 5 * MINUTE


def removed_without_an_event(there: LedgerCluster) -> None:
    """The node was there when the program ran last; when it went is not known."""
    there.add_node("n", "l4")
    there.run()
    there.now += 20 * MINUTE
    there.remove_node("n")
    there.now += 2 * HOUR


@pytest.mark.parametrize(
    ("happened", "pool", "at_most"),
    [
        (pods_of_others, "", 20 * MINUTE),
        (begun_before_the_events, "l4", 2 * HOUR),
        (removed_without_an_event, "l4", 2 * HOUR + 20 * MINUTE),
    ],
)
def test_a_node_of_which_too_little_is_known_is_listed_and_not_counted(
    happened: Callable[[LedgerCluster], None], pool: str, at_most: int
) -> None:
    there = cluster()
    there.events_kept = HOUR
    there.run()
    happened(there)
    there.run()
    there.now += 5 * MINUTE
    there.run()
    (listed,) = [node for day in there.days().values() for node in day.nodes.values() if ledger.uncounted(node)]
    assert (listed.pool, listed.end - listed.start) == (pool, at_most)
    assert there.recorded_usd == 0


def test_a_job_that_ended_while_the_program_was_down_ends_its_pods_and_keeps_its_node_as_long() -> None:
    there = cluster()
    there.events_kept = HOUR
    there.add_node("n", "l4")
    there.add_pod("train-abcde", "n", job="train")
    there.run_pod("train-abcde")
    started = there.now
    there.now += 10 * MINUTE
    there.run()
    there.now += 50 * MINUTE
    there.add_job("train", started, "l4")
    there.remove_node("n")
    there.now += 2 * HOUR
    there.run()
    assert totals(there)["running"] == pytest.approx(1.0)
    assert totals(there)["idle"] == 0
    (rest,) = [node for node in there.days()["2026-11-29"].nodes.values() if ledger.uncounted(node)]
    assert rest.end - rest.start == 2 * HOUR, "how long the node was idle is not known"


def test_a_sweep_counts_as_many_runs_at_once_as_it_may_have() -> None:
    there = cluster()
    there.run()
    there.now += HOUR
    there.add_job("sweep", NOON, "l4", succeeded=100, parallelism=8)
    there.now += 2 * HOUR
    there.run()
    (pod,) = there.days()["2026-11-29"].pods.values()
    assert (pod.gpus, ledger.cost_of(pod).running) == (8, pytest.approx(8.0))


def test_a_node_has_the_price_of_a_pool_that_all_its_pods_may_use() -> None:
    there = cluster()
    there.events_kept = HOUR
    there.run()
    there.add_node("n", "l4-spot")
    for number, pools in enumerate((["l4", "l4-spot", "h100"], ["l4-spot"])):
        there.add_pod(f"j{number}-abcde", "n", job=f"j{number}")
        there.add_job(f"j{number}", there.now, "l4")
        selected = {"key": "gpucluster.dev/pool", "operator": "In", "values": pools}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [selected]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        there.jobs[f"j{number}"]["spec"]["template"]["spec"] |= {"nodeSelector": {}, "affinity": affinity}
    there.now += 30 * MINUTE
    there.remove_node("n")
    there.run()
    (node,) = there.days()["2026-11-29"].nodes.values()
    assert (node.pool, node.usd, node.spot, node.at_most) == ("l4-spot", 0.4, True, False)


def test_pods_that_replaced_each_other_share_their_time() -> None:
    there = cluster()
    there.events_kept = HOUR
    there.run()
    there.add_node("n", "l4")
    for number in range(3):
        there.add_pod(f"train-a{number}bcd", "n", job="train")
        there.now += 10 * MINUTE
    there.remove_node("n")
    there.add_job("train", NOON, "l4", succeeded=1)
    there.now += 5 * MINUTE
    there.run()
    assert totals(there) == {"gpu_hours": 0.5, "running": 0.5, "provisioning": 0.0, "idle": 0.0}


@pytest.mark.parametrize(
    ("job", "missing"),
    [
        ({"pool": "unpriced"}, 3),
        ({"pool": ""}, 3),
        ({"pool": "gone"}, 3),
        ({"pool": "l4", "end": False}, None),
    ],
    ids=["no price", "any pool", "no such pool", "still running"],
)
def test_what_cannot_be_counted_is_listed(job: dict[str, Any], missing: int | None) -> None:
    there = cluster()
    there.run()
    there.now += HOUR
    there.add_job("train", NOON, succeeded=3, **job)
    there.run()
    assert there.days().get("2026-11-29", ledger.Day({}, {}, {})).missing == (
        {job_uid("train"): missing} if missing else {}
    )


@pytest.mark.parametrize(
    ("written", "gpus"), [("1k", 1000), ("2M", 2_000_000), ("1Ki", 1024), ("8", 8), (8, 8), (None, 0), ("x", 0)]
)
def test_a_job_with_many_gpus_does_not_end_the_recording_for_all(written: str | int | None, gpus: int) -> None:
    """The API server writes 1000 as 1k: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/"""
    there = cluster()
    there.run()
    there.add_node("n", "l4")
    there.add_pod("p", "n", job="train")
    there.add_pod("many", "n", job="many")
    there.add_job("many", NOON, "l4", end=False)
    containers = [{"resources": {"limits": {"nvidia.com/gpu": written}}}]
    there.pods["many"]["spec"]["containers"] = containers
    there.jobs["many"]["spec"]["template"]["spec"]["containers"] = containers
    there.run()
    counted = {pod.job: pod.gpus for day in there.days().values() for pod in day.pods.values()}
    assert counted == {"train": 1, **({"many": gpus} if gpus else {})}


def test_pods_that_were_seen_are_not_counted_by_their_job_as_well() -> None:
    there = cluster(NOON - 3 * DAY)
    there.run()
    started = there.now
    for number in range(3):
        there.add_node(f"n{number}", "l4")
        there.add_pod(f"p{number}", f"n{number}", job="train")
        there.run_pod(f"p{number}")
        passing(there, 24 * 60, every=60)
        there.end_pod(f"p{number}")
        passing(there, 30)
        there.remove_node(f"n{number}")
    there.add_job("train", started, "l4", succeeded=3)
    passing(there, 30)
    assert not [pod for day in there.days().values() for pod in day.pods.values() if pod.estimated]


def test_a_pod_of_another_namespace_that_names_a_job_takes_nothing_of_its_time() -> None:
    there = cluster(NOON - 3 * DAY)
    there.run()
    started = there.now
    there.add_node("n", "l4")
    there.add_pod("p", "n", job="train", team="other")
    there.run_pod("p")
    passing(there, 60)
    there.end_pod("p")
    passing(there, 30)
    there.remove_node("n")
    there.add_job("train", started, "l4")
    passing(there, 30)
    assert {pod.namespace for day in there.days().values() for pod in day.pods.values() if pod.estimated} == {"ml"}


def test_ten_thousand_pods_a_day_stay_below_the_size_limit() -> None:
    there = cluster()
    there.run()
    long = "x" * 63
    for number in range(50):
        there.add_node(f"n{number}", "h100")
    for number in range(10_000):
        there.add_pod(f"p{number}", f"n{number % 50}", job=long, user="ü" * 200, team=long)
    there.now += HOUR
    there.run()  # the cluster refuses ConfigMaps above the limit
    (day,) = there.days().values()
    assert len(day.pods) == 10_000
    assert len(there.config_maps) > 2


def test_old_months_are_one_line_each() -> None:
    there = cluster(datetime(2026, 6, 29, 12, tzinfo=timezone.utc).timestamp())
    there.add_node("n", "l4")
    there.run()
    passing(there, 3 * 24 * 60, every=12 * 60)
    there.remove_node("n")
    there.run()
    june = there.days()
    there.now = datetime(2026, 9, 30, 23, 59, tzinfo=timezone.utc).timestamp()
    there.run()
    assert there.days() == june, "the limit is not reached"
    there.now += 2 * MINUTE
    there.run()
    assert [*there.days()] == ["2026-07-01", "2026-07-02"]
    lines = {key: value for key, value in there.config_maps[ledger.HEAD]["data"].items() if key[:2] == "20"}
    assert lines == {"2026-06": '{"gpu_hours": 0.0, "running": 0.0, "provisioning": 0.0, "idle": 36.0}'}
    there.now += 40 * DAY
    there.run()
    there.run()
    assert there.days() == {}
    assert there.config_maps[ledger.HEAD]["data"].keys() == {"starts", "until", "2026-06", "2026-07"}


def test_a_month_equals_the_bill_to_the_cent() -> None:
    """Nodes and jobs come and go at random for 30 days. The program is down for some hours, and sometimes two run."""
    chance = random.Random(7)
    there = cluster(datetime(2026, 11, 1, tzinfo=timezone.utc).timestamp())
    there.run()
    made, unseen = 0, set[str]()
    for step in range(30 * 8):
        there.now += chance.randrange(2 * HOUR, 4 * HOUR)
        for name in [*there.nodes]:
            phases = {key: pod["status"]["phase"] for key, pod in there.pods.items() if pod["spec"]["nodeName"] == name}
            for key, phase in phases.items():
                if phase == "Pending":
                    there.run_pod(key)
                elif phase == "Running" and chance.random() < 0.5:
                    there.end_pod(key)
            # Nobody knows of a node that came and went while the program was down.
            if name not in unseen and {*phases.values()} <= {"Succeeded"} and chance.random() < 0.5:
                there.remove_node(name)
        if chance.random() < 0.7:
            made += 1
            of = chance.choice(POOLS[:3])
            there.add_node(f"n{made}", of["name"])
            unseen.add(f"n{made}")
            for number in range(chance.choice([1, 1, 2, 8]) if of["name"] == "h100" else 1):
                there.add_pod(f"p{made}-{number}", f"n{made}", job=f"j{made}")
        if step % 20 == 5:
            there.before_write.append(there.run)
        if step % 20 < 17:
            there.run()
            unseen.clear()
    there.run()
    assert made > 100
    assert there.recorded_usd == pytest.approx(there.bill, abs=0.005)
    assert min(totals(there).values()) > 0


def entry(start: int, end: int, *, final: bool = False, running: int | None = None) -> ledger.Day:
    pod = ledger.PodEntry("ml", "j", "", "", "n", 1, 1.0, start, running, end, final, False)
    return ledger.Day({"n": ledger.NodeEntry("n", "l4", False, 1.0, False, start, end, final)}, {"p": pod}, {})


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (entry(10, 20), entry(10, 30), entry(10, 30)),
        (entry(10, 30), entry(12, 20), entry(10, 30)),
        # What is gone has its end, although somebody saw it later: clocks differ.
        (entry(10, 20, final=True), entry(10, 30), entry(10, 20, final=True)),
        (entry(10, 25, final=True), entry(10, 20, final=True), entry(10, 25, final=True)),
        (entry(10, 20), entry(10, 30, running=25), entry(10, 30, running=25)),
        (entry(10, 20, running=18), entry(10, 30, running=25), entry(10, 30, running=18)),
    ],
)
def test_it_does_not_matter_who_writes_first(one: ledger.Day, other: ledger.Day, both: ledger.Day) -> None:
    assert ledger.merged([one, other]) == ledger.merged([other, one]) == both
