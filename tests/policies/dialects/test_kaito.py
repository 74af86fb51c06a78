"""KAITO's workspaces are machines, and the pods on them."""

from __future__ import annotations

from typing import Any

from facts.concepts.declared import NodeGroup, Workload
from policies.readers import read
from policies.readers.resource import Declared

POD: dict[str, Any] = {
    "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "2"}}}],
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
}


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
