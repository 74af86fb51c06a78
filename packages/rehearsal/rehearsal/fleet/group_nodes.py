"""Changes to a group's Node objects: create permanent ones, update and remove nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from facts.concepts.counts import counted
from rehearsal.cluster.api import Api, Object, condition, pod_path
from rehearsal.fleet.machine_types import CAPACITY_TYPE
from rehearsal.fleet.node_pools import claim_path, claims_of
from rehearsal.fleet.nodes import GROUP_LABEL, ZONE, NodeTemplate

_NODES: Final = "/api/v1/nodes"
_READY_SECONDS: Final = 240.0
_DRAIN_SECONDS: Final = 240.0


class FleetError(Exception):
    """The simulated data centre cannot do it; the message is for the user."""


def nodes_of(api: Api, group: str) -> list[Object]:
    """All nodes of the group, autoscaled and permanent."""
    return api.list(_NODES, labelSelector=f"{GROUP_LABEL}={group}")


def apply_permanent_nodes(api: Api, template: NodeTemplate) -> None:
    """Create missing permanent nodes, and remove excess ones."""
    group = template.group
    permanent: dict[str, list[str]] = {}
    counted: dict[str, int] = {}
    for node in nodes_of(api, group.name):
        zone = node["metadata"]["labels"][ZONE]
        autoscaled = CAPACITY_TYPE in node["metadata"]["labels"]
        if not autoscaled:
            permanent.setdefault(zone, []).append(node["metadata"]["name"])
        # A group that now has a fixed size keeps its autoscaled nodes.
        if not autoscaled or not group.scaling.autoscaled:
            counted[zone] = counted.get(zone, 0) + 1
    required = group.permanent()
    for zone, count in required.items():
        for _ in range(count - counted.get(zone, 0)):
            api.create(_NODES, template.node(zone))
    for zone, names in permanent.items():
        for name in names[required.get(zone, 0) :]:
            _drain(api, name)
            api.delete(f"{_NODES}/{name}")


def update_nodes(api: Api, before: NodeTemplate, after: NodeTemplate) -> None:
    """Give existing nodes the group's new labels and taints, as clouds that update a group in place do."""
    old, new = before.labels, after.labels
    if old == new and before.taints == after.taints:
        return
    changed: dict[str, str | None] = {**dict.fromkeys(old.keys() - new.keys()), **new}
    dropped = {(taint["key"], taint["effect"]) for taint in before.taints}
    for node in nodes_of(api, after.group.name):
        retained = [each for each in node["spec"].get("taints", []) if (each["key"], each["effect"]) not in dropped]
        body = {"metadata": {"labels": changed}, "spec": {"taints": [*retained, *after.taints]}}
        api.merge_if_there(f"{_NODES}/{node['metadata']['name']}", body)


def remove_nodes(api: Api, group: str) -> None:
    """Drain and delete all nodes; Karpenter's are deleted with their claims."""
    for node in nodes_of(api, group):
        _drain(api, node["metadata"]["name"])
        if not _made_by_karpenter(node):
            api.delete(f"{_NODES}/{node['metadata']['name']}")
    api.delete(f"{claim_path()}?labelSelector={GROUP_LABEL}%3D{group}")


def wait_until_ready(api: Api, group: str, count: int, check: Callable[[], None]) -> None:
    """Return when ``count`` nodes of the group are Ready; ``check`` raises if they cannot be.

    Raises FleetError: they are not Ready after four minutes.
    """
    deadline = time.monotonic() + _READY_SECONDS
    while count and sum(condition(node, "Ready") for node in nodes_of(api, group)) < count:
        check()
        if time.monotonic() > deadline:
            raise FleetError(
                f"node group {group}: fewer than {counted(count, 'node')} Ready after {_READY_SECONDS:.0f} s"
            )
        time.sleep(0.1)


def wait_until_deleted(api: Api, group: str) -> None:
    """Return when no node of the group is left.

    A node whose claim was deleted before Karpenter recorded it is deleted here. Raises FleetError: some still exist
    after four minutes.
    """
    deadline = time.monotonic() + _DRAIN_SECONDS
    while left := nodes_of(api, group):
        if not claims_of(api, labelSelector=f"{GROUP_LABEL}={group}"):
            for node in left:
                api.delete(f"{_NODES}/{node['metadata']['name']}")
        if time.monotonic() > deadline:
            names = ", ".join(node["metadata"]["name"] for node in left)
            raise FleetError(f"node group {group}: nodes not deleted after {_DRAIN_SECONDS:.0f} s: {names}")
        time.sleep(0.2)


def recreate_nodes(api: Api, template: NodeTemplate) -> None:
    """Drain and delete all nodes, then recreate the permanent ones."""
    remove_nodes(api, template.group.name)
    apply_permanent_nodes(api, template)


def _made_by_karpenter(node: Mapping[str, Any]) -> bool:
    return "karpenter.sh/nodepool" in node["metadata"].get("labels", {})


def _drain(api: Api, node: str) -> None:
    """Cordon the node and delete its pods: a cloud's drain in compressed time."""
    api.merge_if_there(f"{_NODES}/{node}", {"spec": {"unschedulable": True}})
    for pod in api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node}"):
        api.delete(pod_path(pod))
