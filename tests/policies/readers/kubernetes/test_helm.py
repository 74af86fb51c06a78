"""Helm releases are read by their values, or by the manifest where the engine has it."""

from __future__ import annotations

from typing import Any

import pulumi
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


def release(chart: str, **properties: Any) -> list[Workload]:
    inputs = {"chart": chart, "name": "r", "namespace": "gpu", **properties}
    read_items = read(Declared("kubernetes:helm.sh/v3:Release", "x", "urn:x", inputs))
    return [item for item in read_items if isinstance(item, Workload)]


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
    assert [workload.tolerations for workload in release("nvidia-device-plugin", values=UNKNOWN)] == [UNKNOWN]


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
    (workload,) = release("karpenter/karpenter")
    assert workload.scales_nodes is True
    assert release("karpenter-crd") == []


@pytest.mark.parametrize(
    ("chart", "values", "tolerated"),
    [
        ("karpenter", None, (Toleration("CriticalAddonsOnly", "Exists"),)),
        ("karpenter", {"tolerations": []}, ()),
        ("karpenter", {"tolerations": [{"operator": "Exists"}]}, (Toleration(None, "Exists"),)),
        ("karpenter", UNKNOWN, UNKNOWN),
        ("cluster-autoscaler", None, ()),
    ],
)
def test_an_autoscalers_chart_has_default_tolerations(chart: str, values: Any, tolerated: Any) -> None:
    (workload,) = release(chart, values=values)
    assert workload.tolerations == tolerated


def test_a_rendered_manifest_is_read_instead_of_the_values() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "server"},
        "spec": {"template": {"spec": POD}},
    }
    (workload,) = release("any", manifest={"deployment.apps/v1/server": deployment}, values={})
    assert (workload.name, workload.kind, workload.gpus) == ("server", "Deployment", 2)


@pytest.mark.parametrize(("limits", "doubted"), [({"extra_resource_limits": {"nvidia.com/gpu": "1"}}, 0), ({}, 1)])
def test_a_notebook_of_jupyterhub_may_be_on_gpu_nodes_if_it_asks_for_gpus(limits: Any, doubted: int) -> None:
    spawned = {**limits, "tolerations": POD["tolerations"], "node_selector": {"gpucluster.dev/pool": "t4-1"}}
    values = {"singleuser": {"profileList": [{"display_name": "t4", "kubespawner_override": spawned}]}}
    assert len([workload for workload in release("jupyterhub", values=values) if workload.unknown_reason]) == doubted
