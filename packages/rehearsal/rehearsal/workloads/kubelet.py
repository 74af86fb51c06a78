"""Watches for pods that have a program, and runs it: the part of a kubelet that kwok leaves out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rehearsal.cluster.api import Object, pod_path
from rehearsal.cluster.images import KARPENTER, ImageBinary, carried
from rehearsal.cluster.threads import WatchingThread
from rehearsal.tools.modules import KARPENTER_AWS
from rehearsal.workloads.container import Container, Host, program_container
from rehearsal.workloads.saved_output import SavedOutput

_log = logging.getLogger("rehearsal.workloads")
_MODULE: Final = "github.com/aws/karpenter-provider-aws"
_BINARY: Final = "karpenter-aws"
_PORTS: Final = ("METRICS_PORT", "HEALTH_PROBE_PORT")


class Kubelet(WatchingThread):
    """One thread for all simulated nodes, and one per running program. ``programs`` are by repository."""

    def __init__(self, host: Host, programs: Mapping[str, ImageBinary]) -> None:
        super().__init__("kubelet", host.api, "/api/v1/pods")
        self._host = host
        self._programs = programs
        self._saved = SavedOutput(host.api, host.folder / "claims", host.logs)
        self._containers: dict[str, Container] = {}

    def close(self) -> None:
        """Stop every program at once, then the threads."""
        super().close()
        running = list(self._containers.values())
        for container in running:
            container.end(grace=0.0)
        for container in running:
            container.join()

    def listed(self, items: list[Object], /) -> None:
        """Stop the programs of pods whose deletion was missed."""
        for uid in self._containers.keys() - {pod["metadata"]["uid"] for pod in items}:
            self._containers.pop(uid).end(grace=0.0)

    def notice(self, kind: str, pod: Object, /) -> None:
        """Start the program of a pod that has a node; stop that of a pod being deleted."""
        uid = pod["metadata"]["uid"]
        known = self._containers.get(uid)
        if kind == "DELETED":
            if known is not None:
                known.end(grace=0.0)
                del self._containers[uid]
            return
        if pod["metadata"].get("deletionTimestamp"):
            self._end(pod, known)
            return
        self._saved.note(pod)
        if known is None and pod["spec"].get("nodeName"):
            repository = next(filter(None, (carried(each["image"]) for each in pod["spec"]["containers"])), None)
            if repository is not None:
                container = program_container(pod, repository)
                started = Container(self._host, pod, container, self._programs.get(repository))
                self._containers[uid] = started
                started.start()

    def _end(self, pod: Object, known: Container | None) -> None:
        """A pod being deleted: stop its program within the grace period, then remove the pod."""
        if known is not None:
            known.end(grace=float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))
        elif pod["spec"].get("nodeName") and any(carried(each["image"]) for each in pod["spec"]["containers"]):
            # It was deleted before its program could start.
            self._host.api.delete(pod_path(pod), gracePeriodSeconds=0)


def programs(tools: Path) -> Mapping[str, ImageBinary]:
    """Repository → program, for the programs that were built; empty if no program was needed."""
    binary = tools / _BINARY
    if not binary.exists():
        return {}
    version = KARPENTER_AWS.version(_MODULE).removeprefix("v")
    return {KARPENTER: ImageBinary(KARPENTER, version, binary, _PORTS)}
