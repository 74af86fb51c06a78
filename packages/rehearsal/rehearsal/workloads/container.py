"""One container whose program really runs, as its pod specifies: start, probes, restarts, end, and the pod's status."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import urllib3
from urllib3.exceptions import HTTPError

from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, ApiError, Object, pod_path, timestamp, warn
from rehearsal.cluster.images import Image, ImageBinary
from rehearsal.cluster.processes import Child, ProcessError, Processes, free_ports
from rehearsal.simulation import PROGRAM_FAILED, Injector
from rehearsal.workloads import environment as environments

_MINE: Final = ("Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers")


@dataclass(frozen=True)
class Ended:
    """How the container ended last: exit code (128 plus the number of a signal), and the end of its log."""

    code: int
    words: str


@dataclass(frozen=True)
class ContainerState:
    """The container's state: ``running``, ``ready`` by its probe; or the reason for ``waiting``, with a message."""

    running: bool = False
    ready: bool = False
    waiting: str = ""
    message: str = ""
    restarts: int = 0
    last: Ended | None = None


def pod_status(pod: Object, container: str, state: ContainerState) -> Object:
    """The pod's whole status as a merge patch; conditions of other writers are preserved.

    Its other containers are simulated, and run as soon as the real one does.
    """
    now = timestamp()
    before = pod.get("status") or {}
    others = [each for each in before.get("conditions") or () if each["type"] not in _MINE]
    started = before.get("startTime") or now
    statuses = [
        _container_status(
            each, state if each["name"] == container else ContainerState(state.running, state.running), now
        )
        for each in pod["spec"]["containers"]
    ]
    ready = all(each["ready"] for each in statuses)
    return {
        "phase": "Running" if state.running or state.restarts else "Pending",
        "startTime": started,
        "hostIP": "127.0.0.1",
        "conditions": [
            *others,
            _condition("Initialized", True, now),
            _condition("ContainersReady", ready, now),
            _condition("Ready", ready, now),
        ],
        "containerStatuses": statuses,
    }


def _container_status(container: Object, state: ContainerState, now: str) -> Object:
    current: dict[str, Any] = {"running": {"startedAt": now}}
    if not state.running:
        current = {"waiting": {"reason": state.waiting or "ContainerCreating", "message": state.message}}
    last = {}
    if state.last is not None:
        ended = {"exitCode": state.last.code, "reason": "Error", "message": state.last.words, "finishedAt": now}
        last = {"terminated": ended}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": state.running and state.ready,
        "started": state.running,
        "restartCount": state.restarts,
        "state": current,
        "lastState": last,
    }


def _condition(type: str, true: bool, now: str) -> Object:
    reason = {} if true else {"reason": "ContainersNotReady"}
    return {"type": type, "status": "True" if true else "False", "lastTransitionTime": now, **reason}


_PROBE_SECONDS: Final = 0.5
_PROBE_TIMEOUT: Final = 5.0
_LONGEST_BACKOFF: Final = 8.0
"""Kubelets wait 10 s, 20 s … 5 min between restarts; here 1 s, 2 s … 8 s."""

_SLOWEST_START: Final = 300.0
"""Seconds after which a program that has not been alive yet is restarted."""

_LAST_LINES: Final = 5
_DEFAULT_GRACE: Final = 30.0
_log = logging.getLogger("rehearsal.workloads")


@dataclass(frozen=True)
class Host:
    """Properties that all containers on this machine share. ``folder`` holds one folder per pod, ``logs`` what
    simulated pods print (``ContainerLogs``)."""

    api: Api
    api_server: str
    ca_pem_base64: str
    processes: Processes
    folder: Path
    logs: Path
    injector: Injector


