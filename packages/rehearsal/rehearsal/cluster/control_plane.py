"""A real Kubernetes control plane on 127.0.0.1: etcd, API server, controller manager, scheduler; kwok as the kubelets.

Admission: the plugins that Kubernetes enables by default
(https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#which-plugins-are-enabled-by-default;
among them Priority, DefaultTolerationSeconds, PodSecurity, ResourceQuota, ValidatingAdmissionPolicy) and
ExtendedResourceToleration, which GKE runs so that pods that request GPUs tolerate the GPU taint
(https://cloud.google.com/kubernetes-engine/docs/how-to/gpus).

Simulated nodes answer to ``kubectl logs``; everything else that needs a running program is refused. The API server asks
the node for it, at the path of a kubelet:
https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/server/server.go
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import yaml

from facts.concepts.kubeconfig import kubeconfig
from facts.concepts.kubernetes import GPU_RESOURCE, RESOURCES
from facts.concepts.rest import resource_path
from rehearsal.cluster import images
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.cluster.pki import NAME, Certificates, make_certificates, private_folder, write_private
from rehearsal.cluster.processes import Child, PortTaken, ProcessError, Processes, free_ports
from rehearsal.simulation import makers_rights

_JOB_LABEL: Final = "batch.kubernetes.io/job-name"
# A body of another kind is an `unknown error` to kubectl.
_REFUSED: Final = {
    "apiVersion": "v1",
    "kind": "Status",
    "status": "Failure",
    "message": "a rehearsal simulates its machines: there is no program to reach",
    "code": HTTPStatus.NOT_IMPLEMENTED,
}


def simulated_line(pod: Object) -> str:
    """The one line that a container of ``pod`` prints; it begins with the name of the pod's Job, or of the pod."""
    name = (pod["metadata"].get("labels") or {}).get(_JOB_LABEL) or pod["metadata"]["name"]
    return (
        f"{name}: a rehearsal simulates its machines, so this program did not run. `sleep 60` ends after 60 seconds, "
        "others after 3, or those of the annotation rehearsal.gpucluster.dev/seconds."
    )


