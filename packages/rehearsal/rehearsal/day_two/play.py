"""Plays day two on a running stack: a preview must announce every change that ends the job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from facts.catalog.changes import Effects
from rehearsal.day_two.edits import Edit, Target, edit_stack, entry_of, next_minor
from rehearsal.day_two.job import NEVER_RAN, RunningJob, ending_steps, judged, named, survived
from rehearsal.engine.engine import CommandResult, Engine, PolicyPack
from rehearsal.scenario.check import Check
from rehearsal.scenario.plan import Scenario
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import User, Wait


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
        """A check for each edit, and one for an update with `--refresh` after them."""
        job = RunningJob(scenario, self._user, self._timeline, self._wait)
        for number, edits in enumerate(self._edits, 1):
            yield from self._edited(edits, job, f"day-two-{number}")
        passed, detail = self._refreshed(job)
        title = "With a job running: `pulumi up --refresh` changes nothing, nor does the next update"
        yield Check("day-two:refresh", title, passed, detail)
        job.delete()

    def _refreshed(self, job: RunningJob) -> tuple[bool, str]:
        waited = self._apply_waiting_changes(job)
        if waited is not None and not waited.ok:
            return False, waited.reason
        if (placed := job.placed()) is None:
            return False, NEVER_RAN
        # The job's node started after the update before: its pool's size in the state is another than in the cloud.
        for name, refresh in (("day-two-refresh", True), ("day-two-refreshed", False)):
            updated = self._engine.up(self._gate, name=name, expect_no_changes=True, refresh=refresh)
            if not updated.ok:
                return False, updated.reason
        pod, node = placed
        passed, detail = judged(job.pod(pod.uid), (), ends=False, lost=job.lost_labels(pod, node))
        return passed, "no changes; the job kept running" if passed else detail

    def _apply_waiting_changes(self, job: RunningJob) -> CommandResult | None:
        """Update again when no pool but the job's has nodes, if a change waits for that."""
        if all(self._effects[edit.id].job != "waits" for edits in self._edits for edit in edits):
            return None
        self._wait(lambda: {node.name for node in self._timeline.gpu_nodes_now()} <= job.nodes(), PATIENCE_SECONDS)
        return self._engine.up(self._gate, name="day-two-waited", skip_preview=True)

    def _edited(self, edits: tuple[Edit, ...], job: RunningJob, name: str) -> Iterator[Check]:
        passed, detail = self._updated(edits, job, name)
        if len(edits) > 1:
            detail += f" ({len(edits)} changes in one update)"
        for edit in edits:
            yield Check(f"day-two:{edit.id}", f"With a job running: {edit.title}", passed, detail)

    def _updated(self, edits: tuple[Edit, ...], job: RunningJob, name: str) -> tuple[bool, str]:
        placed = job.placed()
        if placed is None:
            return False, NEVER_RAN
        pod, node = placed
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
            self._wait(lambda: not survived(job.pod(pod.uid)), PATIENCE_SECONDS)
        return judged(job.pod(pod.uid), named(ending_steps(planned)), ends=ends, lost=job.lost_labels(pod, node))
