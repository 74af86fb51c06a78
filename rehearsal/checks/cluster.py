"""What a rehearsal must show.

Every check looks at what was observed (nodes, pods, events, the engine's results), never at the plan, and says in words
what it saw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from concepts.pool import Pool
from rehearsal.cloud_calls import Calls
from rehearsal.play import Played, Submitted
from rehearsal.scenario import OffGpus, Refused, RunsOn, Scenario, StaysPending
from rehearsal.timeline import NODE_AGENTS, NodeRecord, PodRecord, Timeline
from rehearsal.user import essence

NOT_REACHED: Final = "the scenario did not get this far"
LONGEST_WAIT_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Check:
    """One assertion: ``detail`` says what was observed; where it failed, that is the reason in the verdict."""

    id: str
    title: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Pools:
    """What the stack declared."""

    gpu: tuple[Pool, ...]
    cpu: tuple[Pool, ...]
    admin: Pool

    @property
    def all(self) -> tuple[Pool, ...]:
        """Every pool, the one that always stays first."""
        return (self.admin, *self.cpu, *self.gpu)

    @property
    def maxima(self) -> dict[str, int]:
        """Pool → the most nodes that it may have, in the same order."""
        return {p.name: p.max_nodes for p in self.all}


def cluster_checks(
    timeline: Timeline, pools: Pools, scenario: Scenario, played: Played, said: Mapping[str, str] | None = None
) -> list[Check]:
    """All checks of what happened in the cluster, in the order of the story.

    ``said`` are the autoscaler's own words about pools (``rehearsal/autoscaler_words.py``).
    """
    return [
        starts_at_zero(timeline, played),
        cpu_work_wakes_none(timeline, played),
        *workload_checks(timeline, scenario, played),
        *_burst_checks(timeline, scenario, played),
        *reached(timeline, pools, said or {}),
        *limits(timeline, pools),
        system_pods_off_gpus(timeline),
        waiting_time(timeline, played),
        back_to_zero(timeline, played),
        admin_stays(timeline, pools, played),
    ]


def calls_allowed(calls: Calls) -> Iterator[Check]:
    """Programs in the cluster had the right to every call that they made to the cloud; no check where none made any.

    What such a call was for may be missing without a trace: a queue that nobody reads looks like a quiet one.
    """
    if calls.made:
        detail = "; ".join(calls.denied) or f"{calls.made} calls, none denied"
        yield Check("cloud-calls-allowed", "Programs in the cluster may make their calls", not calls.denied, detail)


def starts_at_zero(timeline: Timeline, played: Played) -> Check:
    """After the update and before the first GPU pod, no GPU node exists or ever existed."""
    first = played.first_gpu_submission
    until = first if first is not None else timeline.now()
    early = [node for node in timeline.nodes if node.gpu_pool and node.created < until]
    names = ", ".join(f"{node.name} ({node.pool})" for node in early)
    detail = f"GPU nodes before any pod asked for a GPU: {names}" if early else "no GPU node before a pod asked for one"
    return Check("starts-at-zero", "GPU pools start empty", not early, detail)


def cpu_work_wakes_none(timeline: Timeline, played: Played) -> Check:
    """Pods without GPUs ran off the GPU nodes and made the autoscaler start none."""
    problems = []
    for one in played.submitted:
        if not isinstance(one.submission.expect, OffGpus):
            continue
        pods = timeline.pods_of(one.submission.workload)
        for pod in pods:
            node = timeline.node_of(pod)
            if node is not None and node.gpu_pool:
                problems.append(f"{pod.name} ran on GPU node {node.name}")
        if one.submission.expect.runs and not any(pod.running is not None for pod in pods):
            problems.append(f"{one.submission.workload} never ran: {_why(timeline, one)}")
        until = played.first_gpu_submission or timeline.now()
        woken = [node.name for node in timeline.nodes if node.gpu_pool and one.at <= node.created < until]
        if woken:
            problems.append(f"GPU nodes started while only {one.submission.workload} waited: {', '.join(woken)}")
    detail = "; ".join(problems) or "CPU work ran on CPU nodes, and none of it started a GPU node"
    return Check("cpu-job-wakes-none", "CPU work wakes no GPU node", not problems and bool(played.submitted), detail)


def workload_checks(timeline: Timeline, scenario: Scenario, played: Played) -> Iterator[Check]:
    """One check for every GPU workload: it did what its expectation says."""
    for submission in scenario.submissions:
        expect = submission.expect
        if isinstance(expect, OffGpus) or submission.id.startswith("burst"):
            continue
        title = submission.title[0].upper() + submission.title[1:]
        one = played.of(submission.id)
        if one is None:
            yield Check(submission.id, title, False, NOT_REACHED)
        elif isinstance(expect, Refused):
            yield Check(submission.id, title, *_refused(one, expect))
        elif isinstance(expect, StaysPending):
            yield Check(submission.id, title, *_pending(timeline, one, expect))
        else:
            passed, detail = _placed(timeline, one, expect)
            if submission.id == "fragment":
                passed, detail = _beside_idle(one, passed, detail)
            yield Check(submission.id, title, passed, detail)


def reached(timeline: Timeline, pools: Pools, said: Mapping[str, str]) -> Iterator[Check]:
    """Every GPU pool got at least one node, whose GPUs became usable; if not, ``said`` is part of the reason."""
    for pool in pools.gpu:
        nodes = [node for node in timeline.nodes if node.pool == pool.name]
        usable = [node for node in nodes if node.gpus_since is not None]
        detail = f"{len(nodes)} nodes in all, {timeline.peak(pool.name)} at once, {len(usable)} with usable GPUs"
        reasons = (_about_machines(timeline, pool.name, nodes), said.get(pool.name, ""))
        if not usable and any(reasons):
            detail += f": {'; '.join(filter(None, reasons))}"
        yield Check(f"reached:{pool.name}", f"{pool.name} scales up from zero", bool(usable), detail)


def limits(timeline: Timeline, pools: Pools) -> Iterator[Check]:
    """No pool ever had more nodes than its maximum, at any observed moment."""
    sized = pools.maxima.items()
    over = [(name, timeline.peak(name), most) for name, most in sized if timeline.peak(name) > most]
    detail = "; ".join(f"{name} had {peak} nodes at once, its maximum is {most}" for name, peak, most in over)
    peaks = ", ".join(f"{name} {timeline.peak(name)} of {most}" for name, most in sized)
    yield Check("max-never-exceeded", "No pool exceeds its maximum", not over, detail or f"most nodes at once: {peaks}")


def system_pods_off_gpus(timeline: Timeline) -> Check:
    """No pod of the cluster's own, node agents aside, was ever placed on a GPU node: it would keep the node alive."""
    guilty = [(pod, node) for pod, node in _placements(timeline) if pod.system and node.gpu_pool]
    seen = sum(pod.system for pod, _ in _placements(timeline))
    detail = "; ".join(f"{pod.namespace}/{pod.name} on {node.name} ({node.pool})" for pod, node in guilty)
    kept = f"{seen} placements of system pods, none on a GPU node"
    return Check("system-pods-off-gpu", "System pods stay off GPU nodes", not guilty and seen > 0, detail or kept)


