"""Whether a team's pods get at most its GPUs and its priority.

The API server validates the pods without creating them (``dryRun``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from components.settings.teams import Team
from facts.concepts.counts import counted
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.offer import PRIORITY_CLASSES
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.scenario.check import Check
from rehearsal.scenario.user import Wait

# A quota is enforced once its controller has counted existing pods, some seconds after its creation.
_PATIENCE_SECONDS: Final = 240.0


@dataclass(frozen=True, kw_only=True)
class _Try:
    """A pod with that many GPUs and that class. ``refused``: part of the expected refusal, ``None`` to be accepted."""

    gpus: int
    priority_class: str | None
    refused: str | None


def team_checks(api: Api, teams: Sequence[Team], wait: Wait) -> Iterator[Check]:
    """A check for each of the ``teams``."""
    for team in teams:
        refusals: dict[_Try, str] = {}

        def holds(team: Team = team, refusals: dict[_Try, str] = refusals) -> bool:
            refusals.update({one: _refusal(api, team.name, one) for one in _tries(team)})
            return all(map(_as_it_must, refusals, refusals.values()))

        passed = wait(holds, _PATIENCE_SECONDS)
        wrong = [
            f"a pod with {counted(one.gpus, 'GPU')}, priority {one.priority_class or 'none'}: {answer or 'accepted'}"
            for one, answer in refusals.items()
            if not _as_it_must(one, answer)
        ]
        tried = counted(len(refusals), "pod")
        summary = f"{counted(team.gpus, 'GPU')} accepted, {team.gpus + 1} refused; {tried} tried (dry run)"
        title = f"Pods of team {team.name} get at most {counted(team.gpus, 'GPU')} and no priority above the team's"
        yield Check(f"team:{team.name}", title, passed, "; ".join(wrong) or summary)


def _tries(team: Team) -> Iterator[_Try]:
    own = PRIORITY_CLASSES.get(team.priority)
    yield _Try(gpus=team.gpus, priority_class=own, refused=None)
    yield _Try(gpus=team.gpus + 1, priority_class=own, refused="exceeded quota: team")
    if team.priority != "high":
        yield _Try(gpus=0, priority_class=PRIORITY_CLASSES["high"], refused="exceeded quota: priority")
    if team.priority == "low":
        yield _Try(gpus=0, priority_class=None, refused="exceeded quota: priority")


def _as_it_must(one: _Try, answer: str) -> bool:
    return one.refused in answer if one.refused is not None else not answer


def _refusal(api: Api, namespace: str, one: _Try) -> str:
    """The API server's refusal; empty if it accepts the pod."""
    try:
        api.submit(f"/api/v1/namespaces/{namespace}/pods", _pod(one), dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


def _pod(one: _Try) -> Object:
    """One container per GPU."""
    asked = {GPU_RESOURCE: "1"}
    containers = [
        {"name": f"c{index}", "image": "busybox", **({"resources": {"limits": asked}} if one.gpus else {})}
        for index in range(max(one.gpus, 1))
    ]
    named = {"priorityClassName": one.priority_class} if one.priority_class else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "within-its-quota"},
        "spec": {"containers": containers, "restartPolicy": "Never", **named},
    }
