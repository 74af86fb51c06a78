"""Pods are found in any custom resource, in lists, and in Helm releases; shared GPUs in any configuration."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from policies.extract import Declared, read, read_stack
from policies.extract.sharing import replicated
from policies.rules.model import UNKNOWN, GpuSharing, NodeGroup, Stack, Toleration, Workload
from policies.rules.sharing import visible

GPU = Toleration("nvidia.com/gpu", "Exists", None, "NoSchedule")
POD: dict[str, Any] = {
    "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "2"}}}],
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}


def workloads(type_token: str, properties: dict[str, Any]) -> list[Workload]:
    found = read(Declared(f"kubernetes:{type_token}", "x", "urn:x", properties))
    return [item for item in found if isinstance(item, Workload)]


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
    (found,) = custom({"template": {"spec": {"containers": UNKNOWN}}})
    assert found.gpus is UNKNOWN


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


def test_a_workspace_is_machines_that_nothing_removes() -> None:
    properties = {
        "resource": {"count": 2, "instanceType": "Standard_NC48ads_A100_v4"},
        "inference": {"template": {"spec": POD}},
    }
    machines, pod = read(Declared("kubernetes:kaito.sh/v1beta1:Workspace", "falcon", "urn:f", properties))
    assert isinstance(machines, NodeGroup)
    assert (machines.kind, machines.gpus_per_node, machines.initial_nodes) == ("machine", 2, 2)
    assert isinstance(pod, Workload)
    assert (pod.name, pod.gpus) == ("falcon/inference", 2)


def test_lists_hold_objects_with_and_without_a_kind() -> None:
    bare = {"metadata": {"name": "a"}, "spec": POD}
    full = {**bare, "apiVersion": "v1", "kind": "Pod"}
    found = workloads("core/v1:PodList", {"items": [bare, full, UNKNOWN]})
    assert [(item.name, item.kind, item.gpus) for item in found] == [("a", "Pod", 2), ("a", "Pod", 2)]


def release(chart: str, **properties: Any) -> list[Workload]:
    return workloads("helm.sh/v3:Release", {"chart": chart, "name": "r", "namespace": "gpu", **properties})


@pytest.mark.parametrize(
    "chart", ["gpu-operator", "nvidia/gpu-operator", "oci://nvcr.io/charts/gpu-operator", "./gpu-operator-v25.3.0.tgz"]
)
def test_a_known_chart_by_any_address(chart: str) -> None:
    daemons, discovery = release(chart)
    assert (daemons.name, daemons.kind, daemons.device_plugin) == ("r/daemonsets", "DaemonSet", True)
    assert daemons.tolerations == (GPU,)
    assert discovery.tolerations == (Toleration("nvidia.com/gpu", "Equal", "present", "NoSchedule"),)


def test_values_replace_a_charts_defaults() -> None:
    values = {"daemonsets": {"tolerations": [{"operator": "Exists"}]}, "nfd": {"enabled": False}}
    (daemons,) = release("gpu-operator", values=values)
    assert daemons.tolerations == (Toleration(None, "Exists"),)
    assert [found.tolerations for found in release("nvidia-device-plugin", values=UNKNOWN)] == [UNKNOWN]


def test_values_in_files() -> None:
    text = pulumi.StringAsset("daemonsets: {tolerations: [], annotations: {}}\nnfd: {enabled: false}\n")
    (daemons,) = release("gpu-operator", valueYamlFiles=[text])
    assert daemons.tolerations == ()
    (daemons,) = release("gpu-operator", valueYamlFiles=[text], values={"daemonsets": {"tolerations": [{"key": "a"}]}})
    assert daemons.tolerations == (Toleration("a", "Equal", ""),)
    out_of_reach = pulumi.FileAsset("values.yaml")
    daemons, discovery = release(
        "gpu-operator", valueYamlFiles=[out_of_reach], values={"daemonsets": {"tolerations": []}}
    )
    assert (daemons.tolerations, discovery.tolerations) == ((), UNKNOWN)


def test_an_autoscalers_chart() -> None:
    (found,) = release("karpenter/karpenter")
    assert found.scales_nodes is True
    assert release("karpenter-crd") == []


def test_a_rendered_manifest_is_read_instead_of_the_values() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "server"},
        "spec": {"template": {"spec": POD}},
    }
    (found,) = release("any", manifest={"deployment.apps/v1/server": deployment}, values={})
    assert (found.name, found.kind, found.gpus) == ("server", "Deployment", 2)


YAML = "sharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: {}\n"


@pytest.mark.parametrize(
    ("value", "replicas"),
    [
        ({"a": YAML.format(4)}, 4),
        ({"a": YAML.format(1)}, None),
        ({"a": YAML.format(2), "b": YAML.format(8)}, 8),
        ({"timeSlicing": {"resources": [{"name": "nvidia.com/gpu", "replicas": 3}]}}, 3),
        ({"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": UNKNOWN}]}}, UNKNOWN),
        ({"replicas": 3}, None),
        ('{"sharing": {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}}}', 2),
        (None, None),
    ],
)
def test_how_often_a_gpu_is_offered(value: Any, replicas: Any) -> None:
    assert replicated(value) == replicas


def test_sharing_is_refused_only_beside_an_autoscaler() -> None:
    config_map = Declared("kubernetes:core/v1:ConfigMap", "plugin", "urn:p", {"data": {"a": YAML.format(4)}})
    (shared,) = read_stack([config_map]).sharing
    assert shared == GpuSharing("ConfigMap 'plugin'", 4, "urn:p")
    group = NodeGroup("t4", "any", gpus_per_node=1, autoscaled=True)
    (found,) = visible(Stack(groups=(group,), sharing=(shared,)))
    assert found.message == "ConfigMap 'plugin' offers each GPU 4 times, which the autoscaler of 't4' cannot see."
    assert visible(Stack(groups=(NodeGroup("rack", "any", gpus_per_node=1),), sharing=(shared,))) == []
    assert visible(Stack(groups=(group,), sharing=(GpuSharing("c", UNKNOWN),)))[0].undecided
