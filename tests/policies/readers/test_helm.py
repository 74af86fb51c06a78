"""Helm releases whose values are in files, or spawn pods."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from facts.concepts.declared import Workload
from facts.concepts.kubernetes import Toleration
from facts.concepts.unknown import UNKNOWN
from policies.readers import read
from policies.readers.resource import Declared


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
