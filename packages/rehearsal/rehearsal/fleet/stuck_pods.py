"""Pods that wait for a node group that no autoscaler may scale: an Event on the pod gives the reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from facts.concepts.kubernetes import gpu_limit
from rehearsal.cluster.api import Api, Object, warn
from rehearsal.cluster.threads import PollingThread
from rehearsal.fleet.nodes import NodeTemplate
from rehearsal.fleet.pod_placement import refusal
from rehearsal.simulation import NOT_SCALED, SimulatedNodeGroup

_POLL_SECONDS: Final = 0.5
_PATIENCE_SECONDS: Final = 3.0
"""Seconds of waiting before a pod counts as stuck: an autoscaler starts a node within about two seconds."""


class StuckPods(PollingThread):
    """Watches the pods that wait for a GPU; ``templates`` are those of all groups."""

    def __init__(self, api: Api, templates: Callable[[], Iterable[NodeTemplate]]) -> None:
        super().__init__("stuck-pods", _POLL_SECONDS)
        self._api = api
        self._templates = templates
        self._since: dict[str, float] = {}
        self._reported: set[tuple[str, str, str]] = set()

    def look(self) -> None:
        """Report the pods that have waited long enough."""
        unscaled = [each for each in self._templates() if each.group.not_scaled_because]
        pods = self._api.list("/api/v1/pods", fieldSelector="spec.nodeName=,status.phase=Pending") if unscaled else []
        pods = [pod for pod in pods if gpu_limit(pod["spec"])]
        now = time.monotonic()
        self._since = {pod["metadata"]["uid"]: self._since.get(pod["metadata"]["uid"], now) for pod in pods}
        for pod in pods:
            if now - self._since[pod["metadata"]["uid"]] < _PATIENCE_SECONDS:
                continue
            for each in unscaled:
                if would_fit(pod["spec"], each):
                    self._tell(pod, each.group)

    def _tell(self, pod: Object, group: SimulatedNodeGroup) -> None:
        report = pod["metadata"]["uid"], group.name, group.not_scaled_because
        if report in self._reported:
            return
        message = f"node group {group.name} fits this pod, but no autoscaler may start its nodes: "
        # Readers that know no groups identify the pool by the labels.
        warn(self._api, pod, NOT_SCALED, message + group.not_scaled_because, group.nodes.labels)
        self._reported.add(report)


def would_fit(pod_spec: Mapping[str, Any], template: NodeTemplate) -> bool:
    """Whether a node of the group would fit the pod by GPUs, taints and labels.

    GPUs that time slicing adds count only if the autoscaler expects them, because an empty group does not show them.
    CPU and memory are not compared.
    """
    group = template.group
    if gpu_limit(pod_spec) > max(group.gpus, group.machine.gpus):
        return False
    return any(refusal(pod_spec, template.node(zone)) is None for zone in group.nodes.zones)
