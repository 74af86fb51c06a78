"""A GPU job that runs while something is updated, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from rehearsal.engine.engine import CommandResult
from rehearsal.engine.events import Step
from rehearsal.scenario.plan import Scenario, Submission
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import NodeRecord, PodRecord, Timeline
from rehearsal.scenario.user import User, Wait

NEVER_RAN: Final = "the job that should run during the update never ran"
_ENDING: Final = ("replace", "delete")
_LISTED: Final = 3
"""Maximum number of listed preview steps: a pool may have a dozen resources, an entry a dozen pools."""


class RunningJob:
    """A pod of the scenario's burst, which holds its GPU until its deletion."""

    def __init__(self, scenario: Scenario, user: User, timeline: Timeline, wait: Wait) -> None:
        self._user, self._timeline, self._wait = user, timeline, wait
        first = scenario.burst.fill[0]
        manifest = {**first.manifest, "metadata": {**first.manifest["metadata"], "name": "day-two"}}
        self._job: Submission = replace(
            first, id="day-two", title="a job that runs while settings change", manifest=manifest
        )

    def placed(self) -> tuple[PodRecord, NodeRecord] | None:
        """The job's pod, recreated if it has ended, and its node as it is now; ``None``: it does not start."""
        if self._alive() is None:
            self.delete()
            deleted = [pod.uid for pod in self._pods()]
            self._wait(lambda: all(self.pod(uid).deleted is not None for uid in deleted), PATIENCE_SECONDS)
            self._user.create(self._job.manifest)
            self._wait(lambda: self._alive() is not None, PATIENCE_SECONDS)
        pod = self._alive()
        node = None if pod is None else self._timeline.node_of(pod)
        return None if pod is None or node is None else (pod, node)

    def pod(self, uid: str) -> PodRecord:
        """The present state of a pod of the job."""
        return next(each for each in self._timeline.pods if each.uid == uid)

    def nodes(self) -> set[str | None]:
        """The nodes that its pods are on."""
        return {pod.node for pod in self._pods() if pod.deleted is None}

    def lost_labels(self, pod: PodRecord, node: NodeRecord) -> list[str]:
        """Labels that the pod's ``node`` had and has no longer."""
        now = self._timeline.node_of(pod) or node
        return sorted(node.labels.keys() - now.labels.keys())

    def delete(self) -> None:
        """Delete it; there may be none."""
        self._user.delete(self._job.kind, self._job.workload, self._job.namespace)

    def _pods(self) -> Sequence[PodRecord]:
        return self._timeline.pods_of(self._job.workload, self._job.namespace)

    def _alive(self) -> PodRecord | None:
        pods = self._pods()
        return next((pod for pod in pods if pod.running and pod.deleted is None and pod.finished is None), None)


def judged(pod: PodRecord, announced: tuple[str, ...], *, ends: bool, lost: Sequence[str] = ()) -> tuple[bool, str]:
    """Whether the present state of the job's pod is as documented, and a sentence about it.

    Nothing may end it unannounced, and it must not survive a change that is documented to end it. Its node may have
    ``lost`` no label, which pods select; AKS takes its own from running nodes (https://github.com/Azure/AKS/issues/3152).
    """
    preview = f"the preview announced: {_shortly(announced)}"
    if survived(pod) and lost:
        return False, f"the job kept running, and its node lost the label {', '.join(lost)}"
    if survived(pod):
        return not ends, f"the job kept running; {preview}"
    return ends and bool(announced), f"the job ended; {preview}"


def _shortly(announced: tuple[str, ...]) -> str:
    """The first few steps (``delete day2-1-pool``), without those of parts, recognised by their names."""
    names = {step: step.split(maxsplit=1)[1] for step in announced}
    heads = [step for step, name in names.items() if not any(name.startswith(f"{each}-") for each in names.values())]
    more = [f"{len(heads) - _LISTED} more"] if len(heads) > _LISTED else []
    own = " and its parts" if len(heads) < len(announced) else ""
    return ", ".join((*heads[:_LISTED], *more)) + own if announced else "no replacement and no deletion"


def survived(pod: PodRecord) -> bool:
    """Whether it still runs."""
    return pod.deleted is None and pod.phase == "Running"


def ending_steps(result: CommandResult) -> list[Step]:
    """What a preview or an update replaces or deletes, except components."""
    return [step for step in result.outcome.steps if step.alters and step.op in _ENDING]


def named(steps: Iterable[Step]) -> tuple[str, ...]:
    """Operation and resource of each: ``delete t4-1-pool``."""
    return tuple(dict.fromkeys(f"{step.op} {step.name}" for step in steps))
