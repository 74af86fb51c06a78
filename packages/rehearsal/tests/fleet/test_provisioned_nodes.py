"""Nodes of a Karpenter that the cloud runs: each is completed once, by its node class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from packages.rehearsal.tests.simulated_cluster import gpu_group
from rehearsal.cluster.api import Api
from rehearsal.fleet.nodes import ClusterFacts
from rehearsal.fleet.provisioned_nodes import ProvisionedNodes, offers_of, remove_nodes
from rehearsal.simulation import ManagedKarpenter

POOL = "/apis/karpenter.sh/v1/nodepools"
CLASS = "/apis/example.com/v1/machineclasses/t4"


def node_pool(name: str = "t4", kind: str = "MachineClass", market: str = "spot") -> dict[str, Any]:
    values = {"topology.kubernetes.io/zone": ["a"], "karpenter.sh/capacity-type": [market]}
    values["node.kubernetes.io/instance-type"] = ["m4", "m8"]
    requirements = [{"key": key, "operator": "In", "values": each} for key, each in values.items()]
    template = {"spec": {"nodeClassRef": {"kind": kind, "name": "t4"}, "requirements": requirements}}
    return {"metadata": {"name": name}, "spec": {"template": template}}


def node(**annotations: str) -> dict[str, Any]:
    labels = {"karpenter.sh/nodepool": "t4", "team": "ml"}
    return {"metadata": {"name": "n", "labels": labels, "annotations": annotations}}


@dataclass
class Server:
    """What the API server has, by path, and what was sent to it."""

    objects: dict[str, Any] = field(default_factory=dict)
    sent: list[tuple[str, Any]] = field(default_factory=list)

    def find(self, path: str) -> Any:
        return self.objects.get(path)

    def list(self, path: str, **query: str) -> list[Any]:
        return [each for name, each in self.objects.items() if name.startswith(path)]

    def merge_if_there(self, path: str, body: Any) -> None:
        self.sent.append((path, body))

    def delete(self, path: str) -> None:
        self.sent.append((path, None))


KARPENTER = ManagedKarpenter(
    ("example.com", "v1", "MachineClass"),
    {},
    (),
    lambda labels, spec: gpu_group("x", labels={"pods": str(spec["pods"]), "of": labels["team"]}),
)


def watch(server: Server, karpenter: ManagedKarpenter = KARPENTER) -> ProvisionedNodes:
    return ProvisionedNodes(cast(Api, server), karpenter, ClusterFacts("demo", "r", "1.34.4"))


def test_a_node_gets_labels_and_a_size_by_its_node_class() -> None:
    server = Server({f"{POOL}/t4": node_pool(), CLASS: {"spec": {"pods": 30}}})
    watch(server).notice("ADDED", node())
    ((path, body),) = server.sent
    assert path == "/api/v1/nodes/n"
    labels, annotations = body["metadata"]["labels"], body["metadata"]["annotations"]
    assert (labels["pods"], labels["of"], labels["topology.kubernetes.io/region"]) == ("30", "ml", "r")
    assert '"nvidia.com/gpu": "0"' in annotations["rehearsal.gpucluster.dev/capacity"]
    assert annotations["rehearsal.gpucluster.dev/gpus"] == "1"


@pytest.mark.parametrize(("labels", "removed"), [({}, False), ({"karpenter.sh/registered": "true"}, True)])
def test_the_network_agent_removes_its_own_taint_of_a_node_that_has_joined(
    labels: dict[str, str], removed: bool
) -> None:
    server = Server({f"{POOL}/t4": node_pool(), CLASS: {"spec": {"pods": 30}}})
    joined = node(**{"rehearsal.gpucluster.dev/capacity": "{}"})
    joined["metadata"]["labels"] |= labels
    joined["spec"] = {"taints": [{"key": "agent-not-ready"}, {"key": "nvidia.com/gpu"}]}
    watch(server, replace(KARPENTER, agent_taint="agent-not-ready")).notice("MODIFIED", joined)
    watch(server).notice("MODIFIED", joined)
    assert server.sent == [("/api/v1/nodes/n", {"spec": {"taints": [{"key": "nvidia.com/gpu"}]}})] * removed


def test_nothing_else_is_touched() -> None:
    server = Server({f"{POOL}/t4": node_pool(), CLASS: {"spec": {"pods": 30}}})
    sized = node(**{"rehearsal.gpucluster.dev/capacity": "{}"})
    of_nobody = {"metadata": {"name": "admin", "labels": {}}}
    for kind, item in (("DELETED", node()), ("MODIFIED", sized), ("ADDED", of_nobody)):
        watch(server).notice(kind, item)
    watch(Server({f"{POOL}/t4": node_pool()})).notice("ADDED", node())
    watch(Server()).notice("ADDED", node())
    assert server.sent == []


def test_offers_of_a_pool_are_its_types_zones_and_markets() -> None:
    pools = {
        f"{POOL}/{each['metadata']['name']}": each for each in (node_pool(), node_pool("b"), node_pool("c", "Other"))
    }
    offers = offers_of(cast(Api, Server(pools)), KARPENTER, ["t4", "c"])
    assert [*offers] == [("m4", "a", "spot"), ("m8", "a", "spot")]


def test_nodes_go_without_waiting_for_a_karpenter_that_ended() -> None:
    server = Server({"/api/v1/nodes/n": node()})
    remove_nodes(cast(Api, server))
    assert server.sent == [("/api/v1/nodes/n", {"metadata": {"finalizers": None}}), ("/api/v1/nodes/n", None)]
