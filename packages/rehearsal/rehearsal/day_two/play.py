"""Plays day two on a running stack: a preview must announce every change that ends the job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from facts.catalog.changes import Effects
from rehearsal.day_two.edits import Edit, Target, edit_stack, entry_of, next_minor
from rehearsal.engine.engine import CommandResult, Engine, PolicyPack
from rehearsal.scenario.check import Check
from rehearsal.scenario.plan import Scenario, Submission
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import PodRecord, Timeline
from rehearsal.scenario.user import User, Wait

_ENDING: Final = ("replace", "delete")
_LISTED: Final = 3
"""Maximum number of listed preview steps: a pool may have a dozen resources, an entry a dozen pools."""


@dataclass(frozen=True)
class Changed:
    """One update: the titles of its changes, and the difference of the stack file."""

    titles: tuple[str, ...]
    diff: str


class DayTwo:
    """Plays the edits, update by update; ``changes`` has what they changed in the stack file.

    ``wait`` waits for a condition until nothing has happened for some seconds; ``version`` returns the cluster's
    version, ``effects`` the documented effect of each edit.
    """

    def __init__(
        self,
        engine: Engine,
        gate: PolicyPack | None,
        user: User,
        timeline: Timeline,
        wait: Wait,
        *,
        version: str,
        effects: Effects,
        edits: Sequence[tuple[Edit, ...]],
    ) -> None:
        self._engine, self._gate, self._user, self._timeline, self._wait = engine, gate, user, timeline, wait
        self._version, self._effects, self._edits = version, effects, edits
        self.changes: list[Changed] = []

    def play(self, scenario: Scenario) -> Iterator[Check]:
        """A check for each edit, and one for a refresh after them."""
        job = _job(scenario)
        for number, edits in enumerate(self._edits, 1):
            yield from self._edited(edits, job, f"day-two-{number}")
        waited = self._apply_waiting_changes(job)
        refreshed = self._engine.refresh()
        again = self._engine.up(self._gate, name="day-two-refreshed", expect_no_changes=True)
        results = [result for result in (waited, refreshed, again) if result is not None]
        detail = next((result.reason for result in results if not result.ok), "no changes")
        title = "After `pulumi refresh`, an update changes nothing"
        yield Check("day-two:refresh", title, all(result.ok for result in results), detail)
        self._user.delete(job.kind, job.workload)

    def _apply_waiting_changes(self, job: Submission) -> CommandResult | None:
        """Update again when no pool but the job's has nodes, if a change waits for that."""
        if all(self._effects[edit.id].job != "waits" for edits in self._edits for edit in edits):
            return None
        pods = self._timeline.pods_of(job.workload)
        in_use = {pod.node for pod in pods if pod.deleted is None}
        self._wait(lambda: {node.name for node in self._timeline.gpu_nodes_now()} <= in_use, PATIENCE_SECONDS)
        return self._engine.up(self._gate, name="day-two-waited", skip_preview=True)

    def _edited(self, edits: tuple[Edit, ...], job: Submission, name: str) -> Iterator[Check]:
        pod = self._running(job)
        passed, detail = self._updated(edits, pod, name)
        if len(edits) > 1:
            detail += f" ({len(edits)} changes in one update)"
        for edit in edits:
            yield Check(f"day-two:{edit.id}", f"With a job running: {edit.title}", passed, detail)

    def _updated(self, edits: tuple[Edit, ...], pod: PodRecord | None, name: str) -> tuple[bool, str]:
        node = None if pod is None else self._timeline.node_of(pod)
        if pod is None or node is None:
            return False, "the job that should run during the update never ran"
        file = self._engine.stack_file
        diff = edit_stack(file, edits, Target(entry_of(node.pool, file), next_minor(self._version)))
        self.changes.append(Changed(tuple(edit.title for edit in edits), diff))
        planned = self._engine.preview(self._gate)
        if not planned.ok:
            return False, planned.reason
        updated = self._engine.up(self._gate, name=name, skip_preview=True)
        if not updated.ok:
            return False, updated.reason
        ends = any(self._effects[edit.id].job == "ends" for edit in edits)
        if ends:
            # The watch shows changes to nodes a moment later.
            self._wait(lambda: not _survived(self._by(pod.uid)), PATIENCE_SECONDS)
        now = self._timeline.node_of(pod) or node
        lost = sorted(node.labels.keys() - now.labels.keys())
        return judged(self._by(pod.uid), _ended(planned), ends=ends, lost=lost)

    def _running(self, job: Submission) -> PodRecord | None:
        """The job's pod, recreated if it has ended."""

        def alive() -> PodRecord | None:
            pods = self._timeline.pods_of(job.workload)
            return next((pod for pod in pods if pod.running and pod.deleted is None and pod.finished is None), None)

        if alive() is None:
            self._user.delete(job.kind, job.workload)
            deleted = [pod.uid for pod in self._timeline.pods_of(job.workload)]
            self._wait(lambda: all(self._by(uid).deleted is not None for uid in deleted), PATIENCE_SECONDS)
            self._user.create(job.manifest)
            self._wait(lambda: alive() is not None, PATIENCE_SECONDS)
        return alive()

    def _by(self, uid: str) -> PodRecord:
        return next(each for each in self._timeline.pods if each.uid == uid)


def judged(pod: PodRecord, announced: tuple[str, ...], *, ends: bool, lost: Sequence[str] = ()) -> tuple[bool, str]:
    """Whether the present state of the job's pod is as documented, and a sentence about it.

    Nothing may end it unannounced, and it must not survive a change that is documented to end it. Its node may have
    ``lost`` no label, which pods select; AKS takes its own from running nodes (https://github.com/Azure/AKS/issues/3152).
    """
    preview = f"the preview announced: {_shortly(announced)}"
    if _survived(pod) and lost:
        return False, f"the job kept running, and its node lost the label {', '.join(lost)}"
    if _survived(pod):
        return not ends, f"the job kept running; {preview}"
    return ends and bool(announced), f"the job ended; {preview}"


def _shortly(announced: tuple[str, ...]) -> str:
    """The first few steps (``delete day2-1-pool``), without those of parts, recognised by their names."""
    names = {step: step.split(maxsplit=1)[1] for step in announced}
    heads = [step for step, name in names.items() if not any(name.startswith(f"{each}-") for each in names.values())]
    more = [f"{len(heads) - _LISTED} more"] if len(heads) > _LISTED else []
    own = " and its parts" if len(heads) < len(announced) else ""
    return ", ".join((*heads[:_LISTED], *more)) + own if announced else "no replacement and no deletion"


def _survived(pod: PodRecord) -> bool:
    return pod.deleted is None and pod.phase == "Running"


def _ended(planned: CommandResult) -> tuple[str, ...]:
    """Cloud resources that the preview would replace or delete."""
    steps = [step for step in planned.outcome.steps if step.alters and step.op in _ENDING]
    return tuple(dict.fromkeys(f"{step.op} {step.name}" for step in steps))


def _job(scenario: Scenario) -> Submission:
    """A pod of the burst, which holds its GPU until its deletion."""
    first = scenario.burst.fill[0]
    manifest = {**first.manifest, "metadata": {**first.manifest["metadata"], "name": "day-two"}}
    return replace(first, id="day-two", title="a job that runs while settings change", manifest=manifest)
