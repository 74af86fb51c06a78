"""One run of ``prove``: creates the Jobs, watches what the cluster does, deletes them, and says what was shown.

It may be killed at any moment: each Job ends and is deleted by itself (``plan``), and the same user's next run deletes
at once what is left of this one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Final, Protocol

from account.prove import judge
from account.prove.observed import Observed, observe, reason_of
from account.prove.plan import ENDING_SECONDS, KEPT_SECONDS, LABEL, OWNER, PoolTrial, ProvePlan, billed_after
from account.rows import ShownRow
from facts.concepts.counts import counted
from facts.concepts.credentials import hidden
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.offer import Offer
from facts.concepts.pool import POOL_LABEL
from facts.concepts.rest import short_message
from facts.concepts.unknown import at
from gpu.causes import Reason
from gpu.cluster import ClusterClient, ClusterError, Object, job_path

POLL_SECONDS: Final = (3.0, 15.0)
"""At first, and after some minutes: nodes take minutes to start, and to be removed."""
_FIRST_MINUTES: Final = 5.0
_HOPELESS_SECONDS: Final = 60.0
"""A cause that waiting does not help is believed after so long: autoscalers try again within seconds."""
_DRIVER: Final = re.compile(r"Driver Version: *([\d.]+)")
_MISSING: Final = "your role may not list nodes"
_UNSEEN: Final = "your role may not list the pods of all namespaces"
_ANNOUNCED: Final = ("scaling", "starting", "did-not-join", "running", "succeeded")
_CENT: Final = 0.005


class Clock(Protocol):
    """The time, and waiting."""

    def now(self) -> datetime:
        """The time in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class RealClock:
    """This machine's."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(timezone.utc)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass
class _NodeRecord:
    """A node that was not there before the run. ``last``: as it was when the job began, else as it last was.
    ``strangers``: pods without GPUs that were on it."""

    last: Object
    ready: datetime | None = None
    gone: datetime | None = None
    complete: bool = False
    differences: list[str] = field(default_factory=list)
    strangers: dict[str, None] = field(default_factory=dict)


@dataclass
class _TrialRecord:
    """What happened to a pool's job. ``before``: nodes that the pool had already, with what held each."""

    trial: PoolTrial
    before: Mapping[str, list[str]]
    created: datetime
    running: datetime | None = None
    ended: datetime | None = None
    succeeded: bool = False
    node: str | None = None
    cause: str = ""
    remedy: str = ""
    waits_for: str = ""
    hopeless_since: datetime | None = None
    announced: bool = False
    log: list[str] = field(default_factory=list)
    nodes: dict[str, _NodeRecord] = field(default_factory=dict)
    unlabelled: dict[str, Object] = field(default_factory=dict)
    untolerated_on: str | None = None
    untolerated_message: str = ""
    untolerated_created: bool = False
    words: dict[str, None] = field(default_factory=dict)
    finished: datetime | None = None
    stopped: str = ""

    def removed_after(self, end: datetime) -> datetime:
        """When the nodes are gone at the latest, if the job ends at ``end``."""
        planned = self.created + timedelta(minutes=self.trial.billed_minutes)
        return min(planned, end + timedelta(minutes=billed_after(self.trial.pool)))

    @property
    def up(self) -> list[str]:
        """Names of the run's nodes that are still there."""
        return [name for name, node in self.nodes.items() if node.gone is None]


@dataclass(frozen=True, kw_only=True)
class ProveOutcome:
    """``evidence``: pool → what was observed, for the report. ``max_usd``: what the nodes cost at list prices, at most,
    counted from their job's creation."""

    rows: tuple[ShownRow, ...]
    evidence: Mapping[str, Any]
    max_usd: float
    started: datetime
    ended: datetime


