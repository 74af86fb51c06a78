"""What clouds and autoscalers really wrote about pods that wait: why, who mends it, and whether waiting helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from gpu.why import of_job
from packages.gpu.tests.test_why import JOB, event, pod
from tests.yaml_file import read_yaml

CASES: Final[list[dict[str, Any]]] = read_yaml(Path(__file__).with_name("recorded_reasons.yaml"))
Answer = tuple[str, str | None, bool | None]


def derived(cause: str) -> Answer:
    """Kind, who mends it and whether waiting helps, of what is the matter."""
    if cause.startswith("no-capacity"):
        return "no-capacity", "cloud", True
    if cause.startswith("cloud-quota"):
        return "cloud-quota", "administrator", False
    if cause.startswith("configuration"):
        return "configuration", "administrator", False
    if "did not register" in cause:
        return "did-not-join", "administrator", False
    assert cause in ("unknown", "in backoff (cause elsewhere)")
    return "unknown", None, None


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['component']}: {case['cause']}"[:60])
def test_the_answers_follow_from_what_is_the_matter(case: dict[str, Any]) -> None:
    assert (case["kind"], case["mended_by"], case["waiting_helps"]) == derived(case["cause"])


def test_the_cases_are_all_different() -> None:
    texts = [tuple(event["message"] for event in case["events"]) for case in CASES]
    assert len(set(texts)) == 29


ABOUT: Final[dict[str, tuple[str, str]]] = {
    "Pod": ("Pod", "pod-1"),
    "NodeClaim": ("NodeClaim", "t4-x7k2p"),
    "ConfigMap": ("ConfigMap", "cluster-autoscaler-status"),
}
"""The objects of the events: their kind and name."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['component']}: {case['cause']}"[:60])
def test_what_a_user_is_told(case: dict[str, Any]) -> None:
    events = []
    for second, each in enumerate(case["events"]):
        kind, name = ABOUT[each["about"]]
        events.append(event(each["reason"], each["message"], second, kind, name, name))
    reason = of_job(JOB, [pod()], events)
    assert (reason.kind, reason.mended_by, reason.waiting_helps) == derived(case["cause"])
    assert "\n" not in reason.summary
    assert reason.message in [each["message"] for each in case["events"]]
    assert reason.source


def test_a_missing_role_is_told_from_a_missing_permission() -> None:
    (case,) = [case for case in CASES if "service-linked role" in case["cause"]]
    message = case["events"][-1]["message"]
    events = [
        event("Nominated", "on: nodeclaim/x"),
        event("InsufficientCapacityError", message, 1, "NodeClaim", "x", "x"),
    ]
    assert "service-linked role" in of_job(JOB, [pod()], events).summary
