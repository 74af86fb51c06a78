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
        """A check for an update with ``--refresh``, one for each edit, and one for an update after a refresh."""
        job = RunningJob(scenario, self._user, self._timeline, self._wait)
        yield self._refreshed_while_running(job)
        for number, edits in enumerate(self._edits, 1):
            yield from self._edited(edits, job, f"day-two-{number}")
        waited = self._apply_waiting_changes(job)
        refreshed = self._engine.refresh()
        again = self._engine.up(self._gate, name="day-two-refreshed", expect_no_changes=True)
        results = [result for result in (waited, refreshed, again) if result is not None]
        detail = next((result.reason for result in results if not result.ok), "no changes")
        title = "After `pulumi refresh`, an update changes nothing"
        yield Check("day-two:refresh", title, all(result.ok for result in results), detail)
        job.delete()

    def _refreshed_while_running(self, job: RunningJob) -> Check:
        title = "With a job running: `pulumi up --refresh` changes nothing"
        if (placed := job.placed()) is None:
            return Check("day-two:up-refresh", title, passed=False, detail=NEVER_RAN)
        self._wait_for_idle_nodes(job)
        # No update came since the job's node started, so the state has another size of its pool than the cloud.
        updated = self._engine.up(self._gate, name="day-two-refresh", expect_no_changes=True, refresh=True)
        if not updated.ok:
            return Check("day-two:up-refresh", title, passed=False, detail=updated.reason)
        pod, node = placed
        kept, detail = judged(job.pod(pod.uid), (), ends=False, lost=job.lost_labels(pod, node))
        return Check("day-two:up-refresh", title, kept, "no changes; the job kept running" if kept else detail)

    def _apply_waiting_changes(self, job: RunningJob) -> CommandResult | None:
        """Update again when no pool but the job's has nodes, if a change waits for that."""
        if all(self._effects[edit.id].job != "waits" for edits in self._edits for edit in edits):
            return None
        self._wait_for_idle_nodes(job)
        return self._engine.up(self._gate, name="day-two-waited", skip_preview=True)

    def _wait_for_idle_nodes(self, job: RunningJob) -> None:
        """Wait until the autoscaler has removed all GPU nodes but the job's."""
        self._wait(lambda: {node.name for node in self._timeline.gpu_nodes_now()} <= job.nodes(), PATIENCE_SECONDS)

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
