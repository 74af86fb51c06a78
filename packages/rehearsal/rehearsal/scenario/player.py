"""Plays a scenario on a cluster: submits its workloads in order, and moves on when the timeline shows their effect."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from facts.concepts.rest import short_message
from rehearsal.cluster.api import Object
from rehearsal.scenario.plan import SECONDS, Burst, CapacityShortage, RunsOn, Scenario, Submission
from rehearsal.scenario.timeline import NODE_AGENTS, NodeRecord, PodRecord, Timeline
from rehearsal.scenario.user import SubmissionReply, User

# A Job's name is a label of its pods: https://kubernetes.io/docs/concepts/workloads/controllers/job/#writing-a-job-spec
_JOB_NAME_LIMIT: Final = 63


def whole_node(pool: str, job: Object, free: Mapping[str, float]) -> Submission:
    """The job, requesting everything that the agents of a node of ``pool`` leave free: ``free`` cores and bytes.

    Only half of the disk, because no cloud guarantees an exact size. Pods of one job share the request.
    """
    larger = copy.deepcopy(job)
    larger["metadata"]["name"] = f"again-{job['metadata']['name']}"[:_JOB_NAME_LIMIT].rstrip("-")
    spec = larger["spec"]
    pods = spec.get("parallelism", 1)
    requests = {
        "cpu": f"{int(free['cpu'] * 1000) // pods}m",
        "memory": f"{int(free['memory']) // pods // 1024**2}Mi",
        **(
            {"ephemeral-storage": f"{int(disk) // 2 // pods // 1024**2}Mi"}
            if (disk := free.get("ephemeral-storage"))
            else {}
        ),
    }
    resources = spec["template"]["spec"]["containers"][0]["resources"]
    resources["requests"] = {**(resources.get("requests") or {}), **requests}
    spec["template"].setdefault("metadata", {}).setdefault("annotations", {})[SECONDS] = "3"
    title = f"a job that requests a whole node of {pool}, scaled from zero a second time"
    return Submission(f"again:{pool}", title, larger, RunsOn(frozenset({pool})))


PATIENCE_SECONDS: Final = 240.0
"""Seconds without any event after which the scenario stops waiting."""

CHANCE_SECONDS: Final = 60.0
"""The same for optional events and expected failures, and while a node is known to get no usable GPU."""


@dataclass(frozen=True)
class Submitted:
    """One submitted workload. ``idle_larger``: larger GPU nodes that were ready and idle at that moment."""

    submission: Submission
    at: float
    reply: SubmissionReply
    idle_larger: tuple[str, ...] = ()


@dataclass
class Played:
    """When each step happened, in the timeline's seconds; ``None`` if it did not."""

    submitted: list[Submitted] = field(default_factory=list)
    cpu_done: float | None = None
    first_gpu_submission: float | None = None
    pool_full: float | None = None
    extra_waited_until: float | None = None
    all_deleted: float | None = None
    back_to_zero: float | None = None
    ended: float | None = None

    def of(self, id: str) -> Submitted | None:
        """A workload by its id, or ``None`` when the scenario did not get that far."""
        return next((one for one in self.submitted if one.submission.id == id), None)


class NothingHappened(Exception):
    """Nothing happened within the time limit."""


