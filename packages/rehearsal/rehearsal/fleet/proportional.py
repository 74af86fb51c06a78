"""The cluster-proportional-autoscaler of system Deployments: replicas by the cluster's nodes and cores.

Its modes: https://github.com/kubernetes-sigs/cluster-proportional-autoscaler#horizontal-cluster-proportional-autoscaler-container.
All nodes count, cordoned ones too: a rehearsal cordons a node only just before it deletes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from facts.concepts.kubernetes import quantity
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.threads import WatchingThread

_IMAGE: Final = "/cluster-proportional-autoscaler"


@dataclass(frozen=True)
class ScaledDeployment:
    """API paths of a Deployment and of the ConfigMap that says how many replicas it has."""

    deployment: str
    parameters: str


def targets(objects: Sequence[Object]) -> Iterator[ScaledDeployment]:
    """What the autoscalers among ``objects`` scale, by their flags; one without a target scales nothing."""
    for each in objects:
        if each["kind"] != "Deployment":
            continue
        namespace = each["metadata"]["namespace"]
        for container in each["spec"]["template"]["spec"]["containers"]:
            flags = dict(flag.lstrip("-").split("=", 1) for flag in container.get("args", ()))
            if container["image"].endswith(_IMAGE) and "target" in flags:
                name = flags["target"].rpartition("/")[2]
                yield ScaledDeployment(
                    resource_path("apps/v1", "deployments", name, namespace),
                    resource_path("v1", "configmaps", flags["configmap"], namespace),
                )


def replicas(data: Mapping[str, str], nodes: int, cores: float) -> int:
    """The replicas that a ConfigMap's ``data`` asks for: ``linear`` or ``ladder``, each a JSON text."""
    if "ladder" in data:
        ladder: Mapping[str, Any] = json.loads(data["ladder"])
        return max(_step(ladder.get("nodesToReplicas") or [], nodes), _step(ladder.get("coresToReplicas") or [], cores))
    linear: Mapping[str, Any] = json.loads(data["linear"])
    least = 2 if linear.get("preventSinglePointFailure") and nodes > 1 else 1
    by_nodes = math.ceil(nodes / linear["nodesPerReplica"])
    return max(least, by_nodes, math.ceil(cores / linear["coresPerReplica"]))


def _step(steps: Sequence[Sequence[int]], size: float) -> int:
    return next((count for least, count in reversed(steps) if size >= least), 1)


class Proportional(WatchingThread):
    """Watches nodes, and scales each target when their number or size changes."""

    def __init__(self, api: Api, scaled: Sequence[ScaledDeployment]) -> None:
        super().__init__("proportional", api, "/api/v1/nodes")
        self._scaled = scaled
        self._cores: dict[str, float] = {}

    def listed(self, items: list[Object], /) -> None:
        """Scale for all nodes at once: one by one, the first of them would look like the whole cluster."""
        self._cores = {node["metadata"]["name"]: _cores(node) for node in items}
        self._scale()

    def notice(self, kind: str, node: Object, /) -> None:
        """Scale if the node is new, has another size or was deleted."""
        name, cores = node["metadata"]["name"], None if kind == "DELETED" else _cores(node)
        if self._cores.get(name) == cores:
            return
        self._cores.pop(name, None)
        if cores is not None:
            self._cores[name] = cores
        self._scale()

    def _scale(self) -> None:
        for target in self._scaled:
            count = replicas(self._api.get(target.parameters)["data"], len(self._cores), sum(self._cores.values()))
            self._api.merge_if_there(target.deployment, {"spec": {"replicas": count}})


def _cores(node: Object) -> float:
    return float(quantity((node.get("status", {}).get("capacity") or {}).get("cpu", "0")))
