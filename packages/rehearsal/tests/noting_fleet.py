"""A fleet that takes notes, for the tests of every simulated cloud."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rehearsal.simulation import Endpoint, Injector, ManagedKarpenter, Node, SimulatedNodeGroup


@dataclass
class NotingFleet:
    """A ``Fleet`` without machines. ``fail`` makes the named call raise."""

    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    karpenters: dict[str, ManagedKarpenter] = field(default_factory=dict)
    """Cluster → the Karpenter that its cloud runs."""
    groups: dict[str, SimulatedNodeGroup] = field(default_factory=dict)
    objects: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """API path → what ``list_objects`` answers."""
    applied: list[dict[str, Any]] = field(default_factory=list)
    """What ``apply_objects`` was given, in order."""
    with_history: set[str] = field(default_factory=set)
    """Groups that have had nodes."""
    tokens: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """Token and audience → the user of a TokenReview."""
    nodes: dict[str, Node] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    reports: list[tuple[str, str]] = field(default_factory=list)
    """(node, why its machine does not join), in order."""
    injector: Injector | None = None
    recreated: list[str] = field(default_factory=list)
    """Groups whose nodes were replaced, in order."""
    fail: str = ""
    inside: bool = False

    def create_cluster(self, name: str, **facts: Any) -> Endpoint:
        self._maybe_fail("create_cluster")
        self.clusters[name] = facts
        client = {"client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ"}
        return Endpoint("127.0.0.1:6443", "Q0E=", "localhost:6443", "127.0.0.1:1", self.inside, client)

    def run_karpenter(self, cluster: str, karpenter: ManagedKarpenter) -> None:
        self._maybe_fail("run_karpenter")
        self.karpenters[cluster] = karpenter

    def delete_cluster(self, name: str) -> None:
        self._maybe_fail("delete_cluster")
        self.clusters.pop(name, None)

    def apply_group(self, group: SimulatedNodeGroup) -> None:
        self._maybe_fail("apply_group")
        self.groups[group.name] = group

    def delete_group(self, cluster: str, name: str) -> None:
        self._maybe_fail("delete_group")
        self.groups.pop(name, None)

    def recreate_nodes(self, cluster: str, name: str) -> None:
        self._maybe_fail("recreate_nodes")
        self.recreated.append(name)

    def had_nodes(self, cluster: str, name: str) -> bool:
        return name in self.with_history

    def apply_objects(self, objects: list[dict[str, Any]]) -> None:
        self._maybe_fail("apply_objects")
        self.applied += objects

    def apply_node(self, node: Node) -> None:
        self._maybe_fail("apply_node")
        self.nodes.setdefault(node.name, node)

    def stop_node(self, cluster: str, name: str) -> None:
        self.stopped.add(name)

    def remove_node(self, cluster: str, name: str) -> None:
        self.nodes.pop(name, None)

    def report_machine(self, cluster: str, name: str, because: str) -> None:
        self.reports.append((name, because))

    def inject_with(self, injector: Injector) -> None:
        self.injector = injector

    def list_objects(self, path: str) -> list[dict[str, Any]]:
        return self.objects.get(path, [])

    def review_token(self, token: str, audience: str) -> dict[str, Any]:
        assert token, "token is required for TokenReview in authentication"
        user = self.tokens.get((token, audience))
        return {"authenticated": True, "user": user} if user else {"error": "invalid bearer token"}

    def _maybe_fail(self, call: str) -> None:
        if self.fail == call:
            raise RuntimeError("no machines left")