class ProveRun:
    """Creates, watches and deletes the Jobs of one plan."""

    def __init__(
        self, cluster: ClusterClient, offer: Offer, planned: ProvePlan, say: Callable[[str], None], clock: Clock
    ) -> None:
        """``say`` prints a line of progress."""
        self._cluster, self._offer, self._plan, self._say, self._clock = cluster, offer, planned, say, clock
        self._created: list[str] = []
        self._known: set[str] = set()
        self._records: list[_TrialRecord] = []
        self._first: Observed | None = None
        self._oversized_message, self._oversized_ran = "", False
        self._oversized_created = False
        self._refused: dict[str, str] = {}
        self._lost_since: datetime | None = None
        self._all_pods = True

    def run(self) -> ProveOutcome:
        """Raises ClusterError if the cluster cannot be reached before anything is created."""
        started = self._clock.now()
        self._first = state = self._look()
        self._known = set(state.nodes or ())
        try:
            self._start(state)
            self._watch()
        except BaseException:
            self._say("deleting the run's Jobs")
            raise
        finally:
            self._delete()
        ended = self._clock.now()
        return ProveOutcome(
            rows=tuple(self._rows()),
            evidence={record.trial.pool.name: self._evidence(record) for record in self._records},
            max_usd=sum(self._usd(record, ended, committed=False) for record in self._records),
            started=started,
            ended=ended,
        )

    def _look(self) -> Observed:
        state = observe(self._cluster, self._offer, self._plan.request.run, self._clock.now(), all_pods=self._all_pods)
        self._all_pods = state.others is not None
        return state

    def _start(self, state: Observed) -> None:
        if self._plan.oversized is not None:
            self._oversized_created = self._create(self._plan.oversized)
        for trial in self._plan.trials:
            before = {
                name: judge.holders((state.others or {}).get(name, ()), name)
                for name in state.nodes_of(trial.pool.name)
            }
            record = _TrialRecord(trial, before, self._clock.now())
            self._records.append(record)
            if not self._create(trial.job):
                record.cause = self._refused[trial.job["metadata"]["name"]]
                record.finished = record.ended = record.created

    def _create(self, job: Mapping[str, Any]) -> bool:
        name = job["metadata"]["name"]
        self._created.append(name)
        try:
            warnings = self._cluster.create(dict(job)).warnings
        except ClusterError as error:
            if error.status == 0:
                raise
            self._refused[name] = f"the cluster refuses the Job: {error}"
            return False
        # Of the pod that no node can have, one is expected.
        for warning in map(short_message, warnings if job is not self._plan.oversized else ()):
            self._say(f"{name}: {warning}")
        return True

    def _watch(self) -> None:
        slower = self._clock.now() + timedelta(minutes=_FIRST_MINUTES)
        give_up = self._clock.now() + timedelta(minutes=self._plan.minutes + 1)
        while any(record.finished is None for record in self._records) and self._clock.now() < give_up:
            self._clock.sleep(POLL_SECONDS[self._clock.now() > slower])
            try:
                state = self._look()
                self._lost_since = None
                self._notice(state)
            except ClusterError as error:
                if error.status and error.status < 500:
                    raise
                if self._lost_since is None:
                    self._lost_since = self._clock.now()
                    self._say(f"{error}; the Jobs end by themselves, waiting for an answer")
        for record in self._records:
            if record.finished is None:
                record.cause = record.cause or "no answer from the cluster until the run's end"

    def _notice(self, state: Observed) -> None:
        self._notice_oversized(state)
        for record in self._records:
            self._notice_nodes(record, state)
            if record.ended is None:
                self._notice_job(record, state)
            self._notice_untolerated(record, state)
            if record.ended is not None and record.finished is None:
                self._notice_idle(record, state)
        committed = sum(self._usd(record, state.at, committed=True) for record in self._records)
        if committed > self._plan.limit + _CENT and any(record.ended is None for record in self._records):
            self._stop(state, committed)

    def _notice_oversized(self, state: Observed) -> None:
        if self._plan.oversized is None or not self._oversized_created:
            return
        for pod in state.pods_of(self._plan.oversized["metadata"]["name"]):
            self._oversized_ran = self._oversized_ran or bool(pod["spec"].get("nodeName"))
            self._oversized_message = _unscheduled(pod) or self._oversized_message

    def _notice_nodes(self, record: _TrialRecord, state: Observed) -> None:
        if state.nodes is None:
            return
        pool, present = record.trial.pool, state.nodes_of(record.trial.pool.name)
        for name, node in present.items():
            if name in self._known:
                continue
            if name not in record.nodes:
                self._say(f"{pool.name}: node {name} joins")
            known = record.nodes.setdefault(name, _NodeRecord(node))
            ready = judge.is_ready(node)
            known.ready = known.ready or (state.at if ready else None)
            pods = None if state.others is None else state.others.get(name, ())
            # Before the job runs labels and taints may still come; after it, those of a node on its way out.
            if not (known.complete and record.running):
                known.last, known.complete = node, ready and judge.has_devices(node, pool)
                known.differences = [*judge.differences(node, pool, self._offer, pods)]
            known.strangers.update(dict.fromkeys(judge.strangers(pods or (), name)))
        for name in record.up:
            if name not in present:
                record.nodes[name].gone = state.at
                self._say(f"{pool.name}: node {name} is gone")

    def _notice_job(self, record: _TrialRecord, state: Observed) -> None:
        pool, name = record.trial.pool, record.trial.job["metadata"]["name"]
        if name not in state.jobs:
            record.cause = record.cause or "the Job was deleted by somebody else"
            record.ended = state.at
            return
        reason = reason_of(self._cluster, self._offer, state, name)
        record.announced = record.announced or reason.kind in _ANNOUNCED
        for event in state.events:
            if at(event, "involvedObject", "name") in {pod["metadata"]["name"] for pod in state.pods_of(name)}:
                record.words[hidden(f"{event.get('reason')}: {event.get('message')}")] = None
        pods = state.pods_of(name)
        nodes = [str(pod["spec"]["nodeName"]) for pod in pods if pod["spec"].get("nodeName")]
        record.node = ", ".join(dict.fromkeys(nodes)) or record.node
        if record.running is None and sum(map(_has_started, pods)) >= record.trial.nodes:
            record.running = state.at
            self._say(f"{pool.name}: the job runs on {record.node} after {_seconds(record.created, state.at)}")
        if reason.kind in ("succeeded", "failed"):
            record.succeeded, record.ended = reason.kind == "succeeded", state.at
            record.log = self._log(state, name)
            if not record.succeeded and (record.running is not None or not record.cause):
                record.cause, record.remedy = reason.summary, reason.remedy
            self._say(f"{pool.name}: the job has {'completed' if record.succeeded else 'failed'}")
            return
        # After its deadline a Job has no pods for a moment, which is not why it waited.
        ending = not pods and reason.kind == "waiting" and record.cause
        if record.running is None and not ending:
            record.cause, record.remedy = self._why_waiting(record, state, reason)
            if reason.kind not in ("waiting", record.waits_for) and reason.waiting_helps is not True:
                self._say(f"{pool.name}: the job waits: {record.cause}")
            record.waits_for = reason.kind
            self._give_up(record, state, reason)

    def _give_up(self, record: _TrialRecord, state: Observed, reason: Reason) -> None:
        """End a job early that waits for something that does not come by itself."""
        if reason.waiting_helps is not False or record.up:
            record.hopeless_since = None
            return
        record.hopeless_since = record.hopeless_since or state.at
        if (state.at - record.hopeless_since).total_seconds() >= _HOPELESS_SECONDS:
            record.ended = state.at
            self._remove(record.trial.job["metadata"]["name"])

    def _why_waiting(self, record: _TrialRecord, state: Observed, reason: Reason) -> tuple[str, str]:
        """Why the job does not run yet, and what to do: what its node lacks comes before what an autoscaler says."""
        pool, minutes = record.trial.pool, (state.at - record.created).total_seconds() / 60
        known = {each.name for each in self._offer.pools}
        for name, node in (state.nodes or {}).items():
            machine = (at(node, "metadata", "labels") or {}).get(judge.MACHINE_TYPE)
            alike = machine in pool.nodes.machine_types or judge.offered(node, pool.gpus.resource)
            if name not in self._known and judge.pool_name(node) not in known and alike:
                record.unlabelled[name] = node
        # A node that is gone may have been the reason: autoscalers delete those that do not become ready.
        for name in sorted(record.nodes, key=lambda each: each not in record.up):
            node = record.nodes[name].last
            labels = [text for text in judge.differences(node, pool, self._offer, None) if ": label " in text]
            if not judge.is_ready(node):
                return f"node {name} is not Ready: {_ready_message(node)}", "read the events of the node"
            if labels:
                return f"{'; '.join(labels)}: the job's pod selects it", "run `pulumi up`, or restore the label"
            if not judge.offered(node, pool.gpus.resource):
                text = (
                    f"node {name} is Ready and offers no {pool.gpus.resource}: its driver or device plugin is missing"
                )
                return text, "read the log of the driver's and the device plugin's pods on the node"
        for name, node in record.unlabelled.items():
            text = f"node {name} joined with the label {POOL_LABEL}={judge.pool_name(node)}, declared is {pool.name}"
            return text, "the job's pod selects the label: run `pulumi up`, or restore it"
        if reason.kind == "waiting" and reason.source == "the scheduler" and not pool.scaling.owned and not record.up:
            return (
                f"no autoscaler has said anything about the job's pod for {minutes:.0f} min",
                "check that the autoscaler runs",
            )
        return reason.summary, reason.remedy

    def _log(self, state: Observed, job: str) -> list[str]:
        for pod in reversed(state.pods_of(job)):
            try:
                lines = self._cluster.log(self._cluster.namespace, pod["metadata"]["name"])
            except ClusterError:
                continue
            return [hidden(line) for _, line in lines][-40:]
        return []

    def _notice_untolerated(self, record: _TrialRecord, state: Observed) -> None:
        job, pool = record.trial.untolerated, record.trial.pool
        if job is None:
            return
        # While a node is there: before, nothing would be shown.
        ready = record.node is not None or any(judge.is_ready(node) for node in state.nodes_of(pool.name).values())
        if ready and record.ended is None and not record.untolerated_created:
            record.untolerated_created = True
            if not self._create(job):
                record.untolerated_message = self._refused[job["metadata"]["name"]]
        for pod in state.pods_of(job["metadata"]["name"]):
            record.untolerated_on = pod["spec"].get("nodeName") or record.untolerated_on
            record.untolerated_message = _unscheduled(pod) or record.untolerated_message

    def _notice_idle(self, record: _TrialRecord, state: Observed) -> None:
        pool = record.trial.pool
        assert record.ended is not None
        if record.untolerated_created and record.trial.untolerated is not None and not record.finished:
            judged = record.untolerated_message or record.untolerated_on
            if judged or state.at - record.ended > timedelta(seconds=30):
                self._remove(record.trial.untolerated["metadata"]["name"])
        if pool.scaling.owned or not record.up or state.nodes is None:
            # Without a node to wait for, the pod without a toleration gets a moment to be judged.
            waits = record.untolerated_created and not (record.untolerated_message or record.untolerated_on)
            if not waits or state.at - record.ended > timedelta(seconds=30):
                record.finished = state.at
        elif state.at >= record.removed_after(record.ended):
            record.finished = state.at

    def _usd(self, record: _TrialRecord, now: datetime, *, committed: bool) -> float:
        """What the pool's new nodes cost until ``now``; ``committed``: until the autoscaler has removed them, too.

        A machine is billed before its node joins, so each counts from the job's creation; one that was announced and
        never seen counts as if it were there for as long as it may be.
        """
        pool = record.trial.pool
        if pool.scaling.prepaid:
            return 0.0
        unseen = not record.nodes and record.announced
        ends = [None] * record.trial.nodes if unseen else [node.gone for node in record.nodes.values()]
        until = max(now, record.removed_after(record.ended or now)) if committed or unseen else now
        hours = sum(((end or until) - record.created).total_seconds() for end in ends) / 3600
        return hours * (pool.nodes.hourly_usd or 0.0)

    def _stop(self, state: Observed, committed: float) -> None:
        text = f"stopped: until their removal the nodes would cost ${committed:.2f}, more than ${self._plan.limit:.2f}"
        self._say(text)
        for record in self._records:
            if record.ended is None:
                record.stopped, record.ended = text, state.at
        self._delete()

    def _remove(self, name: str) -> None:
        if name in self._created:
            self._cluster.delete(job_path(self._cluster.namespace, name))
            self._created.remove(name)

    def _delete(self) -> None:
        """Delete the run's Jobs; those that cannot be deleted now end by themselves."""
        for name in [*self._created]:
            try:
                self._remove(name)
            except ClusterError as error:
                seconds = ENDING_SECONDS + KEPT_SECONDS
                by = self._clock.now() + timedelta(minutes=self._plan.request.minutes, seconds=seconds)
                self._say(f"{error}; the run's Jobs end by themselves, and are gone by {by:%H:%M} UTC")
                return

    def _rows(self) -> Iterator[ShownRow]:
        assert self._first is not None
        yield from self._rows_before(self._first)
        for record in self._records:
            yield self._from_zero(record)
            yield self._job(record)
            yield _driver(record)
            yield self._as_published(record)
            if record.trial.untolerated is not None:
                yield _untolerated(record)
            yield self._to_zero(record)
        for name, reason in self._plan.skipped.items():
            yield ShownRow(id=f"job:{name}", title=f"{name} runs a first job", result="not shown", detail=reason)
        yield self._oversized()
        yield self._system_pods()
        yield self._bill()

    def _rows_before(self, first: Observed) -> Iterator[ShownRow]:
        title = "the nodes that are up are as published"
        if first.nodes is None:
            yield ShownRow(id="nodes", title=title, result="not shown", detail=_MISSING)
            return
        found = [(node, pool) for pool in self._offer.pools for node in first.nodes_of(pool.name).values()]
        wrong = [
            text
            for node, pool in found
            if judge.is_ready(node)
            for text in judge.differences(node, pool, self._offer, (first.others or {}).get(node["metadata"]["name"]))
        ]
        if wrong:
            detail, remedy = "; ".join(wrong), "run `pulumi up`; a node keeps what it was created with"
            yield ShownRow(id="nodes", title=title, result="failed", detail=detail, remedy=remedy)
        elif found:
            detail = f"{counted(len(found), 'GPU node')} compared"
            yield ShownRow(id="nodes", title=title, result="shown", detail=detail)

    def _from_zero(self, record: _TrialRecord) -> ShownRow:
        pool = record.trial.pool
        row = {"id": f"zero:{pool.name}", "title": f"{pool.name} starts a node from zero"}
        if pool.scaling.owned:
            return ShownRow(**row, result="not shown", detail="its machines are always there")
        if record.before:
            held = ", ".join(f"{name} ({' and '.join(pods) or 'idle'})" for name, pods in record.before.items())
            return ShownRow(**row, result="not shown", detail=f"it had {counted(len(record.before), 'node')}: {held}")
        if self._sees_no_nodes:
            waited = f"; the job ran after {_seconds(record.created, record.running)}" if record.running else ""
            return ShownRow(**row, result="not shown", detail=f"{_MISSING}{waited}")
        if record.running is not None and record.nodes:
            ready = min((node.ready for node in record.nodes.values() if node.ready), default=None)
            ready_text = f"node Ready after {_seconds(record.created, ready)}, " if ready else ""
            detail = f"{ready_text}job running after {_seconds(record.created, record.running)}"
            return ShownRow(**row, result="shown", detail=detail)
        return ShownRow(**row, result="failed", detail=record.stopped or record.cause, remedy=record.remedy)

    @property
    def _sees_no_nodes(self) -> bool:
        return self._first is not None and self._first.nodes is None

    def _job(self, record: _TrialRecord) -> ShownRow:
        pool = record.trial.pool
        gpus = counted(pool.gpus_per_pod * record.trial.nodes, "GPU")
        row = {"id": f"job:{pool.name}", "title": f"a first job with {gpus} of {pool.name} runs to its end"}
        if record.succeeded:
            return ShownRow(**row, result="shown", detail=f"on {record.node}")
        if record.stopped:
            return ShownRow(**row, result="not shown", detail=record.stopped)
        end = f"; its output ends with: {record.log[-1]}" if record.log else ""
        return ShownRow(**row, result="failed", detail=f"{record.cause}{end}", remedy=record.remedy)

    def _as_published(self, record: _TrialRecord) -> ShownRow:
        pool = record.trial.pool
        row = {"id": f"node:{pool.name}", "title": f"a new node of {pool.name} is as published"}
        wrong = [text for node in record.nodes.values() for text in node.differences]
        if self._sees_no_nodes:
            return ShownRow(**row, result="not shown", detail=_MISSING)
        if not record.nodes:
            return ShownRow(**row, result="not shown", detail="no new node joined")
        if wrong:
            remedy = "run `pulumi up`; what the cloud decides otherwise is worth a report"
            return ShownRow(**row, result="failed", detail="; ".join(wrong), remedy=remedy)
        kinds = "labels, taints, machine type, zone, devices, room for jobs"
        return ShownRow(**row, result="shown", detail=f"{counted(len(record.nodes), 'node')}: {kinds}")

    def _to_zero(self, record: _TrialRecord) -> ShownRow:
        pool = record.trial.pool
        row = {"id": f"idle:{pool.name}", "title": f"{pool.name} removes its node after the job"}
        minutes = pool.scaling.unneeded_minutes
        declared = f"declared are {minutes} min" if minutes else f"usual are {billed_after(pool)} min at most"
        if pool.scaling.owned:
            return ShownRow(**row, result="not shown", detail="its machines are always there")
        if self._sees_no_nodes:
            return ShownRow(**row, result="not shown", detail=_MISSING)
        if not record.nodes:
            return ShownRow(**row, result="not shown", detail="no new node joined")
        if not record.up:
            gone = max(node.gone for node in record.nodes.values() if node.gone is not None)
            assert record.ended is not None
            return ShownRow(**row, result="shown", detail=f"{_seconds(record.ended, gone)} after its job; {declared}")
        name = record.up[0]
        held = self._holders(name)
        if held:
            detail = f"node {name} is in use by {', '.join(held)}"
            return ShownRow(**row, result="not shown", detail=detail)
        seen = "" if held is not None else f" ({_UNSEEN}: another user's pod may hold it)"
        after = (
            "the run ended before"
            if record.finished is None or record.ended is None
            else _seconds(record.ended, record.finished)
        )
        hourly = f", and costs ${pool.nodes.hourly_usd:.2f}/h" if pool.nodes.hourly_usd else ""
        detail = f"node {name} is still there {after} after its job{hourly}{seen}; {declared}"
        remedy = f"read what the autoscaler says about {name}; then delete its machine, or ask an administrator"
        return ShownRow(**row, result="failed", detail=detail, remedy=remedy)

    def _holders(self, node: str) -> list[str] | None:
        """Pods of others on a node now; ``None`` if nobody may say."""
        try:
            state = self._look()
        except ClusterError:
            return None
        if state.others is None:
            return None
        mine = {f"{self._cluster.namespace}/{pod['metadata']['name']}" for pod in state.pods}
        return [name for name in judge.holders(state.others.get(node, ()), node) if name not in mine]

    def _oversized(self) -> ShownRow:
        row = {"id": "oversized", "title": "a pod with more GPUs than any node has stays Pending"}
        job = self._plan.oversized
        if job is None or not self._oversized_created:
            refused = self._refused.get(job["metadata"]["name"], "") if job else "the cluster has no GPU pool"
            return ShownRow(**row, result="not shown", detail=refused)
        if self._oversized_ran:
            return ShownRow(**row, result="failed", detail="it got a node", remedy="compare the pools with their nodes")
        if not self._oversized_message:
            return ShownRow(**row, result="not shown", detail="the scheduler has not judged it; a quota may refuse it")
        return ShownRow(**row, result="shown", detail=self._oversized_message)

    def _system_pods(self) -> ShownRow:
        row = {"id": "system", "title": "pods without GPUs stay off GPU nodes"}
        first = self._first
        if first is None or self._sees_no_nodes or first.others is None or not self._all_pods:
            return ShownRow(**row, result="not shown", detail=_MISSING if self._sees_no_nodes else _UNSEEN)
        before = [each for name, pods in first.others.items() for each in judge.strangers(pods, name)]
        new = [pod for record in self._records for node in record.nodes.values() for pod in node.strangers]
        own = {f"{self._cluster.namespace}/{name}" for name in self._job_names()}
        strange = [each for each in dict.fromkeys((*before, *new)) if each.rpartition("-")[0] not in own]
        nodes = len(first.others) + sum(len(record.nodes) for record in self._records)
        if strange:
            detail = f"on GPU nodes: {', '.join(strange)}"
            remedy = "remove their toleration of the GPU taint: they keep the nodes from their end"
            return ShownRow(**row, result="failed", detail=detail, remedy=remedy)
        if not nodes:
            return ShownRow(**row, result="not shown", detail="no GPU node was up")
        return ShownRow(**row, result="shown", detail=f"{counted(nodes, 'GPU node')} looked at")

    def _job_names(self) -> Iterator[str]:
        for trial in self._plan.trials:
            yield from (job["metadata"]["name"] for job in (trial.job, trial.untolerated) if job is not None)

    def _bill(self) -> ShownRow:
        usd = sum(self._usd(record, self._clock.now(), committed=False) for record in self._records)
        row = {"id": "bill", "title": f"the run costs no more than ${self._plan.limit:.2f}"}
        detail = f"at most ${usd:.2f} at list prices, from each job's creation to its node's end"
        if usd > self._plan.limit + _CENT:
            return ShownRow(**row, result="failed", detail=detail, remedy="nodes are still up: see above")
        return ShownRow(**row, result="shown", detail=detail)

    def _evidence(self, record: _TrialRecord) -> dict[str, Any]:
        pool = record.trial.pool
        return {
            "hourlyUsd": pool.nodes.hourly_usd,
            "priceAtMost": pool.nodes.price_at_most,
            "maxUsd": round(self._usd(record, self._clock.now(), committed=False), 4),
            "waitedSeconds": _elapsed(record.created, record.running),
            "endedSeconds": _elapsed(record.created, record.ended),
            "events": [*record.words],
            "output": record.log,
            "nodes": [_node_evidence(record, name, node) for name, node in record.nodes.items()],
        }


