"""``prove`` on a cluster that works, on ten broken ones, and cut off at every step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from account.prove import report
from account.prove.command import ProveOptions, prove
from account.prove.plan import ENDING_SECONDS, LABEL, OWNER, ProveError, ProveRequest, described, jobs_of, plan
from account.prove.run import ProveOutcome, ProveRun
from facts.concepts.offer import CONFIG_MAP, Offer, TeamOffer, from_config_map
from gpu.cluster import ClusterError
from packages.account.tests.fake_cluster import START, FakeCluster, Faults
from packages.account.tests.transcript import PAGE, comparable
from packages.gpu.tests.offers import offer, pool
from tests.stacks import run_program

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"


def two_pools() -> Offer:
    return offer(pool("t4-1"), pool("t4-4", size=4, smallest=1))


def request(**changes: Any) -> ProveRequest:
    return ProveRequest(**{"namespace": "default", "user": "developer", "run": "abc123", **changes})


def outcome_of(cluster: FakeCluster, **changes: Any) -> ProveOutcome:
    planned = plan(cluster.published, request(**changes))
    return ProveRun(cluster, cluster.published, planned, lambda line: None, cluster.clock()).run()


def by_id(outcome: ProveOutcome) -> dict[str, Any]:
    return {row.id: row for row in outcome.rows}


def test_a_cluster_as_declared_shows_every_row_and_nothing_stays(tmp_path: Path) -> None:
    cluster = FakeCluster(two_pools())
    outcome = outcome_of(cluster)
    assert {row.result for row in outcome.rows} == {"shown"}, [row for row in outcome.rows if row.result != "shown"]
    each = {
        f"{kind}:{name}" for name in ("t4-1", "t4-4") for kind in ("zero", "job", "driver", "node", "taint", "idle")
    }
    assert {*by_id(outcome)} == each | {"oversized", "system", "bill"}
    assert (cluster.jobs, cluster.nodes) == ({}, {})
    assert report.compare(cluster.published, outcome.evidence, tmp_path / "no rehearsal") == []
    assert cluster.usd() <= outcome.max_usd <= plan(cluster.published, request()).max_usd


FULL = "pod didn't trigger scale-up: 1 max node group size reached"
TEAMS = (
    "team, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=0"
)
QUOTA = "Node scale up in zones a failed: GCE quota exceeded. Pod is at risk of not being scheduled."


@pytest.mark.parametrize(
    ("faults", "row", "result", "words"),
    [
        ({"no_driver": True}, "job:t4-1", "failed", "driver or device plugin is missing"),
        ({"failing_program": True}, "job:t4-1", "failed", "nvidia-smi: not found"),
        ({"no_taints": True}, "taint:t4-1", "failed", "it got the node t4-1-0-0"),
        ({"no_taints": True}, "node:t4-1", "failed", "taint nvidia.com/gpu=present:NoSchedule is missing"),
        ({"autoscaler_dead": True}, "zero:t4-1", "failed", "no autoscaler has said anything"),
        ({"event": ("FailedScaleUp", QUOTA)}, "zero:t4-1", "failed", "quota"),
        ({"event": ("NotTriggerScaleUp", FULL)}, "job:t4-1", "failed", "all matching pools are at maxNodes"),
        ({"quota": TEAMS}, "job:t4-1", "failed", "team quota exceeded (requested: requests.nvidia.com/gpu=1"),
        ({"system_pod": True}, "system", "failed", "kube-system/metrics-server-7d"),
        (
            {"labels": {"gpucluster.dev/pool": None}},
            "zero:t4-1",
            "failed",
            "gpucluster.dev/pool=None, declared is t4-1",
        ),
        ({"labels": {"gpucluster.dev/gpu": "nvidia-l4"}}, "node:t4-1", "failed", "gpucluster.dev/gpu is 'nvidia-l4'"),
        ({"never_ready": True}, "job:t4-1", "failed", "not Ready: cni plugin not initialized"),
        ({"stays": True}, "idle:t4-1", "failed", "min after its job, and costs $1.00/h"),
        ({"pod_of_another": True}, "idle:t4-1", "not shown", "in use by team/training-0"),
    ],
)
def test_each_fault_of_a_cluster_is_named_and_the_bill_stays_below_its_limit(
    faults: dict[str, Any], row: str, result: str, words: str
) -> None:
    cluster = FakeCluster(offer(pool("t4-1")), Faults(**faults))
    outcome = outcome_of(cluster)
    assert (by_id(outcome)[row].result, words in by_id(outcome)[row].detail) == (result, True), by_id(outcome)[row]
    assert by_id(outcome)[row].remedy or result == "not shown"
    assert cluster.usd() <= plan(cluster.published, request()).max_usd
    assert by_id(outcome)["bill"].result == "shown"
    assert cluster.jobs == {}


def test_a_pool_at_its_maximum_is_named_with_who_uses_it() -> None:
    cluster = FakeCluster(offer(pool("t4-1", max_nodes=1)), Faults(event=("NotTriggerScaleUp", FULL)))
    cluster.add_node("old", "team/training-0")
    outcome = outcome_of(cluster)
    rows = by_id(outcome)
    assert rows["zero:t4-1"].detail == "it had 1 node: old (team/training-0)"
    assert (rows["job:t4-1"].result, "all matching pools" in rows["job:t4-1"].detail) == ("failed", True), rows[
        "job:t4-1"
    ]


def test_nodes_that_nobody_asked_for_end_the_run_at_its_limit() -> None:
    cluster = FakeCluster(offer(pool("t4-1", idle_minutes=1)), Faults(nodes_at_once=4))
    outcome = outcome_of(cluster, max_usd=0.75)
    assert "stopped: until their removal the nodes would cost" in by_id(outcome)["job:t4-1"].detail
    assert cluster.usd() <= 0.75
    assert cluster.jobs == {}


def test_another_users_pod_on_a_node_that_was_there_is_named_and_left_alone() -> None:
    cluster = FakeCluster(offer(pool("t4-1")))
    cluster.add_node("old", "team/training-0")
    outcome = outcome_of(cluster)
    zero = by_id(outcome)["zero:t4-1"]
    assert (zero.result, zero.detail) == ("not shown", "it had 1 node: old (team/training-0)")
    assert "training-0" in cluster.pods
    assert by_id(outcome)["job:t4-1"].result == "shown"


@pytest.mark.parametrize(
    ("hidden", "not_shown"),
    [
        ((NODES,), {"nodes", "zero:t4-1", "node:t4-1", "idle:t4-1", "system"}),
        ((PODS,), {"system"}),
    ],
)
def test_what_a_user_may_not_list_is_not_shown_and_costs_at_most(hidden: tuple[str, ...], not_shown: set[str]) -> None:
    cluster = FakeCluster(offer(pool("t4-1")), Faults(hidden=hidden))
    outcome = outcome_of(cluster)
    results = {row.id: row.result for row in outcome.rows}
    assert {each for each, result in results.items() if result == "not shown"} == not_shown
    assert "failed" not in results.values()
    cluster.sleep(3600)
    assert 0 < cluster.usd() <= outcome.max_usd


class Killed(BaseException):
    """What no handler sees: kill -9."""


@pytest.mark.parametrize("step", [1, 4, 10, 40, 55, 60, 100])
@pytest.mark.parametrize("how", ["kill -9", "Ctrl-C", "lost connection"])
def test_wherever_a_run_ends_its_jobs_are_gone_within_their_time(
    how: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, steps = FakeCluster(two_pools()), iter(range(1, 10_000))

    def cut() -> None:
        if next(steps) == step:
            cluster.unreachable = how == "lost connection"
            if how == "kill -9":
                monkeypatch.setattr(ProveRun, "_delete", lambda run: None)
            if how != "lost connection":
                raise KeyboardInterrupt if how == "Ctrl-C" else Killed

    cluster.on_sleep = cut
    if how == "lost connection":
        outcome_of(cluster)
    else:
        with pytest.raises((KeyboardInterrupt, Killed)):
            outcome_of(cluster)
    cluster.on_sleep, cluster.unreachable = (lambda: None), False
    if how == "Ctrl-C":
        assert cluster.jobs == {}
    longest = max(
        60 * 20 + ENDING_SECONDS + job["spec"]["ttlSecondsAfterFinished"]
        for job in jobs_of(plan(cluster.published, request()))
    )
    cluster.sleep(longest)
    assert cluster.jobs == {}
    cluster.sleep(60 * 20)
    assert cluster.nodes == {}
    assert cluster.usd() <= plan(cluster.published, request()).max_usd


def test_every_job_has_an_end_of_its_own_and_nothing_but_jobs_is_created() -> None:
    jobs = jobs_of(plan(two_pools(), request(minutes=7)))
    assert len({job["metadata"]["name"] for job in jobs}) == len(jobs) == 5
    for job in jobs:
        assert (job["apiVersion"], job["kind"], job["metadata"]["namespace"]) == ("batch/v1", "Job", "default")
        assert (job["spec"]["activeDeadlineSeconds"], job["spec"]["ttlSecondsAfterFinished"]) == (420, 120)
        assert job["spec"]["backoffLimit"] == 0
        labels = job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]
        assert [each[LABEL] for each in labels] == ["abc123", "abc123"]


def test_long_names_of_pools_stay_apart() -> None:
    names = [f"{'a' * 44}-{number}" for number in (1, 2)]
    jobs = jobs_of(plan(offer(*map(pool, names)), request()))
    assert len({job["metadata"]["name"] for job in jobs}) == 5
    assert all(len(job["metadata"]["name"]) <= 52 for job in jobs)


@pytest.mark.parametrize(
    ("changes", "asked", "message"),
    [
        ({"hourly_usd": None}, {}, "pool t4-1 has no price"),
        ({}, {"pools": ("l4-1",)}, "--pools l4-1: the cluster has no such GPU pool; write any of t4-1"),
        ({}, {"max_usd": 0.5}, "--max-usd 0.5: these jobs cost up to $0.67 (t4-1 $0.67)"),
    ],
)
def test_what_could_cost_more_than_is_known_is_refused(
    changes: dict[str, Any], asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(ProveError) as refused:
        plan(offer(pool("t4-1", **changes)), request(**asked))
    assert message in str(refused.value)


@pytest.mark.parametrize(("namespace", "reason"), [("ml", ""), ("default", "only; write --namespace ml")])
def test_a_pool_for_a_team_gets_a_job_in_its_namespace_alone(namespace: str, reason: str) -> None:
    planned = plan(offer(pool("t4-1", teams=["ml"])), request(namespace=namespace))
    assert [trial.pool.name for trial in planned.trials] == ([] if reason else ["t4-1"])
    assert reason in planned.skipped.get("t4-1", "")


@pytest.mark.parametrize("capacity_type", ["fixed", "reserved", "capacity-block"])
def test_machines_that_are_paid_for_cost_nothing_more(capacity_type: str) -> None:
    planned = plan(offer(pool("t4-1", capacity_type=capacity_type, hourly_usd=None)), request())
    assert planned.max_usd == 0.0


SLICE = {"gpu": "google-tpu-v6e", "resource": "google.com/tpu", "size": 4, "slice_nodes": 4, "max_nodes": 4}


def test_a_slice_has_a_pod_on_each_of_its_nodes_and_costs_all_of_them() -> None:
    cluster = FakeCluster(offer(pool("v6e-4x4", **SLICE)), Faults(output=("/dev/vfio/0",)))
    planned = plan(cluster.published, request())
    assert next(iter(described(planned))) == (
        "v6e-4x4: a job with 16 GPUs on a slice of 4 nodes for 40 minutes ($16.00/h): at most $10.67"
    )
    outcome = outcome_of(cluster)
    rows = by_id(outcome)
    # No nvidia-smi there.
    assert {each for each, row in rows.items() if row.result != "shown"} == {"driver:v6e-4x4"}
    assert len(outcome.evidence["v6e-4x4"]["nodes"]) == len(cluster.billed) == 4
    assert (cluster.jobs, cluster.nodes) == ({}, {})
    assert cluster.usd() <= outcome.max_usd <= planned.max_usd


def test_a_slice_of_which_nobody_sees_a_node_costs_all_of_them() -> None:
    cluster = FakeCluster(offer(pool("v6e-4x4", **SLICE)), Faults(hidden=(NODES,)))
    outcome = outcome_of(cluster)
    cluster.sleep(3600)
    assert 0 < cluster.usd() <= outcome.max_usd


def test_a_team_without_quota_gets_no_job_and_a_reason() -> None:
    pools = offer(pool("t4-4", size=4), pool("t4-1"))
    teams = (TeamOffer(name="default", gpus=1),)
    planned = plan(Offer(**{**vars(pools), "teams": teams}), request())
    assert [trial.pool.name for trial in planned.trials] == ["t4-1"]
    assert "exceed the quota of team default" in planned.skipped["t4-4"]


Command = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    def run(cluster: FakeCluster, *, answer: bool = True, **changes: Any) -> tuple[int, list[str]]:
        lines: list[str] = []
        options = ProveOptions(**{"stack": "dev", "folder": tmp_path, "rehearsal": tmp_path / "none", **changes})
        code = prove(cluster, options, say=lines.append, confirm=lambda question: answer, clock=cluster.clock())
        return code, lines

    return run


def test_the_command_asks_with_the_price_and_creates_nothing_without_a_yes(command: Command) -> None:
    cluster = FakeCluster(two_pools())
    code, lines = command(cluster, answer=False)
    assert (code, cluster.pods) == (1, {})
    assert "t4-4: a job with 4 GPUs on one node for 40 minutes ($4.00/h): at most $2.67" in lines
    assert "in all at most $3.33 and 40 minutes at list prices; the run ends at $3.33" in lines


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"yes": True}, "--yes: nobody is asked for the price"),
        ({"stack": "prod"}, "the cluster is that of stack dev, not prod"),
    ],
)
def test_the_command_refuses_what_could_be_a_mistake(command: Command, changes: dict[str, Any], message: str) -> None:
    cluster = FakeCluster(two_pools())
    with pytest.raises(ProveError, match=message):
        command(cluster, **changes)
    assert cluster.pods == {}


def test_the_report_has_what_differs_and_the_next_run_deletes_leftovers_of_its_own_user_alone(
    command: Command, tmp_path: Path
) -> None:
    cluster = FakeCluster(offer(pool("t4-1")), Faults(labels={"gpucluster.dev/gpu": "nvidia-l4"}))
    for user, run in (("developer", "mine"), ("somebody", "theirs")):
        (job, *_) = jobs_of(plan(cluster.published, request(user=user, run=run)))
        cluster.create(dict(job))
    code, lines = command(cluster, minutes=5)
    assert code == 1
    assert "deleted 1 job of an earlier run: prove-mine-t4-1" in lines
    assert "left alone, of another user's run: prove-theirs-t4-1" in lines
    assert "prove-theirs-t4-1" not in cluster.deleted
    written = json.loads((tmp_path / "cluster.json").read_text())
    assert (written["verdict"], written["stack"], written["part"]) == ("fail", "dev", "cluster")
    differing = {row["what"]: row["observed"] for row in written["differences"]}
    assert differing["labels"]["gpucluster.dev/gpu"] == "nvidia-l4"
    assert "| t4-1 | labels |" in (tmp_path / "differences.md").read_text()


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the stack that the page names; test_rehearsed.py has the same on its rehearsed cluster."""
    (published,) = (
        from_config_map(each.inputs)
        for each in run_program(PAGE.stack).resources
        if each.type == "kubernetes:core/v1:ConfigMap" and each.inputs["metadata"]["name"] == CONFIG_MAP
    )
    cluster, lines = FakeCluster(published, Faults(output=("no program runs here",))), list[str]()
    cluster.user = "admin"
    monkeypatch.chdir(tmp_path)
    rehearsal = tmp_path / "report.json"
    rehearsal.write_text("{}")
    folder = tmp_path / "build/prove/dev"
    options = ProveOptions(stack="dev", folder=folder, rehearsal=rehearsal, yes=True, max_usd=5)
    assert prove(cluster, options, say=lines.append, confirm=lambda question: False, clock=cluster.clock()) == 0
    (command, shown), *_ = PAGE.steps
    assert command == "gpucluster prove dev --yes --max-usd 5"
    assert comparable("\n".join(lines)) == comparable(shown)
    assert max(map(len, shown.splitlines())) <= 80