class ContainerLogs(ThreadingHTTPServer):
    """HTTPS on a free port of 127.0.0.1, answered by threads from the start until ``close``.

    A client needs a certificate of the run's authority, as the API server has.
    ``folder`` has a file ``<uid>.log`` for each pod that prints something else than ``simulated_line``. ``find`` reads
    an object by its path.
    """

    daemon_threads = True

    def __init__(self, folder: Path, certificates: Certificates, find: Callable[[str], Object | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.find = find
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.server, certificates.server_key)
        context.load_verify_locations(certificates.ca)
        context.verify_mode = ssl.CERT_REQUIRED
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self.serve_forever, name="container-logs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no longer."""
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    @property
    def _logs(self) -> ContainerLogs:
        assert isinstance(self.server, ContainerLogs)
        return self.server

    def do_GET(self) -> None:
        """A container's log: each line with its time if asked for, without lines before ``sinceTime``."""
        url = urlsplit(self.path)
        kind, *place = url.path.strip("/").split("/")
        if kind != "containerLogs" or len(place) != 3:
            self.do_POST()
            return
        namespace, name, container = place
        try:
            pod = self._logs.find(resource_path("v1", "pods", name, namespace))
        except ApiError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error).encode())
            return
        started = _started(pod or {}, container)
        if pod is None or started is None:
            self._answer(HTTPStatus.BAD_REQUEST, f"container {container} in pod {name} is waiting to start".encode())
            return
        query = parse_qs(url.query)
        file = self._logs.folder / f"{pod['metadata']['uid']}.log"
        lines = file.read_text().splitlines() if file.is_file() else [simulated_line(pod)]
        if started < query.get("sinceTime", [""])[0]:
            lines = []
        if "tailLines" in query:
            lines = lines[max(0, len(lines) - int(query["tailLines"][0])) :]
        before = f"{started} " if query.get("timestamps") == ["true"] else ""
        self._answer(HTTPStatus.OK, "".join(f"{before}{line}\n" for line in lines).encode())

    def do_POST(self) -> None:
        """What needs a running program."""
        self._answer(HTTPStatus.NOT_IMPLEMENTED, json.dumps(_REFUSED).encode(), "application/json")

    def _answer(self, status: HTTPStatus, body: bytes, type: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are logged nowhere."""


def _started(pod: Object, container: str) -> str | None:
    """When the container started; ``None`` if it has not."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    states = (state for each in statuses if each["name"] == container for state in (each.get("state") or {}).values())
    return next((state["startedAt"] for state in states if state.get("startedAt")), None)


_HERE: Final = Path(__file__).parent
STAGES: Final = _HERE / "stages"
_FLAGS: Final[Mapping[str, list[str]]] = yaml.safe_load((_HERE / "flags.yaml").read_text())
SERVICE_IP: Final = "10.96.0.1"
"""The first address of the services' range in ``flags.yaml``."""

_DEFAULT_SERVICE_ACCOUNT: Final = "/api/v1/namespaces/default/serviceaccounts/default"
_PROGRAMS: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
_CARRIED: Final = "CARRIED_IMAGES"
"""Stands in the stages for the images that kwok leaves to ``rehearsal/workloads``."""
_KUBELET_PORT: Final = "KUBELET_PORT"
"""Stands in the stages for the one port at which every node's kubelet answers."""
_KWOK_STARTED: Final = "Watch all nodes"

_ATTEMPTS: Final = 5
_READY_SECONDS: Final = 240.0

# user → groups; every component authenticates as the RBAC user that Kubernetes' bootstrap roles expect. Who is in
# system:masters is asked for no right, so only the rehearsal's own are: its observer, its kubelets, its autoscaler.
_USERS: Final = {
    "admin": "system:masters",
    "cluster-user": "",
    "developer": "",
    "kwok": "system:masters",
    "autoscaler": "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}


class ControlPlane:
    """One control plane in one folder. A context manager: ready inside the block, gone after it.

    ``admission`` is the file with a cloud's configuration of the API server's admission
    (https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/), ``tools`` the folder with the programs.
    ``processes`` starts the children; without one the control plane makes (and closes) its own. Raises ProcessError: a
    program is missing, dies, or is not ready in time; the message ends with its log.
    """

    def __init__(
        self, run_dir: Path, *, tools: Path, processes: Processes | None = None, admission: Path | None = None
    ) -> None:
        missing = [name for name in _PROGRAMS if not os.access(tools / name, os.X_OK)]
        if missing:
            raise ProcessError(f"{tools} lacks {', '.join(missing)}. Run `make tools` to build the control plane.")
        self._tools = tools.absolute()
        self._admission = admission
        self._folder = private_folder((run_dir / "control-plane").absolute())
        self._owns_processes = processes is None
        self.processes = processes or Processes(run_dir / "logs")
        self._children: list[Child] = []
        self._lock = threading.RLock()
        self._tokens = {user: secrets.token_urlsafe(24) for user in _USERS}
        self._certificates: Certificates = make_certificates(self._folder / "pki", SERVICE_IP)
        self.ca_pem_base64 = base64.b64encode(self._certificates.ca.read_bytes()).decode()
        self.client = {
            "client-certificate-data": base64.b64encode(self._certificates.client.read_bytes()).decode(),
            "client-key-data": base64.b64encode(self._certificates.client_key.read_bytes()).decode(),
        }
        """A user of a kubeconfig, who has all rights."""
        self.kubeconfig = self._folder / "kubeconfig"
        self.port = 0
        self._was_ready = False
        self._api: Api | None = None
        # Bound and not listening: no other process gets the port, and connections are refused.
        self._closed = socket.socket()
        self._closed.bind(("127.0.0.1", 0))
        self.logs = self._folder / "logs"
        self.logs.mkdir(exist_ok=True)
        self._container_logs = ContainerLogs(self.logs, self._certificates, lambda path: self.api.find(path))

    def __enter__(self) -> ControlPlane:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def endpoint(self) -> str:
        """``127.0.0.1:PORT`` of the API server."""
        return f"127.0.0.1:{self.port}"

    @property
    def named_endpoint(self) -> str:
        """The API server by name, where its certificate is the public authority's."""
        return f"{NAME}:{self.port}"

    @property
    def nowhere(self) -> str:
        """``127.0.0.1:PORT`` where nobody answers, ever."""
        return f"127.0.0.1:{self._closed.getsockname()[1]}"

    @property
    def token(self) -> str:
        """The bearer token of the cluster's administrator."""
        return self._tokens["admin"]

    @property
    def user_token(self) -> str:
        """The token that the exec credential plugin of a user's kubeconfig hands out."""
        return self._tokens["cluster-user"]

    @property
    def api(self) -> Api:
        """A client with the administrator's rights, the same until the next start: its connections are kept."""
        api = self._api
        if api is None:
            api = self._api = Api(Kubeconfig(self._cluster, {"token": self.token}))
        return api

    def start(self) -> None:
        """Start an empty cluster; returns when pods can be created. Other ports are tried if one is taken.

        After ``stop`` the new cluster is empty again, at the same endpoint and with the same credentials.
        """
        with self._lock:
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    self._start_once()
                    self._was_ready = True
                    return
                except BaseException as error:
                    self.stop()
                    if not isinstance(error, PortTaken) or attempt == _ATTEMPTS:
                        raise
                    if not self._was_ready:
                        self.port = 0

    def stop(self) -> None:
        """Stop the control plane's processes; the API no longer answers."""
        with self._lock:
            self.processes.stop(*self._children, grace=1.0)
            self._children.clear()

    def close(self) -> None:
        """Stop, and end the process table if it is the control plane's own."""
        self.stop()
        self._container_logs.close()
        self._closed.close()
        if self._owns_processes:
            self.processes.close()

    def kubeconfig_for(self, user: str) -> Path:
        """A kubeconfig with a token of ``user`` (``admin``, ``developer``, ``kwok`` … or a component's RBAC name)."""
        path = self.kubeconfig if user == "admin" else self._folder / f"{user.removeprefix('system:')}.kubeconfig"
        write_private(path, kubeconfig("rehearsal", self._cluster, {"token": self._tokens[user]}))
        return path

    @property
    def _cluster(self) -> dict[str, str]:
        return {"server": f"https://{self.endpoint}", "certificate-authority-data": self.ca_pem_base64}

    def _start_once(self) -> None:
        shutil.rmtree(self._folder / "etcd", ignore_errors=True)
        self.port, self._api = self.port or free_ports(1)[0], None
        for user in ("admin", "developer", "kwok", "system:kube-controller-manager", "system:kube-scheduler"):
            self.kubeconfig_for(user)
        self._write_files()
        self._run("etcd")
        self._run("kube-apiserver")
        api = self.api
        self._wait("the API server", api.ready)
        api.apply_manifest(makers_rights(everything=True))
        self._run("kube-controller-manager")
        self._run("kube-scheduler")
        kwok = self._run("kwok")
        self._wait("kwok", lambda: _KWOK_STARTED in kwok.output())
        # The controller manager makes it; without it the API server refuses every pod.
        self._wait("the default service account", lambda: api.find(_DEFAULT_SERVICE_ACCOUNT) is not None)

    def _run(self, name: str) -> Child:
        values = {**asdict(self._certificates), "folder": self._folder, "port": self.port, "name": NAME}
        flags = [flag.format_map(values) for flag in _FLAGS[name]]
        if name == "kube-apiserver" and self._admission is not None:
            flags.append(f"--admission-control-config-file={self._admission}")
        child = self.processes.start(name, [self._tools / name, *flags], folder=self._folder)
        self._children.append(child)
        return child

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not ready():
            for child in self._children:
                child.check()
            if time.monotonic() > deadline:
                last = self._children[-1]
                raise ProcessError(f"{what} is not ready after {_READY_SECONDS:.0f} s. {last.name}:\n{last.tail()}")
            time.sleep(0.05)

    def _write_files(self) -> None:
        """What the flags name: the users' tokens, the scheduler's configuration, kwok's stages."""
        tokens = (f'{self._tokens[user]},{user},{user},"{group}"\n' for user, group in _USERS.items())
        write_private(self._folder / "tokens.csv", "".join(tokens))
        scheduler = (_HERE / "scheduler.yaml").read_text().format(folder=self._folder)
        (self._folder / "scheduler.yaml").write_text(scheduler)
        parts = {path.name: path.read_text() for path in sorted(STAGES.glob("*.yaml"))}
        gpus = parts.pop("node-gpus.yaml")
        devices = [gpus.replace(GPU_RESOURCE, each).replace("${maker}", maker) for maker, each in RESOURCES.items()]
        text = "---\n".join((*parts.values(), *devices)).replace(_CARRIED, images.expression())
        text = text.replace(_KUBELET_PORT, str(self._container_logs.server_port))
        (self._folder / "stages.yaml").write_text(text)
