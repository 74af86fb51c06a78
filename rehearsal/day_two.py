"""Day two: settings change while a job runs on a GPU node. What ends the job has to be announced by a preview."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.checks import Check
from rehearsal.engine import Engine, Gate, Result
from rehearsal.scenario import Scenario, Submission
from rehearsal.timeline import PodRecord, Timeline
from rehearsal.user import User

RUN_SECONDS: Final = 120.0
_POOLS: Final = "gpucluster:gpuPools"
_ENDING: Final = ("replace", "delete", "delete-replaced", "create-replacement")

Config = dict[str, Any]


@dataclass(frozen=True)
class Edit:
    """One change of the stack file's ``config``, in place, as a user would make it."""

    id: str
    title: str
    change: Callable[[Config], None]


def _first(key: str, value: Callable[[Any], Any]) -> Callable[[Config], None]:
    """A change of a key of the first GPU pool."""

    def change(config: Config) -> None:
        pool = config[_POOLS][0]
        pool[key] = value(pool.get(key))

    return change


def _tag(config: Config) -> None:
    config["gpucluster:labels"] = {**(config.get("gpucluster:labels") or {}), "day": "two"}


def _add_pool(config: Config) -> None:
    config[_POOLS].append({**copy.deepcopy(config[_POOLS][0]), "name": "day2", "maxNodes": 1})


def _remove_pool(config: Config) -> None:
    config[_POOLS][:] = [pool for pool in config[_POOLS] if pool.get("name") != "day2"]


EDITS: Final = (
    Edit("maximum-raised", "maxNodes of a pool raised by one", _first("maxNodes", lambda most: most + 1)),
    Edit("maximum-lowered", "maxNodes of that pool lowered again", _first("maxNodes", lambda most: most - 1)),
    Edit("label", "a node label added to a pool", _first("labels", lambda labels: {**(labels or {}), "day": "two"})),
    Edit("tag", "a label added to every cloud resource", _tag),
    Edit("pool-added", "a GPU pool added", _add_pool),
    Edit("pool-removed", "that GPU pool removed", _remove_pool),
)
"""In this order; each starts from what the one before left.

Another disk or machine is not among them: clouds move a pool's nodes for it, which the simulated ones do not.
"""


class DayTwo:
    """Plays the edits on a running stack. ``wait`` waits for a condition, some seconds at most."""

    def __init__(
        self,
        engine: Engine,
        gate: Gate | None,
        user: User,
        timeline: Timeline,
        wait: Callable[[Callable[[], bool], float], bool],
    ) -> None:
        self._engine, self._gate, self._user, self._timeline, self._wait = engine, gate, user, timeline, wait

    def play(self, scenario: Scenario) -> Iterator[Check]:
        """A check for each edit, and one for a refresh after them."""
        job = _job(scenario)
        for edit in EDITS:
            yield self._edited(edit, job)
        refreshed = self._engine.refresh()
        again = self._engine.up(self._gate, name="day-two-refreshed", expect_no_changes=True)
        detail = refreshed.reason if not refreshed.ok else again.reason if not again.ok else "no changes"
        title = "After a refresh, an update changes nothing"
        yield Check("day-two:refresh", title, refreshed.ok and again.ok, detail)
        self._user.delete(job.kind, job.workload)

    def _edited(self, edit: Edit, job: Submission) -> Check:
        id, title = f"day-two:{edit.id}", f"With a job running: {edit.title}"
        pod = self._running(job)
        if pod is None:
            return Check(id, title, False, "the job that was to run meanwhile never ran")
        edit_stack(self._engine.stack_file, edit)
        planned = self._engine.preview(self._gate)
        if not planned.ok:
            return Check(id, title, False, planned.reason)
        updated = self._engine.up(self._gate, name=f"day-two-{edit.id}")
        if not updated.ok:
            return Check(id, title, False, updated.reason)
        return Check(id, title, *judged(self._now(pod), _ended(planned)))

    def _running(self, job: Submission) -> PodRecord | None:
        """The job's pod, started anew if it has ended."""

        def alive() -> PodRecord | None:
            pods = self._timeline.pods_of(job.workload)
            return next((pod for pod in pods if pod.running and pod.gone is None and pod.finished is None), None)

        if alive() is None:
            self._user.delete(job.kind, job.workload)
            self._wait(lambda: all(pod.gone is not None for pod in self._timeline.pods_of(job.workload)), RUN_SECONDS)
            self._user.create(job.manifest)
            self._wait(lambda: alive() is not None, RUN_SECONDS)
        return alive()

    def _now(self, pod: PodRecord) -> PodRecord:
        return next(each for each in self._timeline.pods if each.uid == pod.uid)


def edit_stack(file: Path, edit: Edit) -> None:
    """Make the edit in a stack file."""
    content = yaml.safe_load(file.read_text())
    edit.change(content["config"])
    file.write_text(yaml.safe_dump(content, sort_keys=False))


def judged(pod: PodRecord, announced: tuple[str, ...]) -> tuple[bool, str]:
    """Whether a pod that ran when the edit was made may be as it is now, and the words for it."""
    survived = pod.gone is None and pod.phase == "Running"
    said = f"the preview announced {', '.join(announced)}" if announced else "the preview announced an update in place"
    if survived:
        return True, f"the job kept running; {said}"
    return bool(announced), f"the job ended; {said}"


def _ended(planned: Result) -> tuple[str, ...]:
    """What the preview says will be replaced or deleted in the cloud."""
    steps = [step for step in planned.outcome.steps if step.alters and step.op in _ENDING]
    return tuple(dict.fromkeys(f"{step.op} {step.name}" for step in steps))


def _job(scenario: Scenario) -> Submission:
    """A pod of the burst, which holds its GPU until it is deleted."""
    first = scenario.burst.fill[0]
    manifest = {**first.manifest, "metadata": {**first.manifest["metadata"], "name": "day-two"}}
    return replace(first, id="day-two", title="a job that runs while settings change", manifest=manifest)
