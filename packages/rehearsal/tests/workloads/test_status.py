"""A pod's status as its kubelet would write it."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.workloads.container import ContainerState, Ended, pod_status

OTHER = {"type": "PodScheduled", "status": "True"}
POD: dict[str, Any] = {
    "spec": {"containers": [{"name": "main", "image": "x"}, {"name": "side", "image": "y"}]},
    "status": {"startTime": "2026-11-01T00:00:00Z", "conditions": [OTHER, {"type": "Ready", "status": "True"}]},
}


def status_of(state: ContainerState) -> tuple[str, dict[str, str], dict[str, Any]]:
    status = pod_status(POD, "main", state)
    conditions = {each["type"]: each["status"] for each in status["conditions"]}
    return status["phase"], conditions, {each["name"]: each for each in status["containerStatuses"]}


@pytest.mark.parametrize(
    ("state", "phase", "ready"),
    [
        (ContainerState(waiting="ErrImagePull", message="no such version"), "Pending", "False"),
        (ContainerState(running=True), "Running", "False"),
        (ContainerState(running=True, ready=True), "Running", "True"),
        (ContainerState(waiting="CrashLoopBackOff", restarts=1, last=Ended(1, "boom")), "Running", "False"),
    ],
)
def test_phase_and_readiness(state: ContainerState, phase: str, ready: str) -> None:
    actual_phase, conditions, containers = status_of(state)
    assert (actual_phase, conditions["Ready"], conditions["ContainersReady"]) == (phase, ready, ready)
    assert containers["main"]["ready"] is (ready == "True")


def test_a_crash_shows_its_last_words_and_is_counted() -> None:
    _, _, containers = status_of(ContainerState(waiting="CrashLoopBackOff", restarts=2, last=Ended(139, "boom")))
    main = containers["main"]
    assert (main["restartCount"], main["state"]["waiting"]["reason"]) == (2, "CrashLoopBackOff")
    assert (main["lastState"]["terminated"]["exitCode"], main["lastState"]["terminated"]["message"]) == (139, "boom")


def test_what_others_wrote_stays() -> None:
    status = pod_status(POD, "main", ContainerState(running=True, ready=True))
    assert OTHER in status["conditions"]
    assert status["startTime"] == POD["status"]["startTime"]
    assert [each["type"] for each in status["conditions"]].count("Ready") == 1