def waiting_time(timeline: Timeline, played: Played) -> Check:
    """No pod that had a place to go waited longer than ``LONGEST_WAIT_SECONDS``."""
    waits = [(pod.waited, pod.name) for pod in _placed_pods(timeline, played) if pod.waited is not None]
    longest, name = max(waits, default=(0.0, ""))
    detail = f"longest {longest:.1f} s ({name}), of {len(waits)} pods that had to run" if waits else "no pod ever ran"
    return Check("waiting-time", "GPU pods start promptly", bool(waits) and longest <= LONGEST_WAIT_SECONDS, detail)


def back_to_zero(timeline: Timeline, played: Played) -> Check:
    """After the last pod, every GPU pool returned to zero nodes."""
    title = "GPU pools return to zero"
    if played.back_to_zero is not None and played.all_deleted is not None:
        took = played.back_to_zero - played.all_deleted
        return Check("returned-to-zero", title, True, f"no GPU node {took:.1f} s after the last pod was deleted")
    left = timeline.gpu_nodes_now()
    reasons = []
    for node in left:
        holders = [
            p.name for p in timeline.pods if p.node == node.name and p.gone is None and p.owner not in NODE_AGENTS
        ]
        reasons.append(
            f"{node.name} ({node.pool}) still there" + (f", held by {', '.join(holders)}" if holders else "")
        )
    return Check("returned-to-zero", title, False, "; ".join(reasons) or NOT_REACHED)


def admin_stays(timeline: Timeline, pools: Pools, played: Played) -> Check:
    """The admin pool had all its nodes (autoscaled: at least those) from the first GPU pod to the end."""
    start = played.first_gpu_submission
    end = played.back_to_zero or timeline.now()
    lowest = timeline.lowest(pools.admin.name, start, end) if start is not None else 0
    wanted = pools.admin.min_nodes
    return Check(
        "admin-stays",
        "The admin pool stays",
        lowest >= wanted,
        f"never fewer than {lowest} admin nodes, declared {wanted}",
    )


def _burst_checks(timeline: Timeline, scenario: Scenario, played: Played) -> Iterator[Check]:
    burst = scenario.burst
    full = timeline.peak(burst.pool) >= burst.nodes and played.pool_full is not None
    astray = [
        detail
        for one in _submitted(played, burst.fill)
        for ok, detail in [_placed(timeline, one, _runs(one))]
        if not ok
    ]
    detail = f"{timeline.peak(burst.pool)} nodes at once, maximum {burst.max_nodes}"
    if astray:
        detail += "; " + "; ".join(astray[:3])
    yield Check("burst-fills", f"A burst fills {burst.pool}", full and not astray, detail)
    if burst.extra is not None:
        yield _extra_check(timeline, played, burst.extra.id, burst.pool)
    if burst.fallback is not None:
        one = played.of(burst.fallback.id)
        title = f"When {burst.pool} is full, its fallback takes over"
        yield Check("fallback", title, *(_placed(timeline, one, _runs(one)) if one else (False, NOT_REACHED)))


