"""The end of a group's nodes, with an API server that answers from a list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from rehearsal.cluster.api import Api, Object
from rehearsal.fleet import group_nodes
from rehearsal.fleet.group_nodes import FleetError
from rehearsal.fleet.nodes import GROUP_LABEL


@dataclass
class Cluster:
    """Nodes, and Karpenter's claims; a deleted node is gone unless it is ``stuck``."""

    nodes: list[str]
    claims: list[str] = field(default_factory=list)
    stuck: bool = False
    lists_of_claims: int = 0

    def list(self, path: str, **selector: Any) -> list[Object]:
        assert selector == {"labelSelector": f"{GROUP_LABEL}=t4-1"}
        if path == "/api/v1/nodes":
            return [{"metadata": {"name": name}} for name in self.nodes]
        self.lists_of_claims += 1
        present = [{"metadata": {"name": name}} for name in self.claims]
        # Karpenter ends a node with its claim.
        while self.claims:
            self.nodes.remove(self.claims.pop())
        return present

    def delete(self, path: str) -> None:
        assert not self.claims
        if not self.stuck:
            self.nodes.remove(path.rpartition("/")[2])


def wait(cluster: Cluster) -> None:
    group_nodes.wait_until_deleted(cast("Api", cluster), "t4-1")


def test_a_node_without_a_claim_is_ended_and_one_with_a_claim_is_karpenters_to_end() -> None:
    cluster = Cluster(["claimed", "orphan"], claims=["claimed"])
    wait(cluster)
    assert cluster.nodes == []
    assert cluster.lists_of_claims == 2


def test_without_nodes_nothing_is_asked() -> None:
    cluster = Cluster([])
    wait(cluster)
    assert cluster.lists_of_claims == 0


def test_nodes_that_stay_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_nodes, "_DRAIN_SECONDS", 0.0)
    with pytest.raises(FleetError, match="node group t4-1: nodes not deleted after 0 s: stays"):
        wait(Cluster(["stays"], stuck=True))
