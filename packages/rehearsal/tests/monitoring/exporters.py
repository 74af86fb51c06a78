"""What Prometheus asks in a real cluster and nobody answers in a rehearsed one: every exporter, behind one proxy.

Simulated pods have addresses where nothing listens. Prometheus asks for ``http://<pod>:<port>/metrics`` all the same,
through this proxy.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

from components.clouds.gpu_exporter import PORT
from packages.rehearsal.tests.monitoring import discovery, gpu_metrics, state_metrics
from packages.rehearsal.tests.monitoring.exposition import text
from rehearsal.cluster.api import Api, Object

STATE_METRICS: Final = "kube-state-metrics"
"""The replacement's name: no pod of the chart runs."""

_FRESH_SECONDS: Final = 0.2
_DISCOVERY: Final = "/pods"
_EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"


class NobodyThere(Exception):
    """Nothing would answer at that address."""


class Exporters:
    """Answers Prometheus from what the API server says at that moment; a context manager.

    ``node_labels`` is the chart's ``metricLabelsAllowlist`` for nodes; ``use`` tells how busy a pod's GPUs are, in
    percent by its name.
    """

    def __init__(self, api: Api, node_labels: Sequence[str], use: Callable[[str], float]) -> None:
        self._api, self._node_labels, self._use = api, node_labels, use
        self._lock, self._listed = threading.Lock(), float("-inf")
        self._objects: tuple[list[Object], list[Object]] = ([], [])
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._answer))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Exporters:
        threading.Thread(target=self._server.serve_forever, name="exporters", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def discovery(self, asked: Mapping[str, Any]) -> str:
        """Where Prometheus asks for the pods that an entry of ``kubernetes_sd_configs`` would find."""
        return f"{self.url}{_DISCOVERY}?asked={quote(json.dumps(asked))}"

    def _nodes_and_pods(self) -> tuple[list[Object], list[Object]]:
        """All nodes and pods as they were a moment ago, listed once for scrapes at the same time."""
        with self._lock:
            if time.monotonic() - self._listed > _FRESH_SECONDS:
                nodes, pods = (self._api.list(f"/api/v1/{kind}", resourceVersion="0") for kind in ("nodes", "pods"))
                self._objects, self._listed = (nodes, pods), time.monotonic()
            return self._objects

    def _answer(self, url: str) -> tuple[str, str]:
        where = urlsplit(url)
        nodes, pods = self._nodes_and_pods()
        by_name = {node["metadata"]["name"]: node for node in nodes}
        if where.path == _DISCOVERY:
            (asked,) = parse_qs(where.query)["asked"]
            return "application/json", json.dumps([*discovery.targets(pods, by_name, json.loads(asked))])
        if where.hostname == STATE_METRICS:
            return _EXPOSITION, text(state_metrics.samples(nodes, pods, self._node_labels))
        for pod in pods:
            node = by_name.get(pod["spec"].get("nodeName", ""))
            if node is not None and where.port == PORT and pod["metadata"]["uid"] == where.hostname:
                there = [one for one in pods if one["spec"].get("nodeName") == node["metadata"]["name"]]
                return _EXPOSITION, text(gpu_metrics.samples(node, there, self._use))
        raise NobodyThere(url)


def _handler(answer: Callable[[str], tuple[str, str]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                code, (kind, body) = 200, answer(self.path)
            except NobodyThere as error:
                code, kind, body = 504, "text/plain", f"nobody answers at {error}"
            with contextlib.suppress(
                ConnectionError
            ):  # Prometheus waits for an answer as long as it may take, no longer.
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads a line per scrape."""

    return Handler