def leftovers(cluster: ClusterClient, user: str) -> tuple[list[str], list[str]]:
    """Names of the Jobs of the user's earlier runs, and of other users' runs, in the namespace. Raises ClusterError."""
    jobs = cluster.list(job_path(cluster.namespace), labelSelector=LABEL)
    mine = [job["metadata"]["name"] for job in jobs if (at(job, "metadata", "annotations") or {}).get(OWNER) == user]
    return mine, [name for job in jobs if (name := job["metadata"]["name"]) not in mine]


def _node_evidence(record: _TrialRecord, name: str, node: _NodeRecord) -> dict[str, Any]:
    return {
        "name": name,
        "labels": dict(at(node.last, "metadata", "labels") or {}),
        "taints": list(at(node.last, "spec", "taints") or ()),
        "allocatable": dict(at(node.last, "status", "allocatable") or {}),
        "capacity": dict(at(node.last, "status", "capacity") or {}),
        "kubelet": at(node.last, "status", "nodeInfo", "kubeletVersion"),
        "osImage": at(node.last, "status", "nodeInfo", "osImage"),
        "readySeconds": _elapsed(record.created, node.ready),
        "goneSeconds": _elapsed(record.created, node.gone),
    }


def _driver(record: _TrialRecord) -> ShownRow:
    pool = record.trial.pool
    row = {"id": f"driver:{pool.name}", "title": f"the driver of {pool.name} answers"}
    program = " ".join(record.trial.job["spec"]["template"]["spec"]["containers"][0]["command"])
    if not record.succeeded:
        return ShownRow(**row, result="not shown", detail="the job did not complete")
    versions = [match[1] for line in record.log if (match := _DRIVER.search(line))]
    if versions:
        return ShownRow(**row, result="shown", detail=f"{program}: driver {versions[0]}")
    if pool.gpus.resource == GPU_RESOURCE or not record.log:
        return ShownRow(**row, result="not shown", detail=f"the job's log has no output of `{program}`")
    return ShownRow(**row, result="not shown", detail=f"read the output of `{program}` in the report")


