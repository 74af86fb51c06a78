"""Nodes of a Karpenter that the cloud runs itself, for the NodePools of the stack.

Karpenter's kwok provider makes a bare Node; the cloud's provider and the kubelet would give it labels, a size and GPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.threads import WatchingThread
from rehearsal.fleet.machine_types import CAPACITY_TYPE, ZONE
from rehearsal.fleet.node_pools import pool_path
from rehearsal.fleet.nodes import INSTANCE_TYPE, PREFIX, REGION, ClusterFacts, NodeTemplate, repeating_labels
from rehearsal.simulation import OF_NO_CLOUD, ManagedKarpenter

_POOL: Final = "karpenter.sh/nodepool"
# Karpenter puts the startup taints on a node that joins, together with this label.
_JOINED: Final = "karpenter.sh/registered"
_SIZED: Final = PREFIX + "capacity"


def class_path(karpenter: ManagedKarpenter, name: str | None = None) -> str:
    """The API path of all node classes of the cloud, or of one."""
    group, version, kind = karpenter.node_class
    return resource_path(f"{group}/{version}", f"{kind.lower()}es", name)


def offers_of(api: Api, karpenter: ManagedKarpenter, pools: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """What the ``pools`` may be made of: (machine type, zone, capacity type)."""
    for pool in api.list(pool_path()):
        spec = pool["spec"]["template"]["spec"]
        if pool["metadata"]["name"] in pools and spec["nodeClassRef"]["kind"] == karpenter.node_class[2]:
            values = {each["key"]: each["values"] for each in spec["requirements"] if each["operator"] == "In"}
            yield from (
                (machine_type, zone, market)
                for machine_type in values.get(INSTANCE_TYPE, ())
                for zone in values.get(ZONE, ())
                for market in values.get(CAPACITY_TYPE, ())
            )


def remove_nodes(api: Api) -> None:
    """Remove the nodes of a Karpenter that has ended: the cloud ends its machines with the cluster."""
    for node in api.list("/api/v1/nodes", labelSelector=_POOL):
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        api.merge_if_there(path, {"metadata": {"finalizers": None}})
        api.delete(path)


class ProvisionedNodes(WatchingThread):
    """Watches nodes, and completes each new one by its node class; only then it is Ready."""

    def __init__(self, api: Api, karpenter: ManagedKarpenter, cluster: ClusterFacts) -> None:
        super().__init__("provisioned-nodes", api, "/api/v1/nodes")
        self._karpenter = karpenter
        self._cluster = cluster

    def notice(self, kind: str, node: Object, /) -> None:
        """Complete a node that has no size yet."""
        labels: Mapping[str, str] = node["metadata"].get("labels") or {}
        if kind != "DELETED" and _JOINED in labels:
            self._agent_starts(node)
        if kind == "DELETED" or _POOL not in labels or _SIZED in (node["metadata"].get("annotations") or {}):
            return
        pool = self._api.find(pool_path(labels[_POOL]))
        name = None if pool is None else pool["spec"]["template"]["spec"]["nodeClassRef"]["name"]
        node_class = None if name is None else self._api.find(class_path(self._karpenter, name))
        if node_class is None:
            return  # its NodePool is being deleted, and the node with it
        group = self._karpenter.node(labels, node_class["spec"])
        own: dict[str, Any] = {**group.nodes.labels, REGION: self._cluster.region, **dict.fromkeys(OF_NO_CLOUD)}
        own |= repeating_labels({**labels, **own}, self._cluster.zone_labels)
        completed = {"labels": own, "annotations": NodeTemplate(group, self._cluster).annotations}
        self._api.merge_if_there(f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": completed})

    def _agent_starts(self, node: Object) -> None:
        """The network agent is ready at once, and removes its startup taint."""
        taints = (node.get("spec") or {}).get("taints") or []
        others = [taint for taint in taints if taint["key"] != self._karpenter.agent_taint]
        if len(others) < len(taints):
            self._api.merge_if_there(f"/api/v1/nodes/{node['metadata']['name']}", {"spec": {"taints": others}})
