"""What a timeline records of nodes: its own, without what only the simulation sets."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.pool import POOL_LABEL
from rehearsal.scenario.timeline import Timeline

KWOK = "eks-node-viewer/instance-price"
OURS, THEIRS = {POOL_LABEL: "t4-1", KWOK: "0.5", "zone": "a"}, {"company.example/tier": "general"}


@pytest.mark.parametrize(("own_nodes_only", "nodes"), [(False, ["ours", "theirs"]), (True, ["ours"])])
def test_nodes_of_others_are_left_out_on_request(own_nodes_only: bool, nodes: list[str]) -> None:
    timeline = Timeline(own_nodes_only=own_nodes_only)
    for name, labels in (("ours", OURS), ("theirs", THEIRS)):
        node: dict[str, Any] = {"metadata": {"name": name, "uid": name, "labels": labels}}
        timeline.observe("Node", "ADDED", node)
        timeline.observe("Node", "MODIFIED", node)
    assert [node.name for node in timeline.nodes] == nodes
    timeline.observe("Node", "DELETED", {"metadata": {"name": "ours", "uid": "ours", "labels": OURS}})
    assert "ours" not in [node.name for node in timeline.living_nodes()]


def test_labels_that_a_new_node_loses_at_once_are_not_its_own() -> None:
    timeline = Timeline()
    timeline.observe("Node", "ADDED", {"metadata": {"name": "ours", "uid": "ours", "labels": OURS}})
    assert timeline.nodes[0].labels == {POOL_LABEL: "t4-1", "zone": "a"}
