"""A cluster of others is compared object by object and answer by answer; what changes by itself is listed here."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.checks import untouched
from rehearsal.checks.untouched import DryRun
from rehearsal.cluster.api import ApiError, ApiResource, Object

POD = {
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "1", "labels": {"app": "web"}, "resourceVersion": "7"},
    "spec": {"nodeName": "general-1", "containers": [{"name": "web", "image": "nginx:1.27"}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "then"}]},
}
NODE = {"metadata": {"name": "general-1", "resourceVersion": "3", "managedFields": []}, "spec": {}}
CLASS = {"metadata": {"name": "company", "generation": 1, "managedFields": []}, "value": 1000, "status": {}}
KINDS = {
    "v1": [("Pod", "pods", True), ("Node", "nodes", False), ("Event", "events", True)],
    "scheduling.k8s.io/v1": [("PriorityClass", "priorityclasses", False)],
}
PODS, NODES, CLASSES = "/api/v1/pods", "/api/v1/nodes", "/apis/scheduling.k8s.io/v1/priorityclasses"


class Server:
    """An API server with these objects, which answers a new pod with ``reply``."""

    def __init__(self) -> None:
        self.there: dict[str, list[Any]] = copy.deepcopy(
            {PODS: [POD], NODES: [NODE], CLASSES: [CLASS], "/api/v1/events": [{"metadata": {"name": "e"}}]}
        )
        self.reply: Callable[[Object], tuple[Object, tuple[str, ...]]] = lambda question: (question, ())
        self.asked: list[tuple[str, Object, dict[str, str]]] = []
        self.deleted: list[str] = []

    def get(self, path: str) -> Object:
        if path == "/apis":
            return {"groups": [{"preferredVersion": {"groupVersion": each}} for each in KINDS if "/" in each]}
        kinds = KINDS[path.partition("/")[2].partition("/")[2]]
        listed = [{"kind": kind, "name": name, "namespaced": each, "verbs": ["list"]} for kind, name, each in kinds]
        return {"resources": [*listed, {"kind": "Pod", "name": "pods/status", "verbs": ["list"]}]}

    def list(self, path: str) -> list[Object]:
        return self.there[path]

    def resource(self, version: str, kind: str) -> ApiResource:
        return ApiResource(version, f"{kind.lower()}s", namespaced=True)

    def submit(self, path: str, body: Object, **query: str) -> tuple[Object, tuple[str, ...]]:
        self.asked.append((path, body, query))
        return self.reply(body)

    def delete(self, path: str, **options: Any) -> None:
        assert options == {"gracePeriodSeconds": 0}
        self.deleted.append(path)


@pytest.fixture
def server() -> Any:
    return Server()


def test_the_order_of_a_node_classes_subnets_is_no_difference(server: Any) -> None:
    """Karpenter lists the one with the most free addresses first."""
    found = []
    for names in (["a", "b"], ["b", "a"], ["a", "c"]):
        server.there[CLASSES] = [{**copy.deepcopy(CLASS), "status": {"subnets": [{"id": each} for each in names]}}]
        found.append(untouched.objects(server))
    assert untouched.differences(found[0], found[1]) == []
    assert len(untouched.differences(found[0], found[2])) == 1


def test_launch_templates_of_their_karpenter_come_and_go() -> None:
    assert "launch template karpenter.k8s.aws/1".startswith(untouched.COMES_AND_GOES)
    assert not "launch template company".startswith(untouched.COMES_AND_GOES)


def test_what_may_differ_is_this_and_nothing_else() -> None:
    assert {"Event", "Lease"} == untouched.NOT_COMPARED
    assert {".".join(path) for path in untouched.CHANGES_BY_ITSELF} == {
        "metadata.resourceVersion",
        "metadata.generation",
        "status.observedGeneration",
        "status.conditions.*.lastHeartbeatTime",
        "status.conditions.*.lastUpdateTime",
        "status.conditions.*.lastTransitionTime",
        "status.conditions.*.message",
        "status.conditions.*.reason",
        "status.resources",
        "status.nodes",
    }


def _written_by(manager: str, **more: str) -> dict[str, Any]:
    return {"managedFields": [{"manager": manager, "time": "now", **more}]}


@pytest.mark.parametrize(
    ("path", "change", "difference"),
    [
        (PODS, {"metadata": {"resourceVersion": "8"}}, ""),
        (CLASSES, {"metadata": {"generation": 2}}, ""),
        (CLASSES, {"status": {"resources": {"vpc.amazonaws.com/pod-eni": "9"}, "nodes": 1}}, ""),
        (NODES, {"metadata": _written_by("kubelet", subresource="status")}, ""),
        (PODS, {"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "now"}]}}, ""),
        (
            PODS,
            {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
            "changed: v1 Pod shop/web-1 (status.conditions[0].status)",
        ),
        (PODS, {"status": {"phase": "Failed"}}, "changed: v1 Pod shop/web-1 (status.phase)"),
        (PODS, {"metadata": {"uid": "2"}}, "changed: v1 Pod shop/web-1 (metadata.uid)"),
        (PODS, {"metadata": {"labels": {"ours": "1"}}}, "changed: v1 Pod shop/web-1 (metadata.labels.ours)"),
        (NODES, {"metadata": _written_by("gpucluster")}, "changed: v1 Node general-1 (written by)"),
        (CLASSES, {"value": 1}, "changed: scheduling.k8s.io/v1 PriorityClass company (value)"),
    ],
)
def test_a_changed_object_is_reported_with_its_path(server: Any, path: str, change: Object, difference: str) -> None:
    before = untouched.objects(server)
    _merge(server.there[path][0], change)
    check = untouched.untouched(before, untouched.objects(server))
    assert (check.passed, check.detail if difference else "") == (not difference, difference)


def _merge(item: Any, change: Any) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(item.get(key), dict):
            _merge(item[key], value)
        else:
            item[key] = value


def test_the_order_of_conditions_does_not_count(server: Any) -> None:
    conditions = server.there[PODS][0]["status"]["conditions"]
    conditions.append({"type": "PodScheduled", "status": "True"})
    before = untouched.objects(server)
    conditions.reverse()
    assert untouched.untouched(before, untouched.objects(server)).passed


def test_new_and_deleted_objects_are_reported_and_events_are_not(server: Any) -> None:
    before = untouched.objects(server)
    assert untouched.untouched(before, before).detail == "3 objects of 3 kinds"
    server.there["/api/v1/events"] = []
    server.there[CLASSES] = []
    server.there[PODS].append({"metadata": {"name": "ours", "namespace": "shop"}})
    check = untouched.untouched(before, untouched.objects(server))
    assert check.detail == "new: v1 Pod shop/ours; gone: scheduling.k8s.io/v1 PriorityClass company"


def test_of_the_simulated_autoscaler_only_the_nodes_are_compared(server: Any) -> None:
    labels = {"rehearsal.gpucluster.dev/group": "inference"}
    server.there[CLASSES].append({"metadata": {"name": "of-the-simulation", "labels": labels}})
    server.there[NODES].append({"metadata": {"name": "inference-1", "labels": labels}, "spec": {}})
    assert {key[2] for key in untouched.objects(server)} == {"web-1", "general-1", "inference-1", "company"}


@pytest.mark.parametrize(
    ("namespace", "owner", "compared"),
    [
        ("kube-system", "ReplicaSet", False),
        ("kube-system", "DaemonSet", True),
        ("kube-system", "Job", True),
        ("shop", "ReplicaSet", True),
    ],
)
def test_another_pod_of_a_resized_system_deployment_is_no_difference(
    server: Any, namespace: str, owner: str, compared: bool
) -> None:
    before = untouched.objects(server)
    metadata = {"name": "another", "namespace": namespace, "ownerReferences": [{"kind": owner, "name": "it"}]}
    server.there[PODS].append({"metadata": metadata})
    assert bool(untouched.differences(before, untouched.objects(server))) is compared


def test_pods_of_nodes_that_are_gone_are_collected_and_no_others(server: Any) -> None:
    waiting = {"metadata": {"name": "waiting", "namespace": "shop"}, "spec": {}}
    lost = {"metadata": {"name": "lost", "namespace": "shop"}, "spec": {"nodeName": "gone-1"}}
    server.there[PODS] += [waiting, lost]
    untouched.collect(server)
    assert server.deleted == ["/api/v1/namespaces/shop/pods/lost"]


def test_a_question_is_the_same_object_without_its_node_and_creates_nothing(server: Any) -> None:
    untouched.answers(server, untouched.objects(server))
    ((path, body, query),) = server.asked
    assert (path, query) == ("/api/v1/namespaces/shop/pods", {"dryRun": "All"})
    assert body["metadata"] == {"name": "web-1-again", "namespace": "shop", "labels": {"app": "web"}}
    assert body["spec"] == {"containers": POD["spec"]["containers"]}


def _refuse(question: Object) -> tuple[Object, tuple[str, ...]]:
    raise ApiError(403, "Forbidden", "too large")


def _tolerate(question: Object) -> tuple[Object, tuple[str, ...]]:
    return {**question, "spec": {**question["spec"], "tolerations": []}}, ()


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (_refuse, "v1 Pod shop/web-1: too large"),
        (_tolerate, "v1 Pod shop/web-1 is stored otherwise (spec.tolerations)"),
    ],
)
def test_a_refusal_and_another_stored_object_are_always_reported(
    server: Any, reply: Callable[[Object], Any], detail: str
) -> None:
    found = untouched.objects(server)
    before = untouched.answers(server, found)
    server.reply = reply
    for warned in (False, True):
        check = untouched.answered("now", "As before", before, untouched.answers(server, found), warned=warned)
        assert (check.passed, check.detail) == (False, detail)


def test_a_warning_may_appear_while_the_stack_is_there_and_none_may_be_lost() -> None:
    key = ("v1 Pod", "shop", "web-1")
    quiet, loud = {key: DryRun("")}, {key: DryRun("", ("reaches t4-1",))}

    def detail(before: Any, now: Any, *, warned: bool) -> str:
        check = untouched.answered("now", "As before", before, now, warned=warned)
        return ("" if check.passed else "failed: ") + check.detail

    assert detail(quiet, quiet, warned=False) == "1 question, all answered as before (dry run)"
    assert detail(quiet, loud, warned=True) == "1 question, all answered as before (dry run), 1 with more warnings"
    assert detail(quiet, loud, warned=False) == "failed: v1 Pod shop/web-1: reaches t4-1"
    assert detail(loud, quiet, warned=True) == "failed: v1 Pod shop/web-1: no longer warned: reaches t4-1"
