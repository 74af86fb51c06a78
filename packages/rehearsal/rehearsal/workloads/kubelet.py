"""Watches for pods that have a program, and runs it: the part of a kubelet that kwok leaves out.

Also output that simulated containers save in a claim, and the pods that print such a file: a claim is a folder here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

import yaml

from facts.jobs.job import INDEX_ANNOTATION
from facts.jobs.runner import saved_in
from rehearsal.cluster.api import Api, Object, pod_path
from rehearsal.cluster.control_plane import simulated_line
from rehearsal.cluster.images import KARPENTER, ImageBinary, carried
from rehearsal.cluster.threads import WatchingThread
from rehearsal.tools.modules import KARPENTER_AWS
from rehearsal.workloads.container import Container, Host, program_container
from rehearsal.workloads.mps import MpsClients
from rehearsal.workloads.platforms import ImagePlatforms

_STARTED: Final = ("Running", "Succeeded")


class SavedOutput:
    """``claims`` has a folder per namespace and claim; ``logs`` is that of ``ContainerLogs``."""

    def __init__(self, api: Api, claims: Path, logs: Path) -> None:
        self._api = api
        self._claims = claims
        self._logs = logs
        self._noted: set[str] = set()

    def note(self, pod: Object) -> None:
        """Do what the containers of a pod would have done, once it has started."""
        uid = pod["metadata"]["uid"]
        if uid in self._noted or (pod.get("status") or {}).get("phase") not in _STARTED:
            return
        self._noted.add(uid)
        for container in pod["spec"]["containers"]:
            command = container.get("command") or [""]
            if (directory := saved_in(command)) is not None:
                index = (pod["metadata"].get("annotations") or {}).get(INDEX_ANNOTATION, "0")
                self._append(self._file(pod, container, f"{directory}/{index}.log"), simulated_line(pod))
            elif command[0] == "tail":
                self._print(self._file(pod, container, command[-1]), pod)

    def _file(self, pod: Object, container: Object, path: str) -> Path | None:
        """Where a container's path is on this machine; ``None`` if it is in no claim."""
        claims = {
            volume["name"]: volume["persistentVolumeClaim"]["claimName"]
            for volume in pod["spec"].get("volumes") or ()
            if "persistentVolumeClaim" in volume
        }
        inside = PurePosixPath(path)
        for mount in container.get("volumeMounts") or ():
            if mount["name"] in claims and inside.is_relative_to(mount["mountPath"]) and ".." not in inside.parts:
                claim = self._claims / pod["metadata"]["namespace"] / claims[mount["name"]]
                return claim / inside.relative_to(mount["mountPath"])
        return None

    def _append(self, file: Path | None, line: str) -> None:
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as opened:
                opened.write(f"{line}\n")

    def _print(self, file: Path | None, pod: Object) -> None:
        """The file's content is the pod's log; without the file its program fails."""
        if file is not None and file.is_file():
            (self._logs / f"{pod['metadata']['uid']}.log").write_text(file.read_text())
        else:
            self._api.merge(f"{pod_path(pod)}/status", {"status": {"phase": "Failed"}})


_log = logging.getLogger("rehearsal.workloads")
_MODULE: Final = "github.com/aws/karpenter-provider-aws"
_BINARY: Final = "karpenter-aws"
_PORTS: Final = ("HEALTH_PROBE_PORT",)
_SETTINGS: Final[Mapping[str, list[str]]] = yaml.safe_load(Path(__file__).with_name("settings.yaml").read_text())


class Kubelet(WatchingThread):
    """One thread for all simulated nodes, and one per running program. ``programs`` are by repository."""

    def __init__(self, host: Host, programs: Mapping[str, ImageBinary]) -> None:
        super().__init__("kubelet", host.api, "/api/v1/pods")
        self._host = host
        self._programs = programs
        self._saved = SavedOutput(host.api, host.folder / "claims", host.logs)
        self._mps = MpsClients(host.api)
        self._platforms = ImagePlatforms(host.api)
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
        self._mps.note(pod)
        self._platforms.note(pod)
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
    return {KARPENTER: ImageBinary(KARPENTER, version, binary, _PORTS, frozenset(_SETTINGS[KARPENTER]))}