class Container(threading.Thread):
    """The program of one pod, from the moment it is bound until it is deleted. ``program`` is ``None`` if the tools
    have no binary for the image."""

    def __init__(self, host: Host, pod: Object, container: Object, program: ImageBinary | None) -> None:
        super().__init__(name=f"pod-{pod['metadata']['name']}", daemon=True)
        self._host = host
        self._pod = pod
        self._path = pod_path(pod)
        self._container = container
        self._program = program
        self._ending = threading.Event()
        self._grace: float | None = None
        self._child: Child | None = None
        self._ports: dict[int, int] = {}
        self._tokens: list[environments.TokenFile] = []
        self._state = ContainerState(waiting="ContainerCreating")
        self._written: ContainerState | None = None
        self._message = ""
        self._unhealthy_since: float | None = None
        self._was_alive = False
        self._http = urllib3.PoolManager(retries=False, timeout=_PROBE_TIMEOUT)

    def end(self, grace: float | None) -> None:
        """Stop the program within ``grace`` seconds (``None``: the pod's grace period); returns at once."""
        self._grace = grace
        self._ending.set()

    def run(self) -> None:
        """The thread's loop."""
        restarts = 0
        try:
            while not self._ending.is_set():
                if not self._begin():
                    self._ending.wait(1.0)
                    continue
                self._watch()
                if self._ending.is_set():
                    break
                restarts += 1
                self._crashed(restarts)
                self._ending.wait(min(2.0 ** (restarts - 1), _LONGEST_BACKOFF))
        except Exception:
            _log.exception("pod %s", self._where)
        finally:
            self._finish()

    @property
    def _where(self) -> str:
        return f"{self._pod['metadata']['namespace']}/{self._pod['metadata']['name']}"

    def _begin(self) -> bool:
        """Start the process; ``False`` if that is not possible yet, with the reason in the pod's status."""
        image = self._container["image"]
        tag = Image.parse(image).tag
        if self._program is None:
            return self._hold("ErrImagePull", f"{image}: the rehearsal has no program for this image: run `make tools`")
        if tag != self._program.version:
            return self._hold(
                "ErrImagePull",
                f"{image}: the rehearsal has version {self._program.version}, not {tag or 'one without a tag'}",
            )
        try:
            self._child = self._launch(self._program)
        except environments.EnvironmentProblem as problem:
            return self._hold("CreateContainerConfigError", str(problem))
        except (ApiError, HTTPError, ProcessError, OSError) as error:
            return self._hold("RunContainerError", str(error))
        self._unhealthy_since, self._was_alive = None, False
        self._set(ContainerState(running=True, restarts=self._state.restarts, last=self._state.last))
        return True

    def _launch(self, program: ImageBinary) -> Child:
        host, metadata = self._host, self._pod["metadata"]
        namespace = metadata["namespace"]
        folder = host.folder / metadata["uid"]
        folder.mkdir(parents=True, exist_ok=True)

        def find(plural: str, name: str) -> Object | None:
            return host.api.find(resource_path("v1", plural, name, namespace))

        node = host.api.get(f"/api/v1/nodes/{self._pod['spec']['nodeName']}")
        declared = environments.environment(self._pod, self._container, find, node)
        injected = host.injector(namespace, self._pod["spec"].get("serviceAccountName") or "default")
        own = environments.TokenFile(host.api, self._pod, folder / "token")
        self._tokens = [own]
        cloud = None
        if injected.token_audience:
            cloud = environments.TokenFile(host.api, self._pod, folder / "cloud-token", injected.token_audience)
            self._tokens.append(cloud)
        for token in self._tokens:
            token.renew()
        kubeconfig = folder / "kubeconfig"
        environments.write_kubeconfig(
            kubeconfig,
            api_server=host.api_server,
            ca_pem_base64=host.ca_pem_base64,
            namespace=namespace,
            token=own.path,
        )
        variables, self._ports = environments.substitute(
            declared,
            program,
            environments.ProcessFiles(
                folder=folder, kubeconfig=kubeconfig, tokens=None if cloud is None else cloud.path
            ),
            api_server=host.api_server,
            namespace=namespace,
            injected=injected,
            free_ports=free_ports,
        )
        command = [program.binary, *environments.arguments(self._container, declared, program)]
        return host.processes.start(f"pods/{metadata['name']}", command, variables, may_end=True)

    def _watch(self) -> None:
        """Probe until the process ends, must stop, or fails its liveness probe."""
        assert self._child is not None
        while not self._ending.wait(_PROBE_SECONDS):
            if self._child.process.poll() is not None:
                return
            for token in self._tokens:
                token.renew()
            ready = self._answers("readinessProbe")
            self._set(ContainerState(True, ready, restarts=self._state.restarts, last=self._state.last))
            if self._is_dead():
                self._host.processes.stop(self._child, grace=self._seconds_to_end())
                return

    def _answers(self, kind: str) -> bool:
        """Whether a probe succeeds; true without such a probe, or if its kind is not simulated."""
        probe = self._container.get(kind)
        url = None if probe is None else environments.probe_url(probe, self._container, self._ports)
        if url is None:
            return True
        try:
            return bool(200 <= self._http.request("GET", url).status < 400)
        except HTTPError:
            return False

    def _is_dead(self) -> bool:
        probe = self._container.get("livenessProbe")
        if probe is None or self._answers("livenessProbe"):
            self._unhealthy_since, self._was_alive = None, True
            return False
        now = time.monotonic()
        if self._unhealthy_since is None:
            self._unhealthy_since = now
        # A kubelet allows that many seconds of failures; this machine may be slow to start a program.
        patience = float((probe.get("failureThreshold") or 3) * (probe.get("periodSeconds") or 10))
        return now - self._unhealthy_since > (patience if self._was_alive else _SLOWEST_START)

    def _crashed(self, restarts: int) -> None:
        assert self._child is not None
        code = self._child.process.returncode
        words = self._child.tail(_LAST_LINES)
        self._host.processes.stop(self._child)
        self._child = None
        last = Ended(code if code >= 0 else 128 - code, words)
        self._set(ContainerState(waiting="CrashLoopBackOff", restarts=restarts, last=last))
        self._say(f"its program ended with exit code {last.code}; the log ends with:\n{words}")

    def _hold(self, reason: str, message: str) -> bool:
        self._set(ContainerState(waiting=reason, message=message, restarts=self._state.restarts, last=self._state.last))
        self._say(f"{reason}: {message}")
        return False

    def _say(self, message: str) -> None:
        """An event about the pod, unless it repeats the previous one."""
        if message == self._message:
            return
        self._message = message
        _log.warning("pod %s: %s", self._where, message)
        try:
            warn(self._host.api, self._pod, PROGRAM_FAILED, message)
        except (ApiError, HTTPError) as error:
            _log.info("no event about pod %s: %s", self._where, error)

    def _set(self, state: ContainerState) -> None:
        """Write the state into the pod's status, if it has changed."""
        self._state = state
        if state == self._written:
            return
        try:
            live = self._live()
            if live is not None:
                status = pod_status(live, self._container["name"], state)
                self._host.api.merge(f"{self._path}/status", {"status": status})
            self._written = state
        except (ApiError, HTTPError) as error:
            # The next check writes it.
            _log.info("status of pod %s: %s", self._where, error)

    def _live(self) -> Object | None:
        """The current pod; ``None`` if it is deleted."""
        live = self._host.api.find(self._path)
        return live if live is not None and live["metadata"]["uid"] == self._pod["metadata"]["uid"] else None

    def _seconds_to_end(self) -> float:
        if self._grace is not None:
            return self._grace
        return float(self._pod["spec"].get("terminationGracePeriodSeconds") or _DEFAULT_GRACE)

    def _finish(self) -> None:
        if self._child is not None:
            self._host.processes.stop(self._child, grace=self._seconds_to_end())
            self._child = None
        try:
            live = self._live()
            if live is not None and live["metadata"].get("deletionTimestamp"):
                self._host.api.delete(self._path, gracePeriodSeconds=0)
        except (ApiError, HTTPError) as error:
            _log.info("end of pod %s: %s", self._where, error)


def program_container(pod: Object, repository: str) -> Object:
    """The pod's container whose image is of a repository with a program."""
    containers: list[Any] = [each for each in pod["spec"]["containers"] if Image.parse(each["image"]).is_of(repository)]
    return dict(containers[0])
