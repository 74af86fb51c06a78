"""What nodes lack when Karpenter has made them, the fleet adds as they appear; and it remembers who had any.

Karpenter refuses some labels, and must not see others, nor some taints, while it plans. What its kwok provider adds
and no cloud has goes, except the labels by which Karpenter itself knows its nodes (``karpenter.sh/…``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.threads import WatchingThread
from rehearsal.fleet.node_pools import refused_by_karpenter
from rehearsal.fleet.nodes import BETA_INSTANCE_TYPE, GROUP_LABEL, INSTANCE_TYPE, LATE_TAINT, NodeTemplate

_OF_NO_CLOUD: Final = ("eks-node-viewer/instance-price",)
"""https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/kwok/cloudprovider/cloudprovider.go"""


@dataclass(frozen=True)
class Late:
    """What the nodes of a group must have in the end; ``taints`` replace the one that held the node back."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()


def late(template: NodeTemplate, type_name: str) -> Late:
    """What the group's nodes lack when Karpenter has made them; ``type_name`` is its name for their machine."""
    group = template.group
    labels = {key: value for key, value in template.planned_labels.items() if refused_by_karpenter(key)}
    labels |= group.late_labels
    if group.gpus_advertised_by == "device-plugin":
        # Plugin manifests of old select nodes by it.
        labels[BETA_INSTANCE_TYPE] = group.machine.type
    if type_name != group.machine.type:
        labels[INSTANCE_TYPE] = group.machine.type
    return Late(labels, group.late_taints)


class NodeWatch(WatchingThread):
    """Watches nodes: ``seen`` is told the group of each, ``late_of`` says what every node of a group must also have."""

    def __init__(self, api: Api, late_of: Callable[[str], Late], on_change: Callable[[str], None]) -> None:
        super().__init__("node-watch", api, "/api/v1/nodes")
        self._late_of = late_of
        self._on_change = on_change
        self._completed: dict[str, int] = {}

    def notice(self, kind: str, node: Object, /) -> None:
        """Give a node what it lacks, once Karpenter has registered it."""
        if kind != "DELETED":
            self._complete(node)

    def _complete(self, node: Object) -> None:
        labels: Mapping[str, Any] = node["metadata"].get("labels", {})
        group = labels.get(GROUP_LABEL, "")
        self._on_change(group)
        # Karpenter writes its own labels once, when it registers the node; after that these stay.
        if labels.get("karpenter.sh/registered") != "true":
            return
        uid, version = node["metadata"]["uid"], int(node["metadata"]["resourceVersion"])
        if version < self._completed.get(uid, 0):
            # The node as it was before: a patch for each such event would hold up all other nodes. Versions compare:
            # https://www.kubernetes.dev/resources/keps/5504/
            return
        patch = missing(node, self._late_of(group))
        if patch is None:
            return
        try:
            patched = self._api.merge(f"/api/v1/nodes/{node['metadata']['name']}", patch)
            self._completed[uid] = int(patched["metadata"]["resourceVersion"])
        except ApiError as error:
            # Gone, or changed since: then the watch shows the change, and it is noticed again.
            if error.status not in (404, 409):
                raise


def missing(node: Object, late: Late) -> Object | None:
    """A merge patch that completes the node, or ``None`` if nothing is missing."""
    labels: Mapping[str, Any] = node["metadata"].get("labels", {})
    lacking: dict[str, str | None] = {key: value for key, value in late.labels.items() if labels.get(key) != value}
    lacking |= dict.fromkeys(key for key in _OF_NO_CLOUD if key in labels)
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
