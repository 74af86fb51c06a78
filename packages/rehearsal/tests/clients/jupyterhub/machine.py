"""What kwok leaves out of a notebook's pod: its program runs here, as a kubelet would run it, on 127.0.0.1."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from packages.rehearsal.tests.clients.jupyterhub.chart import NAMESPACE
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.processes import Child, Processes

PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_LOOK_SECONDS: Final = 0.2
_END_SECONDS: Final = 20.0


@dataclass
class Machine:
    """Runs the programs of the notebooks' pods from the environment ``programs``, each in a folder below ``folder``.

    ``hurry``: seconds that a notebook's settings name pass as much faster. Pods in ``without_files`` run as in an image
    whose server does not look where the files are mounted.
    """

    api: Api
    programs: Path
    folder: Path
    processes: Processes
    hurry: int
    without_files: frozenset[str]
    _runs: dict[str, Child] = field(default_factory=dict[str, Child])
    _started: set[str] = field(default_factory=set[str])
    _error: BaseException | None = None

    def exit_code(self, pod: str) -> int | None:
        """How its program ended, if it has. An error of the machine is one here."""
        if self._error is not None:
            raise self._error
        return self._runs[pod].process.poll()

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Look after the pods until the end."""
        stop = threading.Event()

        def work() -> None:
            try:
                while not stop.wait(_LOOK_SECONDS):
                    self._look()
            except BaseException as error:
                self._error = error

        thread = threading.Thread(target=work, name="machine")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _look(self) -> None:
        pods = {pod["metadata"]["uid"]: pod for pod in self.api.list(PODS) if _runs(pod)}
        for uid in pods.keys() - self._started:
            # As a kubelet waits for the Secrets that a container names.
            if (env := self._environment(pods[uid])) is not None:
                self._started.add(uid)
                self._runs[pods[uid]["metadata"]["name"]] = self._start(pods[uid], env)
        running = {pod["metadata"]["name"]: pod for pod in pods.values()}
        for name, child in list(self._runs.items()):
            code = child.process.poll()
            if name not in running and code is None:
                self.processes.stop(child, grace=_END_SECONDS)
            elif name in running and code == 0:
                # Another code would make a kubelet start it again: restartPolicy is OnFailure.
                assert running[name]["spec"]["restartPolicy"] != "Always"
                self._succeeded(running[name])

    def _environment(self, pod: Object) -> dict[str, str] | None:
        (container,) = pod["spec"]["containers"]
        env = {each["name"]: each["value"] for each in container["env"] if "value" in each}
        for each in container["env"]:
            if (of_secret := each.get("valueFrom", {}).get("secretKeyRef")) is not None:
                secret = self.api.find(f"/api/v1/namespaces/{NAMESPACE}/secrets/{of_secret['name']}")
                if secret is None:
                    return None
                env[each["name"]] = base64.b64decode(secret["data"][of_secret["key"]]).decode()
        return env

    def _start(self, pod: Object, env: dict[str, str]) -> Child:
        (container,) = pod["spec"]["containers"]
        name = pod["metadata"]["name"]
        home = self.folder / name
        home.mkdir(exist_ok=True)
        mounted = self._mount(pod, container, home / "root")
        looked_in = [str(mounted) + directory for directory in _config_path(self.programs)]
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        env |= {"HOME": str(home), "JUPYTER_CONFIG_PATH": os.pathsep.join(looked_in), "PATH": path}
        program, *arguments = [*(container.get("command") or []), *(container.get("args") or [])]
        command = [self.programs / program, *arguments, f"--ServerApp.root_dir={home}"]
        # As root, where the tests are run so; in the image it is somebody else.
        command += ["--allow-root"] if os.geteuid() == 0 else []
        return self.processes.start(name, command, env, may_end=True)

    def _mount(self, pod: Object, container: Object, root: Path) -> Path:
        """The files from Secrets where the container sees them, below ``root``."""
        secrets = {each["name"]: each["secret"] for each in pod["spec"]["volumes"] if "secret" in each}
        mounts = [each for each in container["volumeMounts"] if each["name"] in secrets]
        for mount in mounts if pod["metadata"]["name"] not in self.without_files else []:
            secret = self.api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{secrets[mount['name']]['secretName']}")
            path = root / mount["mountPath"].lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(base64.b64decode(secret["data"][mount["subPath"]]).decode() + self._faster())
        return root

    def _faster(self) -> str:
        return (
            "\nfor section in (c.MappingKernelManager, c.TerminalManager, c.ServerApp):\n"
            "    for name, value in list(section.items()):\n"
            f"        section[name] = max(1, value // {self.hurry}) if type(value) is int else value\n"
        )

    def _succeeded(self, pod: Object) -> None:
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": pod["status"]["startTime"], "finishedAt": now}
        statuses = [
            {**status, "ready": False, "started": False, "state": {"terminated": ended}}
            for status in pod["status"]["containerStatuses"]
        ]
        with contextlib.suppress(ApiError):  # The hub deletes it at the same time.
            path = f"{PODS}/{pod['metadata']['name']}/status"
            self.api.merge(path, {"status": {"phase": "Succeeded", "containerStatuses": statuses}})


def _runs(pod: Object) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _config_path(programs: Path) -> list[str]:
    """Where Jupyter's programs look for settings of all users on any machine."""
    ask = "import json; from jupyter_core.paths import SYSTEM_CONFIG_PATH; print(json.dumps(SYSTEM_CONFIG_PATH))"
    printed = subprocess.run([programs / "python", "-c", ask], capture_output=True, text=True, check=True).stdout
    directories: list[Any] = json.loads(printed)
    return [str(each) for each in directories]
