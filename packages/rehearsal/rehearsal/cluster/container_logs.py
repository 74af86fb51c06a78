"""What the simulated nodes answer to ``kubectl logs``; everything else that needs a running program is refused.

The API server asks the node for it, at the path of a kubelet:
https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/kubelet/server/server.go
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from facts.concepts.rest import resource_path
from rehearsal.cluster.api import ApiError, Object
from rehearsal.cluster.pki import Certificates

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
