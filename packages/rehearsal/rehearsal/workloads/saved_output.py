"""Output that simulated containers save in a claim, and the pods that print such a file: a claim is a folder here."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Final

from facts.jobs.job import INDEX_ANNOTATION
from facts.jobs.runner import saved_in
from rehearsal.cluster.api import Api, Object, pod_path
from rehearsal.cluster.container_logs import simulated_line

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
