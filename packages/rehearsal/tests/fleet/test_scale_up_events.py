"""What pods hear of the rehearsal's autoscaler; its words are compared with a real one's in ``test_situations.py``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from packages.rehearsal.tests.fleet.facts import TOLERATIONS
from packages.rehearsal.tests.simulated_cluster import CLUSTER, gpu_group, pod
from rehearsal.cluster.api import Api, Object
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate
from rehearsal.fleet.scale_up_events import ScaleUpEvents

FULL = "pod didn't trigger scale-up: 1 max node group size reached"


class Waiting:
    """An ``Api`` with pods that wait for a GPU, and NodePools; it keeps the events about each pod."""

    def __init__(self, **fields: Any) -> None:
        waits = pod("waits", gpus=1, tolerations=TOLERATIONS, **fields)
        waits["metadata"] |= {"uid": "waits", "namespace": "default"}
        waits["status"] = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
        self.pods = [waits]
        self.nodes = "3"
        self.events: list[tuple[str, str]] = []

    def list(self, path: str, **query: str) -> list[Object]:
        return self.pods if path == "/api/v1/pods" else []

    def find(self, path: str, **query: str) -> Object:
        return {"items": [{"metadata": {"name": "t4"}, "spec": {"limits": {"nodes": self.nodes}}}]}

    def create(self, path: str, body: Object) -> None:
        assert (body["source"]["component"], body["type"]) == ("cluster-autoscaler", "Normal")
        self.events.append((body["reason"], body["message"]))


def claim(*, ready: bool) -> Object:
    status = {"conditions": [{"type": "Initialized", "status": str(ready)}]}
    return {"metadata": {"labels": {"karpenter.sh/nodepool": "t4"}}, "status": status}


def watching(monkeypatch: pytest.MonkeyPatch, api: Waiting, claims: list[Object]) -> ScaleUpEvents:
    template = NodeTemplate(gpu_group("t4"), ClusterFacts(CLUSTER, "us-central1", "1.34.4"))
    events = ScaleUpEvents(cast(Api, api), lambda: [template])
    monkeypatch.setattr(events, "_claims", SimpleNamespace(items=lambda: claims))
    return events


def test_a_pod_of_a_daemon_set_hears_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Waiting(nodeSelector={"on": "no node"})
    watching(monkeypatch, api, []).look()
    assert [reason for reason, _ in api.events] == ["NotTriggerScaleUp"]
    api.pods[0]["metadata"] |= {"uid": "agent", "ownerReferences": [{"kind": "DaemonSet", "controller": True}]}
    watching(monkeypatch, api, []).look()
    assert len(api.events) == 1


def test_a_pod_hears_which_group_grew_and_once_that_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    api, claims = Waiting(), list[Object]()
    events = watching(monkeypatch, api, claims)
    events.look()
    assert api.events == [], "the group will grow"
    claims += [claim(ready=False), claim(ready=False)]
    events.look()
    events.look()
    assert api.events == [("TriggeredScaleUp", "pod triggered scale-up: [{t4 0->2 (max: 3)}]")]
    claims[:] = [claim(ready=True)] * 3
    events.look()
    events.look()
    assert api.events[1:] == [
        ("TriggeredScaleUp", "pod triggered scale-up: [{t4 2->3 (max: 3)}]"),
        ("NotTriggerScaleUp", FULL),
    ]


def test_nodes_whose_gpus_are_no_longer_expected_are_not_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Waiting()
    expected = claim(ready=False) | {"spec": {"resources": {"requests": {"nvidia.com/gpu": "1", "pods": "1"}}}}
    claims = [expected] * 3
    for each in ({"cpu": "4", "pods": "110", "nvidia.com/gpu": "1"}, {"cpu": "4", "pods": "110"}):
        claims[:] = [{**expected, "status": {**expected["status"], "allocatable": each}}] * 3
        watching(monkeypatch, api, claims).look()
        api.events[:] = [event for event in api.events if event[0] == "NotTriggerScaleUp"]
        assert api.events == ([] if "nvidia.com/gpu" in each else [("NotTriggerScaleUp", FULL)])


def test_a_group_that_grew_before_the_first_look_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Waiting()
    watching(monkeypatch, api, [claim(ready=False)]).look()
    assert api.events == [("TriggeredScaleUp", "pod triggered scale-up: [{t4 0->1 (max: 3)}]")]


def test_a_group_without_machines_is_in_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Waiting()
    events = watching(monkeypatch, api, [])
    api.nodes = "0"
    events.look()
    assert api.events == [("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 in backoff after failed scale-up")]


CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, None),
        ({"volumes": [CLAIM]}, "node(s) didn't match PersistentVolume's node affinity"),
        ({"volumes": [{"name": "tmp", "emptyDir": {}}]}, None),
        ({"affinity": {"podAffinity": {"x": []}}}, "node(s) didn't match pod affinity rules"),
        ({"affinity": {"podAntiAffinity": {"x": []}}}, "node(s) didn't match pod anti-affinity rules"),
        ({"topologySpreadConstraints": [{}]}, "node(s) didn't match pod topology spread constraints"),
    ],
)
def test_a_pod_for_which_nothing_starts_hears_of_volumes_and_other_pods_after_some_seconds(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], reason: str | None
) -> None:
    api, now = Waiting(**fields), [100.0]
    monkeypatch.setattr("rehearsal.fleet.scale_up_events.time", SimpleNamespace(monotonic=lambda: now[0]))
    events = watching(monkeypatch, api, [])
    events.look()
    assert api.events == []
    now[0] += 11
    events.look()
    assert api.events == ([("NotTriggerScaleUp", f"pod didn't trigger scale-up: 1 {reason}")] if reason else [])


@pytest.mark.parametrize(
    ("change", "heard"),
    [
        ({}, True),
        ({"spec": {"priority": -10}}, True),
        ({"spec": {"priority": -11}}, False),
        ({"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}}, False),
        ({"status": {}}, False),
    ],
)
def test_only_pods_that_the_scheduler_refused_and_that_are_not_expendable_hear_anything(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], heard: bool
) -> None:
    api = Waiting(nodeSelector={"no": "such"})
    (waits,) = api.pods
    waits["spec"] |= change.get("spec", {})
    waits["status"] = change.get("status", waits["status"])
    watching(monkeypatch, api, []).look()
    assert bool(api.events) is heard