def test_a_refused_job_is_a_row_with_the_clusters_words() -> None:
    cluster = FakeCluster(offer(pool("t4-1")), Faults(refuses_jobs=True))
    outcome = outcome_of(cluster)
    row = by_id(outcome)["job:t4-1"]
    assert (row.result, row.detail) == ("failed", "the cluster refuses the Job: jobs are refused by a policy")


def test_an_unreachable_cluster_is_said_before_anything_is_created() -> None:
    cluster = FakeCluster(two_pools())
    cluster.unreachable = True
    with pytest.raises(ClusterError):
        outcome_of(cluster)


def test_the_owner_of_a_job_is_in_its_annotation() -> None:
    (job, *_) = jobs_of(plan(two_pools(), request(user="arn:aws:iam::1:user/ann")))
    assert job["metadata"]["annotations"][OWNER] == "arn:aws:iam::1:user/ann"


@pytest.mark.parametrize(
    ("changes", "result", "words"),
    [
        ([], "shown", "no more than sizes"),
        (["- update `aws:eks/cluster:Cluster` `gpu`: `version`"], "failed", "update `aws:eks/cluster:Cluster`"),
        (None, "failed", "did not end"),
    ],
)
def test_a_second_update_has_to_change_nothing(
    changes: list[str] | None, result: str, words: str, tmp_path: Path
) -> None:
    row = report.of_changes(changes)
    assert (row.result, words in row.detail) == (result, True)
    content = report.rows_json("stack", "dev", [row], {"pulumi": "v3"}, START)
    written = json.loads(report.write(content, tmp_path).read_text())
    assert (written["part"], written["verdict"]) == ("stack", "pass" if result == "shown" else "fail")
