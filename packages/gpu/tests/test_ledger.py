"""What a job costs: its share of its nodes' running, provisioning and idle time."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from facts.concepts.offer import PoolOffer
from gpu.ledger import GpuCost, of_job, of_pods
from packages.gpu.tests.offers import offer, pool

NOW = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
LARGE = pool("t4-4", size=4, hourly_usd=8.0, idle_minutes=30)


def at(hour: str) -> str:
    return f"2026-11-22T{hour}:00Z"


def a_pod(
    name: str = "p", gpus: int = 1, *, node: str | None = "n1", made: str = "08:00", placed: str = "08:30",
    started: str | None = "09:00", ended: str | None = "11:00", pools: tuple[str, ...] = ("t4-4",),
) -> dict[str, Any]:  # fmt: skip
    state: dict[str, Any] = {"waiting": {}}
    if started is not None:
        state = {"running": {"startedAt": at(started)}}
        if ended is not None:
            state = {"terminated": {"startedAt": at(started), "finishedAt": at(ended)}}
    terms = [{"matchExpressions": [{"key": "gpucluster.dev/pool", "operator": "In", "values": list(pools)}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    containers = [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]
    bound = {"nodeName": node} if node else {}
    spec: dict[str, Any] = {"containers": containers, "affinity": {"nodeAffinity": required}, **bound}
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(placed)}
    status = {
        "conditions": [condition],
        "containerStatuses": [{"state": state}],
        "phase": "Succeeded" if ended else "Running",
    }
    return {"metadata": {"name": name, "creationTimestamp": at(made)}, "spec": spec, "status": status}


def a_node(name: str = "n1", made: str = "08:15", pool_name: str = "t4-4") -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": at(made), "labels": {"gpucluster.dev/pool": pool_name}}}


def cost(
    *pods: dict[str, Any], nodes: tuple[dict[str, Any], ...] = (a_node(),), pools: tuple[PoolOffer, ...] = (LARGE,)
) -> GpuCost:
    return of_pods(pods, nodes, offer(*pools), NOW)


def parts(cost: GpuCost) -> tuple[float, float, float, float]:
    return cost.gpu_hours, cost.running, cost.provisioning, cost.idle


def test_running_provisioning_and_idle_are_shares_of_the_node_by_gpus() -> None:
    # Of 4 GPUs at 8 dollars: 2 hours running, 45 minutes from the node's creation to the start, 30 idle minutes.
    assert parts(cost(a_pod(gpus=1))) == (2, 4.0, 1.5, 1.0)
    assert parts(cost(a_pod(gpus=4))) == (8, 16.0, 6.0, 4.0)


def test_a_node_that_existed_before_the_pod_was_not_provisioned_for_it() -> None:
    assert cost(a_pod(), nodes=(a_node(made="07:00"),)).provisioning == 1.0, "from its placement on"


def test_a_deleted_node_counts_from_the_pods_scheduling_and_a_note_says_so() -> None:
    gpu_cost = cost(a_pod(), nodes=())
    assert (gpu_cost.running, gpu_cost.provisioning) == (4.0, 1.0)
    assert any("deleted node" in note for note in gpu_cost.notes)


def test_what_runs_counts_until_now_and_what_waits_has_used_nothing() -> None:
    assert cost(a_pod(ended=None)).running == 6.0
    pulling = cost(a_pod(started=None, ended=None))
    assert (pulling.gpu_hours, pulling.running, pulling.provisioning) == (0, 0, 7.5)
    assert parts(cost(a_pod(node=None))) == (0, 0, 0, 0)


def test_pods_on_one_node_share_its_idle_time() -> None:
    assert cost(a_pod("a"), a_pod("b")).idle == 1.0
    assert cost(a_pod("a"), a_pod("b", node="n2"), nodes=(a_node(), a_node("n2"))).idle == 2.0


def test_unknown_prices_and_delays_count_nothing_and_a_note_says_so() -> None:
    unpriced = cost(a_pod(), pools=(pool("t4-4", size=4, hourly_usd=None),))
    assert parts(unpriced) == (2, 0, 0, 0)
    assert any("price" in note for note in unpriced.notes)
    endless = cost(a_pod(), pools=(pool("t4-4", size=4, hourly_usd=8.0, idle_minutes=None),))
    assert (endless.running, endless.idle) == (4.0, 0)
    assert any("idle" in note for note in endless.notes)


def test_deleted_pods_are_reported() -> None:
    job = {"metadata": {"name": "train"}, "status": {"succeeded": 2, "failed": 1}}
    (note,) = of_job(job, [a_pod()], [a_node()], offer(LARGE), NOW).notes
    assert note == "at least 2 deleted pods of train not counted"
    whole = {"metadata": {"name": "train"}, "status": {"succeeded": 1}}
    assert of_job(whole, [a_pod()], [a_node()], offer(LARGE), NOW).notes == ()


def reclaimed_job(**status: Any) -> dict[str, Any]:
    spec = {key: value for key, value in a_pod()["spec"].items() if key != "nodeName"}
    metadata = {"name": "train", "namespace": "ml", "uid": "u1"}
    return {"metadata": metadata, "spec": {"template": {"spec": spec}}, "status": status}


def event(when: str, reason: str, message: str = "", *, pod: str | None = None) -> dict[str, Any]:
    about = {"kind": "Pod", "name": pod, "namespace": "ml"} if pod else {"kind": "Job", "uid": "u1"}
    return {"firstTimestamp": at(when), "reason": reason, "message": message, "involvedObject": about}


TAKEN = (
    event("08:00", "SuccessfulCreate", "Created pod: train-abcde"),
    event("08:30", "Scheduled", "Successfully assigned ml/train-abcde to n1", pod="train-abcde"),
    event("09:00", "Started", pod="train-abcde"),
)


def test_a_pod_that_its_node_took_along_costs_what_events_tell_of_it() -> None:
    again = event("11:00", "SuccessfulCreate", "Created pod: train-vwxyz")
    gpu_cost = of_job(reclaimed_job(), [], [], offer(LARGE), NOW, [*TAKEN, again])
    # The same as the pod itself would cost that ended when the job made the next one.
    assert parts(gpu_cost) == parts(of_pods([a_pod()], [], offer(LARGE), NOW))
    assert any("1 deleted pod of train estimated from events" in note for note in gpu_cost.notes)
    killed = event("10:00", "Killing", pod="train-abcde")
    assert of_job(reclaimed_job(), [], [], offer(LARGE), NOW, [*TAKEN, again, killed]).running == 2.0


def test_a_pod_that_is_gone_before_it_started_woke_its_node_until_then_and_no_longer() -> None:
    placed, killed = TAKEN[:2], event("09:30", "Killing", pod="train-abcde")
    gpu_cost = of_job(reclaimed_job(), [], [], offer(LARGE), NOW, [*placed, killed])
    assert (gpu_cost.running, gpu_cost.provisioning) == (0, 2.0), "an hour of a quarter of 8 dollars"
    done = reclaimed_job(completionTime=at("09:00"))
    assert of_job(done, [], [], offer(LARGE), NOW, placed).provisioning == 1.0
    assert of_job(reclaimed_job(), [], [], offer(LARGE), NOW, placed).provisioning == 7.0, "nothing tells of its end"


def test_a_pod_that_is_there_is_not_counted_twice() -> None:
    pods = [a_pod("train-abcde")]
    assert of_job(reclaimed_job(), pods, [a_node()], offer(LARGE), NOW, TAKEN) == cost(*pods)


def test_another_worker_that_is_made_again_says_nothing_of_this_one() -> None:
    of_first = [
        {**each, "message": each["message"].replace("train-", "train-0-"), "involvedObject": {
            **each["involvedObject"], **({"name": "train-0-abcde"} if "name" in each["involvedObject"] else {})
        }}
        for each in TAKEN
    ]  # fmt: skip
    ended = reclaimed_job(completionTime=at("11:00"))
    other = event("10:00", "SuccessfulCreate", "Created pod: train-1-vwxyz")
    assert of_job(ended, [], [], offer(LARGE), NOW, [*of_first, other]).running == 4.0


def test_a_pod_that_never_had_a_node_cost_nothing() -> None:
    assert of_job(reclaimed_job(), [], [], offer(LARGE), NOW, TAKEN[:1]) == GpuCost()


def test_sums_are_sums_of_the_parts() -> None:
    first, second = cost(a_pod("a")), cost(a_pod("b", node="n2"), nodes=(a_node("n2"),))
    both = cost(a_pod("a"), a_pod("b", node="n2"), nodes=(a_node(), a_node("n2")))
    assert first + second == both
    assert both.total == pytest.approx(first.total + second.total)