def _extra_check(timeline: Timeline, played: Played, id: str, pool: str) -> Check:
    title = f"At its maximum, {pool} makes the next pod wait"
    one = played.of(id)
    if one is None:
        return Check("waits-at-max", title, False, NOT_REACHED)
    ran, where = _placed(timeline, one, _runs(one))
    why = _why(timeline, one)
    if played.extra_waited_until is None:
        return Check("waits-at-max", title, False, f"it did not wait for a full pool: {where}")
    detail = f"waited {played.extra_waited_until - one.at:.1f} s with the pool full ({why}), then: {where}"
    return Check("waits-at-max", title, ran and bool(why), detail)


def _submitted(played: Played, submissions: Sequence[object]) -> list[Submitted]:
    return [one for one in played.submitted if one.submission in submissions]


def _runs(one: Submitted) -> RunsOn:
    assert isinstance(one.submission.expect, RunsOn)
    return one.submission.expect


def _placed(timeline: Timeline, one: Submitted, expect: RunsOn) -> tuple[bool, str]:
    if not one.reply.ok:
        return False, f"refused by the API server: {one.reply.message}"
    pods = timeline.pods_of(one.submission.workload)
    ran = [pod for pod in pods if pod.running is not None]
    if not ran or len(ran) < len(pods):
        return False, f"{one.submission.workload} never ran: {_why(timeline, one)}"
    wrong, places = [], []
    for pod in ran:
        node = timeline.node_of(pod)
        pool = node.pool if node is not None else "an unobserved node"
        places.append(f"ran on {pod.node} ({pool}) after {pod.waited or 0:.1f} s")
        if pool not in expect.pools:
            wrong.append(f"{pod.name} ran on {pool}, expected {' or '.join(sorted(expect.pools))}")
        if pod.phase == "Failed":
            wrong.append(f"{pod.name} failed")
    return not wrong, "; ".join(wrong or places)


def _beside_idle(one: Submitted, passed: bool, detail: str) -> tuple[bool, str]:
    if not one.idle_larger:
        return False, "no larger node was idle when it was submitted, so this was not rehearsed"
    return passed, f"{detail}, while {', '.join(one.idle_larger)} stood idle"


def _pending(timeline: Timeline, one: Submitted, expect: StaysPending) -> tuple[bool, str]:
    if not one.reply.ok:
        return False, f"refused by the API server instead of waiting: {one.reply.message}"
    pods = timeline.pods_of(one.submission.workload)
    ran = [pod for pod in pods if pod.scheduled is not None]
    if ran:
        return False, f"{ran[0].name} was placed on {ran[0].node}"
    said = [
        *one.reply.warnings,
        *(event.message for pod in pods for event in timeline.events if event.name == pod.name),
    ]
    if not said:
        return False, "it stays Pending, but nothing says why"
    for word in expect.mentions:
        if not any(word in text for text in said):
            return False, f"it stays Pending, but nothing mentions {word}: {said[-1]}"
    best = next((text for text in said if all(word in text for word in expect.mentions)), said[0])
    return True, f"Pending: {essence(best)}"


def _refused(one: Submitted, expect: Refused) -> tuple[bool, str]:
    if one.reply.ok:
        return False, "it was accepted"
    lacking = [word for word in expect.mentions if word not in one.reply.message]
    if lacking:
        return False, f"refused without mentioning {', '.join(lacking)}: {one.reply.message}"
    return True, f"refused: {essence(one.reply.message)}"


def _why(timeline: Timeline, one: Submitted) -> str:
    """The newest reason that anybody gave for a workload's waiting, the machines' own (a missing driver) first."""
    pods = timeline.pods_of(one.submission.workload)
    names = {node.name for node in timeline.nodes if node.gpu_pool and node.gpus_since is None}
    unusable = [event.message for event in timeline.events if event.machines and event.name in names]
    waiting = [said for pod in pods if (said := timeline.why_pending(pod.name))]
    return (unusable or waiting or ["no reason was reported"])[-1]


def _about_machines(timeline: Timeline, pool: str, nodes: Sequence[NodeRecord]) -> str:
    """What is known of a pool without usable GPUs: from its nodes, else from the pods that waited for one."""
    names = {node.name for node in nodes}
    said = [event.message for event in timeline.events if event.name in names and event.type == "Warning"]
    said = said or [event.message for event in timeline.events if event.machines and event.pool == pool]
    return said[-1] if said else ""


def _placements(timeline: Timeline) -> list[tuple[PodRecord, NodeRecord]]:
    return [(pod, node) for pod in timeline.pods if pod.node and (node := timeline.node_of(pod)) is not None]


def _placed_pods(timeline: Timeline, played: Played) -> list[PodRecord]:
    placeable = [one for one in played.submitted if isinstance(one.submission.expect, RunsOn) and one.reply.ok]
    # The extra pod of the burst waits by design.
    names = {one.submission.workload for one in placeable if one.submission.id != "burst-extra"}
    return [pod for pod in timeline.pods if pod.workload in names and pod.namespace == "default"]
