"""Completes nodes that Karpenter has created, and records which groups have had a node.

Karpenter refuses some labels, and must not use other labels and some taints for planning. Labels that only its kwok
provider sets are removed, except those by which Karpenter identifies its nodes (``karpenter.sh/…``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.threads import WatchingThread
from rehearsal.fleet.node_pools import refused_by_karpenter
from rehearsal.fleet.nodes import GROUP_LABEL, INSTANCE_TYPE, LATE_TAINT, NodeTemplate, repeating_labels
from rehearsal.simulation import OF_NO_CLOUD


@dataclass(frozen=True)
class Late:
    """Final labels and taints of a group's nodes; ``taints`` replace the one that keeps pods off a new node.
    ``zone_labels`` are further labels with a node's zone."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    zone_labels: tuple[str, ...] = ()


def late(template: NodeTemplate, type_name: str) -> Late:
    """Labels and taints to add to the group's nodes; ``type_name``: Karpenter's name of their machine type."""
    group = template.group
    labels = {key: value for key, value in template.planned_labels.items() if refused_by_karpenter(key)}
    labels |= group.late_labels
    if type_name != group.nodes.machine_type:
        labels[INSTANCE_TYPE] = group.nodes.machine_type
    return Late(labels, tuple(taint.manifest for taint in group.late_taints), template.cluster.zone_labels)


class NodeWatch(WatchingThread):
    """Watches nodes: calls ``seen`` with the group of each; ``late_of`` returns what to add to a group's nodes."""

    def __init__(self, api: Api, late_of: Callable[[str], Late], on_change: Callable[[str], None]) -> None:
        super().__init__("node-watch", api, "/api/v1/nodes")
        self._late_of = late_of
        self._on_change = on_change
        self._completed: dict[str, int] = {}

    def notice(self, kind: str, node: Object, /) -> None:
        """Complete a node once Karpenter has registered it."""
        if kind != "DELETED":
            self._complete(node)

    def _complete(self, node: Object) -> None:
        labels: Mapping[str, Any] = node["metadata"].get("labels", {})
        group = labels.get(GROUP_LABEL, "")
        self._on_change(group)
        # Karpenter writes its labels once, when it registers the node; later changes remain.
        if labels.get("karpenter.sh/registered") != "true":
            return
        uid, version = node["metadata"]["uid"], int(node["metadata"]["resourceVersion"])
        if version < self._completed.get(uid, 0):
            # An outdated event: a patch for each would delay all other nodes. Versions are comparable:
            # https://www.kubernetes.dev/resources/keps/5504/
            return
        patch = missing(node, self._late_of(group))
        if patch is None:
            return
        try:
            patched = self._api.merge(f"/api/v1/nodes/{node['metadata']['name']}", patch)
            self._completed[uid] = int(patched["metadata"]["resourceVersion"])
        except ApiError as error:
            # Deleted, or changed since: the watch then delivers the change.
            if error.status not in (404, 409):
                raise


def missing(node: Object, late: Late) -> Object | None:
    """A merge patch that completes the node, or ``None`` if nothing is missing."""
    labels: Mapping[str, Any] = node["metadata"].get("labels", {})
    final = {**late.labels, **repeating_labels({**labels, **late.labels}, late.zone_labels)}
    lacking: dict[str, str | None] = {key: value for key, value in final.items() if labels.get(key) != value}
    lacking |= dict.fromkeys(key for key in OF_NO_CLOUD if key in labels)
    metadata: Object = {"labels": lacking} if lacking else {}
    present = node["spec"].get("taints", [])
    others = [taint for taint in present if taint["key"] != LATE_TAINT["key"]]
    if len(others) == len(present):
        return {"metadata": metadata} if lacking else None
    # A merge replaces the list of taints as a whole, so it must start from the newest one.
    metadata["resourceVersion"] = node["metadata"]["resourceVersion"]
    there = {(taint["key"], taint["effect"]) for taint in others}
    added = [dict(taint) for taint in late.taints if (taint["key"], taint["effect"]) not in there]
    return {"metadata": metadata, "spec": {"taints": [*others, *added]}}