def _untolerated(record: _TrialRecord) -> ShownRow:
    pool = record.trial.pool
    row = {"id": f"taint:{pool.name}", "title": f"a pod without the toleration stays off {pool.name}"}
    if record.untolerated_on:
        detail, remedy = f"it got the node {record.untolerated_on}", "restore the taints: run `pulumi up`"
        return ShownRow(**row, result="failed", detail=detail, remedy=remedy)
    if record.untolerated_message and record.node is not None:
        return ShownRow(**row, result="shown", detail=record.untolerated_message)
    return ShownRow(**row, result="not shown", detail=record.untolerated_message or "no node was up")


def _unscheduled(pod: Object) -> str:
    """What the scheduler says of a pod that it has not placed."""
    conditions = at(pod, "status", "conditions") or ()
    message = next((str(each.get("message") or "") for each in conditions if each.get("type") == "PodScheduled"), "")
    # What the scheduler tried besides says nothing about the nodes.
    return message.partition(". ")[0]


def _ready_message(node: Object) -> str:
    conditions = at(node, "status", "conditions") or ()
    message = next(
        (str(each.get("message") or each.get("reason")) for each in conditions if each["type"] == "Ready"), ""
    )
    return message or "its kubelet has reported nothing"


def _has_started(pod: Object) -> bool:
    statuses = at(pod, "status", "containerStatuses") or ()
    return any({"running", "terminated"} & {*(each.get("state") or {})} for each in statuses)


def _elapsed(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else round((end - start).total_seconds(), 1)


def _seconds(start: datetime, end: datetime) -> str:
    seconds = (end - start).total_seconds()
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
