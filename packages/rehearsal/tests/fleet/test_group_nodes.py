"""Nodes of groups and of machines that join by themselves; idle time of theirs is compressed, and nothing else."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Api, Object
from rehearsal.fleet import group_nodes
from rehearsal.fleet.group_nodes import FleetError
from rehearsal.fleet.idle_time import put_back
from rehearsal.fleet.machine_nodes import manifest
from rehearsal.fleet.nodes import GROUP_LABEL
from rehearsal.simulation import Node


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

    def find(self, path: str, **selector: Any) -> Object:
        return {"items": self.list(path, **selector)}

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


SIZE = {"cpu": "4", "memory": "15518720Ki", "pods": "110"}
NODE = Node("ip-10-0-0-7", "demo", "aws:///us-west-2a/i-1", {}, (), SIZE, {**SIZE, "cpu": "3920m"}, "v1.34.0", "Linux")


def test_a_node_has_its_size_from_its_first_moment() -> None:
    """Karpenter learns a machine type's memory from a node that has just registered, and remembers the smallest."""
    status = manifest(NODE)["status"]
    assert status == {"capacity": SIZE, "allocatable": {**SIZE, "cpu": "3920m"}}


def test_its_gpus_come_later() -> None:
    status = manifest(replace(NODE, gpus=4))["status"]
    assert status["capacity"]["nvidia.com/gpu"] == status["allocatable"]["nvidia.com/gpu"] == "0"


NOW = datetime.datetime(2026, 11, 22, 12, 0, 0, tzinfo=datetime.timezone.utc)


def ago(idle: float) -> str:
    return (NOW - datetime.timedelta(seconds=idle)).strftime("%Y-%m-%dT%H:%M:%SZ")


def claim(
    idle: float, group: str = "karpenter.k8s.aws", initialized: str = "True", event: bool = True
) -> dict[str, Any]:
    conditions = [{"type": "Initialized", "status": initialized, "lastTransitionTime": ago(idle)}]
    status = {"conditions": conditions, **({"lastPodEventTime": ago(idle)} if event else {})}
    return {"metadata": {"name": "c"}, "spec": {"nodeClassRef": {"group": group}}, "status": status}


def pool(after: str | None = "10m") -> dict[str, Any]:
    return {"spec": {"disruption": {} if after is None else {"consolidateAfter": after}}}


@pytest.mark.parametrize("event", [True, False])
def test_a_second_of_idleness_is_all_that_the_pool_asks_for(event: bool) -> None:
    assert put_back(claim(1, event=event), pool(), NOW) == NOW - datetime.timedelta(minutes=10)


@cases
def test_what_stays(one: dict[str, Any], after: str | None) -> None:
    metadata = {"name": "c", **({"deletionTimestamp": ago(1)} if one.pop("deleted", False) else {})}
    assert put_back({**claim(**one), "metadata": metadata}, pool(after), NOW) is None
