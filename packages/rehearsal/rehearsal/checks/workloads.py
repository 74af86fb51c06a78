"""Checks that every workload of the scenario met its expectation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from facts.concepts.counts import counted
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.rest import short_message
from rehearsal.scenario.check import NOT_REACHED, Check
from rehearsal.scenario.plan import OffGpus, Refused, RunsOn, Scenario, StaysPending
from rehearsal.scenario.player import Played, Submitted
from rehearsal.scenario.timeline import Timeline

_FULL: Final = ("exceed limits", "limits have been exhausted", "max node group size reached")


def workload_checks(timeline: Timeline, scenario: Scenario, played: Played) -> Iterator[Check]:
    """One check for every GPU workload: whether it met its expectation."""
    for submission in scenario.submissions:
        expect = submission.expect
        if isinstance(expect, OffGpus) or submission.id.startswith(("burst", "capacity-shortage")):
            continue
        title = submission.title[0].upper() + submission.title[1:]
        one = played.of(submission.id)
        if one is None:
            yield Check(submission.id, title, False, NOT_REACHED)
        elif isinstance(expect, Refused):
            yield Check(submission.id, title, *_refused(one, expect))
        elif isinstance(expect, StaysPending):
            yield Check(submission.id, title, *_pending(timeline, one, expect))
        elif submission in scenario.network_tests:
            yield Check(submission.id, title, *_with_all_devices(timeline, one, expect))
        else:
            passed, detail = _placed(timeline, one, expect)
            if submission.id == "fragment":
                passed, detail = _beside_idle(one, passed, detail)
            yield Check(submission.id, title, passed, detail)


def again_checks(timeline: Timeline, scenario: Scenario, played: Played) -> Iterator[Check]:
    """Each pool scales from zero again, by one node, for a job that requests all free resources of a node; a slice by
    all of its nodes, for a job with a pod on each."""
    after = played.of(scenario.shortages[0].fallback_pod.id) if scenario.shortages else None
    for pool, job in scenario.again.items():
        nodes = job["spec"]["completions"] if job["spec"].get("completionMode") == "Indexed" else 1
        number, needs = (
            ("one node", "that needs a whole node") if nodes == 1 else (f"{nodes} nodes", "with a pod on each")
        )
        title = f"{pool} scales up from zero again, by {number}, for a job {needs}"
        one = played.of(f"again:{pool}")
        if one is None:
            yield Check(f"again:{pool}", title, False, NOT_REACHED)
            continue
        passed, detail = _placed(timeline, one, _runs(one))
        asked = one.submission.manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
        words = ", ".join(f"{value} {name}" for name, value in asked.items())
        until = math.inf if after is None else after.at
        came = [node.name for node in timeline.nodes if node.pool == pool and one.at <= node.created < until]
        if len(came) > nodes:
            passed = False
            detail = f"{len(came)} nodes started for a job that fits {number}: {', '.join(came)}; {detail}"
        yield Check(f"again:{pool}", title, passed, f"{detail} ({words})")


def shortage_checks(timeline: Timeline, scenario: Scenario, played: Played) -> Iterator[Check]:
    """The next capacity type takes over where the cloud has no capacity for those before it, which then come again."""
    for shortage in scenario.shortages:
        pools = " and ".join(shortage.pools)
        title = f"When the cloud has no capacity for {pools}, the next capacity type takes over"
        title = title if pools else "When the cloud has capacity for all pools again, the first one gets the node"
        id = shortage.fallback_pod.id
        one = played.of(id)
        yield Check(id, title, *(_placed(timeline, one, _runs(one)) if one else (False, NOT_REACHED)))


def burst_checks(timeline: Timeline, scenario: Scenario, played: Played) -> Iterator[Check]:
    """The burst filled its pool; the next pod waited, or ran on the fallback pool."""
    burst = scenario.burst
    full = timeline.peak(burst.pool) >= burst.nodes and played.pool_full is not None
    filling = [one for one in played.submitted if one.submission in burst.fill]
    astray = [detail for ok, detail in (_placed(timeline, one, _runs(one)) for one in filling) if not ok]
    detail = f"{counted(timeline.peak(burst.pool), 'node')} at once, maximum {burst.max_nodes}"
    if astray:
        detail += "; " + "; ".join(astray[:3])
    yield Check("burst-fills", f"A burst fills {burst.pool}", full and not astray, detail)
    if burst.extra is not None:
        yield _extra_check(timeline, played, burst.extra.id, burst.pool)
    if burst.fallback is not None:
        one = played.of(burst.fallback.id)
        title = f"When {burst.pool} is full, its fallback pool takes over"
        yield Check("fallback", title, *(_placed(timeline, one, _runs(one)) if one else (False, NOT_REACHED)))


def _extra_check(timeline: Timeline, played: Played, id: str, pool: str) -> Check:
    title = f"At the maximum of {pool}, the next pod waits"
    one = played.of(id)
    if one is None:
        return Check("waits-at-max", title, False, NOT_REACHED)
    ran, where = _placed(timeline, one, _runs(one))
    if played.extra_waited_until is None:
        return Check("waits-at-max", title, False, f"it did not wait for the full pool: {where}")
    reasons = _reasons(timeline, one)
    reason = _of_full_pool(reasons[-1]) if reasons else "no reason was reported"
    full = f"still Pending {played.extra_waited_until - one.at:.1f} s after submission, pool full ({reason})"
    return Check("waits-at-max", title, ran and bool(reasons), f"{full}; after another pod ended it {where}")


def _runs(one: Submitted) -> RunsOn:
    assert isinstance(one.submission.expect, RunsOn)
    return one.submission.expect


def _placed(timeline: Timeline, one: Submitted, expect: RunsOn) -> tuple[bool, str]:
    if not one.reply.ok:
        return False, f"refused by the API server: {one.reply.message}"
    pods = timeline.pods_of(one.submission.workload, one.submission.namespace)
    ran = [pod for pod in pods if pod.running is not None]
    if not ran or len(ran) < len(pods):
        return False, f"{one.submission.workload} never ran: {why(timeline, one)}"
    wrong: list[str] = []
    places: dict[str, list[float]] = {}
    for pod in ran:
        node = timeline.node_of(pod)
        pool = node.pool if node is not None else "an unobserved node"
        places.setdefault(f"ran on {pod.node} ({pool})", []).append(pod.waited or 0.0)
        if pool not in expect.pools:
            wrong.append(f"{pod.name} ran on {pool}, expected {' or '.join(sorted(expect.pools))}")
        if failed := timeline.why_failed(pod.name):
            wrong.append(f"{pod.name} did not work: {failed}")
        elif pod.phase == "Failed":
            wrong.append(f"{pod.name} failed")
        elif one.submission.kind == "Job" and pod.phase != "Succeeded":
            wrong.append(f"{pod.name} ran but did not succeed: its phase is {pod.phase}")
    placed = [f"{f'{len(w)} pods ' if len(w) > 1 else ''}{where} after {max(w):.1f} s" for where, w in places.items()]
    return not wrong, "; ".join(wrong or placed)


def _beside_idle(one: Submitted, passed: bool, detail: str) -> tuple[bool, str]:
    if not one.idle_larger:
        return False, "not rehearsed: no larger node was idle when it was submitted"
    return passed, f"{detail}, while {', '.join(one.idle_larger)} was idle"


def _with_all_devices(timeline: Timeline, one: Submitted, expect: RunsOn) -> tuple[bool, str]:
    """Whether all workers ran, each with all network devices of a node of its own."""
    limits = one.submission.manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    (device,) = limits.keys() - {GPU_RESOURCE}
    pods = timeline.pods_of(one.submission.workload, one.submission.namespace)
    if len(pods) < 2 or any(pod.running is None for pod in pods):
        return False, f"{one.submission.workload} never ran as a whole: {why(timeline, one)}"
    nodes = {node.name: node for pod in pods if (node := timeline.node_of(pod)) and node.pool in expect.pools}
    asked = [int(pod.requests.get(device, 0)) for pod in pods]
    offered = [int(node.allocatable.get(device, 0)) for node in nodes.values()]
    return min(asked) > 0 and asked == offered, f"workers with {asked} {device}, on nodes with {offered}"


def _pending(timeline: Timeline, one: Submitted, expect: StaysPending) -> tuple[bool, str]:
    if not one.reply.ok:
        return False, f"refused by the API server instead of waiting: {one.reply.message}"
    pods = timeline.pods_of(one.submission.workload, one.submission.namespace)
    ran = [pod for pod in pods if pod.scheduled is not None]
    if ran:
        return False, f"{ran[0].name} was placed on {ran[0].node}"
    reasons = [
        *one.reply.warnings,
        *(event.message for pod in pods for event in timeline.events if event.name == pod.name),
    ]
    if not reasons:
        return False, "it stays Pending, and no reason was reported"
    for word in expect.mentions:
        if not any(word in text for text in reasons):
            return False, f"it stays Pending, but no message mentions {word}: {reasons[-1]}"
    best = next((text for text in reasons if all(word in text for word in expect.mentions)), reasons[0])
    return True, f"Pending: {short_message(best)}"


def _refused(one: Submitted, expect: Refused) -> tuple[bool, str]:
    if one.reply.ok:
        return False, "it was accepted"
    lacking = [word for word in expect.mentions if word not in one.reply.message]
    if lacking:
        return False, f"refused without mentioning {', '.join(lacking)}: {one.reply.message}"
    return True, f"refused: {short_message(one.reply.message)}"


def why(timeline: Timeline, one: Submitted) -> str:
    """The newest reported reason why a workload waits; reasons of machines (a missing driver) come first."""
    return (_reasons(timeline, one) or ["no reason was reported"])[-1]


def _reasons(timeline: Timeline, one: Submitted) -> list[str]:
    pods = timeline.pods_of(one.submission.workload, one.submission.namespace)
    names = {node.name for node in timeline.nodes if node.gpu_pool and node.gpus_ready_at is None}
    unusable = [event.message for event in timeline.events if event.machines and event.name in names]
    waiting = [reason for pod in pods if (reason := timeline.why_pending(pod.name))]
    return unusable or waiting


def _of_full_pool(reason: str) -> str:
    """The clause about the full pool in an autoscaler's message, which has one per pool; else the first."""
    clauses = reason.split("; ")
    return next((clause for clause in clauses if any(sign in clause for sign in _FULL)), clauses[0])
