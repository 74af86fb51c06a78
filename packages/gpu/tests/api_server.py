"""Clusters that answer over HTTP from a table, and a kubeconfig of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from facts.concepts.offer import Offer, to_config_map

INVENTORY = "/api/v1/namespaces/kube-system/configmaps/gpucluster-pools"


def inventory(offer: Offer) -> dict[str, Any]:
    """A cluster that publishes these pools, and has no node."""
    return {INVENTORY: to_config_map(offer), "/api/v1/nodes": []}


@contextmanager
def serving(objects: Mapping[str, Any], posted: list[Any] | None = None) -> Iterator[str]:
    """The URL of a cluster with objects by path: one, a list, bytes, or the status of a refusal; others are 404. A list
    comes in pages of ``limit``; ``continue`` is the number of those before, and 410 where a page begins with ``None``.

    ``posted`` collects what is posted, where a path has objects.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if posted is not None and not isinstance(objects.get(urlsplit(self.path).path, 404), int):
                posted.append(content)
            self.do_GET()

        def do_GET(self) -> None:
            content = objects.get(urlsplit(self.path).path, 404)
            code = content if isinstance(content, int) else 200
            answer: Any = {"message": "refused"} if code != 200 else content
            if isinstance(content, list):
                asked = dict(parse_qsl(urlsplit(self.path).query))
                first, limit = int(asked.get("continue", 0)), int(asked.get("limit", len(content)))
                rest = {"continue": str(first + limit)} if first + limit < len(content) else {}
                answer = {"metadata": rest, "items": content[first : first + limit]}
                if content[first : first + 1] == [None]:
                    code, answer = 410, {"message": "too old"}
                if "limit" not in asked:
                    answer["items"] = [each for each in content if each is not None]
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_DELETE(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def kubeconfig(file: Path, servers: Mapping[str, str], **contexts: str) -> Path:
    """A kubeconfig with a context per server, the first current, and further ``contexts``: name → its server."""
    all_contexts = {**{name: name for name in servers}, **contexts}
    content = {
        "clusters": [{"name": name, "cluster": {"server": url}} for name, url in servers.items()],
        "users": [{"name": "user", "user": {}}],
        "contexts": [
            {"name": name, "context": {"cluster": server, "user": "user"}} for name, server in all_contexts.items()
        ],
        "current-context": next(iter(servers)),
    }
    file.write_text(yaml.safe_dump(content))
    return file
