"""Pods are found in any custom resource, and in lists."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.declared import Workload
from facts.concepts.kubernetes import Toleration
from facts.concepts.unknown import UNKNOWN
from policies.readers import read
from policies.readers.resource import Declared

GPU = Toleration("nvidia.com/gpu", "Exists", None, "NoSchedule")
POD: dict[str, Any] = {
    "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "2"}}}],
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}


def workloads(type_token: str, properties: dict[str, Any]) -> list[Workload]:
    read_items = read(Declared(f"kubernetes:{type_token}", "x", "urn:x", properties))
    return [item for item in read_items if isinstance(item, Workload)]


def custom(spec: Any, type_token: str = "example.com/v1:Training") -> list[Workload]:
    return workloads(type_token, {"metadata": {"name": "w", "namespace": "ml"}, "spec": spec})


def test_pod_templates_are_named_after_their_place() -> None:
    head, worker = custom(
        {
            "headGroupSpec": {"template": {"spec": {"containers": [{"image": "i"}]}}},
            "workerGroupSpecs": [{"groupName": "gpu", "template": {"spec": POD}}],
        },
        "ray.io/v1:RayCluster",
    )
    assert (head.name, head.kind, head.gpus) == ("w/headGroupSpec", "RayCluster", 0)
    assert (worker.name, worker.namespace, worker.gpus) == ("w/workerGroupSpecs/gpu", "ml", 2)
    assert worker.tolerations == (GPU,)


def test_a_list_of_unknown_containers_is_a_pod_of_unknown_size() -> None:
    (workload,) = custom({"template": {"spec": {"containers": UNKNOWN}}})
    assert workload.gpus is UNKNOWN


def test_resources_without_a_pod_take_what_stands_around_them() -> None:
    model = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    (alone,) = custom({"predictor": {"model": model}})
    assert (alone.name, alone.gpus) == ("w/predictor/model", 1)
    assert alone.tolerations is alone.node_selector is alone.affinity is UNKNOWN
    (placed,) = custom({"predictor": {"model": model, "tolerations": POD["tolerations"], "nodeSelector": {"a": "b"}}})
    assert (placed.tolerations, placed.node_selector) == ((GPU,), {"a": "b"})
    (trainer,) = custom({"trainer": {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}})
    assert trainer.gpus == 4


@pytest.mark.parametrize(
    "type_token",
    [
        "kyverno.io/v1:Policy",
        "templates.gatekeeper.sh/v1:ConstraintTemplate",
        "core/v1:PodTemplateX",
        "helm.sh/v4:Chart",
    ],
)
def test_patterns_and_core_kinds_are_no_pods(type_token: str) -> None:
    assert custom({"template": {"spec": POD}}, type_token) == []


def test_lists_hold_objects_with_and_without_a_kind() -> None:
    bare = {"metadata": {"name": "a"}, "spec": POD}
    full = {**bare, "apiVersion": "v1", "kind": "Pod"}
    listed = workloads("core/v1:PodList", {"items": [bare, full, UNKNOWN]})
    assert [(item.name, item.kind, item.gpus) for item in listed] == [("a", "Pod", 2), ("a", "Pod", 2)]
