"""Nodes of machines that join by themselves, as their kubelet registers them."""

from __future__ import annotations

from dataclasses import replace

from rehearsal.fleet.machine_nodes import manifest
from rehearsal.simulation import Node

SIZE = {"cpu": "4", "memory": "15518720Ki", "pods": "110"}
NODE = Node("ip-10-0-0-7", "demo", "aws:///us-west-2a/i-1", {}, (), SIZE, {**SIZE, "cpu": "3920m"}, "v1.34.0", "Linux")


def test_a_node_has_its_size_from_its_first_moment() -> None:
    """Karpenter learns a machine type's memory from a node that has just registered, and remembers the smallest."""
    status = manifest(NODE)["status"]
    assert status == {"capacity": SIZE, "allocatable": {**SIZE, "cpu": "3920m"}}


def test_its_gpus_come_later() -> None:
    status = manifest(replace(NODE, gpus=4))["status"]
    assert status["capacity"]["nvidia.com/gpu"] == status["allocatable"]["nvidia.com/gpu"] == "0"