@dataclass(frozen=True)
class Player:
    """Plays one scenario, once.

    ``say`` gets one line per step. ``alive`` is called while waiting and raises when the sandbox has died.
    ``while_scaled_up`` is called once, at the highest number of pods, before they are deleted. ``exhaust`` gets
    the pools without capacity, until its next call. With ``fail_fast`` the first wait that times out, or a GPU node
    that no pod requested, ends the scenario; a node that is known to get no usable GPU always does. ``played`` records
    the steps.
    """

    user: User
    timeline: Timeline
    say: Callable[[str], None]
    alive: Callable[[], None]
    while_scaled_up: Callable[[], None]
    exhaust: Callable[[Collection[str]], None]
    fail_fast: bool = False
    played: Played = field(default_factory=Played)

    def play(self, scenario: Scenario) -> Played:
        """From zero GPU nodes to many and back; also returns the record of an incomplete scenario."""
        with suppress(NothingHappened):
            self._play(scenario)
        self.played.ended = self.timeline.now()
        return self.played

    def _play(self, scenario: Scenario) -> None:
        self._cpu(scenario)
        self.played.cpu_done = self.timeline.now()
        if self.played.first_gpu_submission is None:
            self.played.first_gpu_submission = self.played.cpu_done
        if self.fail_fast and self.timeline.gpu_nodes_now():
            raise NothingHappened
        # Before there is a free node that would take them.
        for one in scenario.fallback_order:
            self._submit(one)
        self._wait_running(scenario.fallback_order)
        for one in (scenario.gpu_limit_only, *scenario.unschedulable, *scenario.refused):
            self._submit(one)
        self._wait_running([scenario.gpu_limit_only])
        self._jobs(scenario)
        self.fill(scenario.burst)
        self._until(lambda: all(self._considered(one) for one in scenario.unschedulable))
        self._scale_down()
        self._again(scenario)
        for shortage in scenario.shortages:
            self._shortage(shortage)

    def _cpu(self, scenario: Scenario) -> None:
        for one in scenario.cpu:
            self._submit(one)
        job, crowd = scenario.cpu
        self._wait_running([job])
        # Give the autoscaler time for a wrong reaction.
        self._give_time(lambda: self._considered(crowd) or self._running(crowd))
        self._delete([job, crowd])

    def _jobs(self, scenario: Scenario) -> None:
        for job in scenario.jobs:
            self._submit(job)
        if scenario.fragment is not None:
            fragment = scenario.fragment
            self._until(lambda: bool(self._idle_larger(fragment)))
            self._submit(fragment)
            self._wait_running([fragment])
        self._until(lambda: all(self._finished(job) for job in scenario.jobs))
        for test in scenario.network_tests:
            self._submit(test)
            self._wait_running([test])
            self._delete([test])

    def fill(self, burst: Burst) -> None:
        """Fill a pool; the next pod then waits, or runs on the fallback pool."""
        for one in burst.fill:
            self._submit(one)
        came = self._wait_running(burst.fill)
        # An idle node may get a pod at the moment of its removal, and the pod is deleted with it.
        if came:
            self._until(lambda: all(self._stays(one) or not self._present(one) for one in burst.fill))
        lost = [one for one in burst.fill if came and not self._present(one)]
        for one in lost:
            self._submit(one)
        if came and self._until(lambda: all(self._present(one) for one in lost)):
            self.played.pool_full = self.timeline.now()
        if burst.extra is not None:
            self._overflow(burst, burst.extra)

    def _overflow(self, burst: Burst, extra: Submission) -> None:
        self._submit(extra)
        self._give_time(lambda: self._considered(extra) or self._running(extra))
        if burst.fallback is not None:
            self._submit(burst.fallback)
            self._wait_running([burst.fallback])
        if not self._running(extra):
            self.played.extra_waited_until = self.timeline.now()
        self._delete(burst.fill[:1])
        self._wait_running([extra])

    def _scale_down(self) -> None:
        self.while_scaled_up()
        self.say("deleting all workloads, then waiting until the GPU nodes are deleted")
        self._delete([one.submission for one in self.played.submitted if one.reply.ok])
        self.played.all_deleted = self.timeline.now()
        if self._until(lambda: not self.timeline.gpu_nodes_now()):
            self.played.back_to_zero = self.timeline.now()

    def _again(self, scenario: Scenario) -> None:
        """Scale from zero again: autoscalers remember nodes, and a pod may need a whole node."""
        jobs = [whole_node(pool, job, free) for pool, job in scenario.again.items() if (free := self._free(pool))]
        for one in jobs:
            self._submit(one)
        self._until(lambda: all(self._finished(one) for one in jobs))
        self._delete(jobs)

    def _shortage(self, shortage: CapacityShortage) -> None:
        pools = ", ".join(shortage.pools)
        capacity = f"no capacity for {pools} in the cloud" if pools else "capacity for all pools again"
        self.say(f"waiting until the GPU nodes are deleted; then {capacity}")
        if not self._until(lambda: not self.timeline.gpu_nodes_now()):
            return
        self.exhaust(shortage.pools)
        try:
            self._submit(shortage.fallback_pod)
            self._wait_running([shortage.fallback_pod])
        finally:
            self.exhaust(())
        self._delete([shortage.fallback_pod])

    def _free(self, pool: str) -> Mapping[str, float]:
        """Allocatable resources of the pool's nodes that their agents leave free: the lowest observed."""
        nodes = [node for node in self.timeline.nodes if node.pool == pool and node.gpus_ready_at is not None]
        left = []
        for node in nodes:
            agents = [pod for pod in self.timeline.pods if pod.node == node.name and pod.owner in NODE_AGENTS]
            taken = {name: sum(pod.requests.get(name, 0.0) for pod in agents) for name in node.allocatable}
            left.append({name: amount - taken[name] for name, amount in node.allocatable.items()})
        return min(left, key=lambda free: (free.get("cpu", 0.0), free.get("memory", 0.0)), default={})

    def _submit(self, submission: Submission) -> None:
        idle = self._idle_larger(submission)
        at = self.timeline.now()
        reply = self.user.create(submission.manifest)
        self.played.submitted.append(Submitted(submission, at, reply, idle))
        answer = "accepted" if reply.ok else f"refused: {short_message(reply.message)}"
        self.say(f"{submission.workload}: {submission.title}: {answer}")
        for warning in reply.warnings:
            self.say(f"{submission.workload}: warning: {short_message(warning)}")

    def _delete(self, submissions: Sequence[Submission]) -> None:
        for one in submissions:
            self.user.delete(one.kind, one.workload, one.namespace)

    def _pods(self, submission: Submission) -> tuple[PodRecord, ...]:
        return self.timeline.pods_of(submission.workload, submission.namespace)

    def _running(self, submission: Submission) -> bool:
        pods = self._pods(submission)
        return len(pods) >= submission.pods and all(pod.running is not None for pod in pods)

    def _present(self, submission: Submission) -> bool:
        return any(pod.running is not None and pod.deleted is None for pod in self._pods(submission))

    def _stays(self, submission: Submission) -> bool:
        pods = [pod for pod in self._pods(submission) if pod.running is not None and pod.deleted is None]
        return any(node is not None and not node.leaves() for node in map(self.timeline.node_of, pods))

    def _finished(self, submission: Submission) -> bool:
        pods = self._pods(submission)
        return len(pods) >= submission.pods and all(pod.finished is not None for pod in pods)

    def _considered(self, submission: Submission) -> bool:
        return any(self.timeline.considered(pod.name) for pod in self._pods(submission))

    def _wait_running(self, submissions: Sequence[Submission]) -> bool:
        accepted = {one.submission.id for one in self.played.submitted if one.reply.ok}
        waited = [one for one in submissions if one.id in accepted]
        # Do not wait for a pod that is expected to stay Pending.
        waited = [one for one in waited if isinstance(one.expect, RunsOn) or one.id == "cpu-job"]
        return self._until(lambda: all(self._running(one) for one in waited))

    def _give_time(self, condition: Callable[[], bool]) -> None:
        """Wait for an optional event: the cluster may have no autoscaler."""
        self.timeline.wait_until(condition, CHANCE_SECONDS, self.alive)

    def _until(self, condition: Callable[[], bool]) -> bool:
        since: list[float] = []

        def over() -> bool:
            if not self.timeline.lacks_devices():
                since.clear()
            elif not since:
                since.append(self.timeline.now())
            return condition() or bool(since and self.timeline.now() - since[0] >= CHANCE_SECONDS)

        quiet = CHANCE_SECONDS if self.fail_fast else PATIENCE_SECONDS
        came = self.timeline.wait_until(over, quiet, self.alive) and condition()
        if not came and (self.fail_fast or since):
            raise NothingHappened
        return came

    def _idle_larger(self, submission: Submission) -> tuple[str, ...]:
        """Idle GPU nodes that would fit the workload, of pools that it must not use."""
        if not isinstance(submission.expect, RunsOn):
            return ()
        busy = busy_nodes(self.timeline)
        # A node that has just become ready for another pod is free but not idle: an idle node has finished a pod.
        served = {pod.node for pod in self.timeline.pods if pod.gpus and pod.finished is not None}
        allowed = submission.expect.pools
        return tuple(
            node.name
            for node in self.timeline.gpu_nodes_now()
            if node.gpus > 0 and node.pool not in allowed and node.name in served and node.name not in busy
        )


def busy_nodes(timeline: Timeline) -> Mapping[str, NodeRecord]:
    """Nodes on which a GPU pod is placed and not finished."""
    names = {
        pod.node for pod in timeline.pods if pod.gpus and pod.node and pod.finished is None and pod.deleted is None
    }
    return {node.name: node for node in timeline.living_nodes() if node.name in names}
