"""Shared GPUs are found wherever they are configured; values of Helm releases, durations and windows are read."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from facts.concepts.declared import GpuSharing, NodeGroup, Stack, Workload
from facts.concepts.kubernetes import Toleration
from facts.concepts.unknown import UNKNOWN
from policies.readers import read, read_stack
from policies.readers.durations import longest_window, minutes_of
from policies.readers.kubernetes.sharing import replicated
from policies.readers.resource import Declared
from policies.rules.sharing import visible
from tests.tables import cases

YAML = "sharing:\n  timeSlicing:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: {}\n"


@cases
def test_how_often_a_gpu_is_offered(value: Any, replicas: Any) -> None:
    assert replicated(value) == replicas


def test_sharing_is_refused_only_beside_an_autoscaler() -> None:
    config_map = Declared("kubernetes:core/v1:ConfigMap", "plugin", "urn:p", {"data": {"a": YAML.format(4)}})
    (shared,) = read_stack([config_map]).sharing
    assert shared == GpuSharing("ConfigMap 'plugin'", 4, "urn:p")
    group = NodeGroup("t4", "any", gpus_per_node=1, autoscaled=True)
    (violation,) = visible(Stack(groups=(group,), sharing=(shared,)))
    assert violation.message == "ConfigMap 'plugin' advertises each GPU 4 times; the autoscaler of 't4' does not know."
    assert visible(Stack(groups=(NodeGroup("rack", "any", gpus_per_node=1),), sharing=(shared,))) == []
    assert visible(Stack(groups=(group,), sharing=(GpuSharing("c", UNKNOWN),)))[0].not_evaluated


def release(chart: str, **properties: Any) -> list[Workload]:
    inputs = {"chart": chart, "name": "r", "namespace": "gpu", **properties}
    read_items = read(Declared("kubernetes:helm.sh/v3:Release", "x", "urn:x", inputs))
    return [item for item in read_items if isinstance(item, Workload)]


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


@pytest.mark.parametrize(("limits", "doubted"), [({"extra_resource_limits": {"nvidia.com/gpu": "1"}}, 0), ({}, 1)])
def test_a_notebook_of_jupyterhub_may_be_on_gpu_nodes_if_it_asks_for_gpus(limits: Any, doubted: int) -> None:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    spawned = {**limits, "tolerations": tolerations, "node_selector": {"gpucluster.dev/pool": "t4-1"}}
    values = {"singleuser": {"profileList": [{"display_name": "t4", "kubespawner_override": spawned}]}}
    assert len([workload for workload in release("jupyterhub", values=values) if workload.unknown_reason]) == doubted


@cases
def test_minutes(written: Any, minutes: Any) -> None:
    assert minutes_of(written) == minutes


@cases
def test_a_window_is_as_long_as_its_runs(schedule: Any, duration: Any, minutes: Any) -> None:
    assert longest_window(schedule, duration) == minutes
