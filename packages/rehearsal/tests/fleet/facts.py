"""What the tests of the fleet read out of a simulated cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Nodes, Scaling
from packages.rehearsal.tests.simulated_cluster import CLUSTER, ZONES, events, nodes, tools
from rehearsal.cluster.api import Api, Object, condition
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.fleet import KarpenterFleet
from rehearsal.simulation import NodeShape, SimulatedNodeGroup

TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
SPOT_TAINT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")
ADMIN = SimulatedNodeGroup(
    "admin",
    CLUSTER,
    NodeShape(4, 16),
    Nodes(machine_types=("e2-standard-4",), zones=ZONES[:1], labels={"gpucluster.dev/pool": "admin"}),
    Scaling(autoscaled=False, max_nodes=1),
    initial_nodes=1,
)

# What Karpenter leaves behind when it ends between making a node and noting that it did.
UNCLAIMED: Object = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "unclaimed", "labels": {"gpucluster.dev/pool": "unclaimed", "karpenter.sh/nodepool": "t4"}},
    "spec": {"providerID": "kwok://unclaimed"},
}


@dataclass(frozen=True)
class Running:
    """A cluster with its fleet."""

    fleet: KarpenterFleet
    api: Api
    run_dir: Path
    endpoint: str = ""
    ca_pem_base64: str = ""

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.run_dir / "fleet.json").read_text())
        return report

    def missing_drivers(self) -> list[dict[str, Any]]:
        missing: list[dict[str, Any]] = self.report()["missing_drivers"]
        return missing


@contextmanager
def running_fleet(run_dir: Path, version: str = "1.34.4", *system_objects: Object) -> Iterator[Running]:
    """A cluster whose only group is the admin pool."""
    with ControlPlane(run_dir, tools=tools()) as plane:
        fleet = KarpenterFleet(plane, run_dir, tools())
        place: dict[str, Any] = {"region": "us-central1", "zones": ZONES}
        fleet.create_cluster(CLUSTER, version=version, system_objects=[*system_objects], **place)
        fleet.apply_group(ADMIN)
        yield Running(fleet, plane.api, run_dir, plane.endpoint, plane.ca_pem_base64)
        fleet.close()


def ready_gpus(api: Api, group: str) -> int:
    return sum(int(node["status"]["allocatable"].get("nvidia.com/gpu", 0)) for node in nodes(api, group))


def all_registered(nodes: list[Object]) -> list[Object]:
    """The nodes, once the autoscaler has given each its taints."""
    return nodes if all("karpenter.sh/registered" in node["metadata"]["labels"] for node in nodes) else []


def required(key: str, value: str) -> Object:
    """Node affinity for one label."""
    expression = {"key": key, "operator": "In", "values": [value]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def preferred(key: str, value: str) -> Object:
    """Node affinity that does without, if no node has the label."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}}


def ready_pools(api: Api) -> set[str]:
    """The NodePools that the autoscaler uses; a new one becomes so a moment after it was created."""
    return {one["metadata"]["name"] for one in api.list("/apis/karpenter.sh/v1/nodepools") if condition(one, "Ready")}


def labelled(api: Api, group: str, key: str) -> list[Object]:
    """The group's nodes that have a label."""
    return [node for node in nodes(api, group) if key in node["metadata"]["labels"]]


def not_triggered(api: Api) -> list[str]:
    return [event["message"] for event in events(api, "NotTriggerScaleUp")]


def instance_type(api: Api, group: str) -> str:
    (node,) = nodes(api, group)
    name: str = node["metadata"]["labels"]["node.kubernetes.io/instance-type"]
    return name
