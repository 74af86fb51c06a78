"""The API of a cluster, as one context of a kubeconfig sees it.

kubectl logs in (certificates, tokens, credential plugins, proxies) and serves the API on a socket that only this user
can open: https://kubernetes.io/docs/reference/kubectl/generated/kubectl_proxy/
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import yaml

from machines.errors import OperationError

MANAGER: Final = "gpucluster"
"""The field manager of labels and taints: https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers"""

APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
_FLATTEN: Final = "kubectl config view --minify --flatten --raw"
_FILES: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_SECONDS: Final = 60.0
_START_SECONDS: Final = 20.0

Object = dict[str, Any]


class AnswerError(OperationError):
    """The API server's answer is an error; ``status`` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class ClusterLogin:
    """One context of a kubeconfig: the server's URL, its CA (base64, empty: one that this machine trusts), and a
    kubeconfig with nothing else in it."""

    server: str
    authority: str
    kubeconfig: str

    @classmethod
    def of(cls, content: str, context: str = "") -> ClusterLogin:
        """The context of that name, or the current one. Raises ``OperationError``, which never quotes the content."""
        try:
            loaded = yaml.safe_load(content)
        except yaml.YAMLError:
            loaded = None
        if not isinstance(loaded, dict) or not isinstance(loaded.get("contexts"), list):
            raise OperationError(f"is no kubeconfig; write what `{_FLATTEN}` prints")
        name = context or str(loaded.get("current-context") or "")
        entry = _entry(loaded, "contexts", "context", name)
        cluster = _entry(loaded, "clusters", "cluster", entry.get("cluster"))
        user = _entry(loaded, "users", "user", entry.get("user"))
        files = sorted(key for key in _FILES for each in (cluster, user) if each.get(key))
        if files:
            raise OperationError(
                f"names files of one machine ({', '.join(files)}); write what `{_FLATTEN}` prints: it has their content"
            )
        one = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": entry["cluster"], "cluster": cluster}],
            "users": [{"name": entry["user"], "user": user}],
            "contexts": [{"name": name, "context": entry}],
            "current-context": name,
        }
        authority = str(cluster.get("certificate-authority-data") or "")
        return cls(str(cluster.get("server") or ""), authority, json.dumps(one))


def _entry(loaded: Mapping[str, Any], section: str, kind: str, name: Any) -> Mapping[str, Any]:
    entries = [each for each in loaded.get(section) or () if isinstance(each, dict)]
    for each in entries:
        if each.get("name") == name and isinstance(each.get(kind), dict):
            entry: Mapping[str, Any] = each[kind]
            return entry
    names = ", ".join(sorted(str(each.get("name")) for each in entries)) or "none"
    raise OperationError(f"has no {kind} '{name}'; it has {names}")


class ClusterApi:
    """Objects as plain dicts. Every method may raise ``AnswerError``."""

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path

    def get(self, path: str, **query: str) -> Object:
        """One object, or a list."""
        return self.send("GET", path, query=query)

    def items(self, path: str, **query: str) -> list[Object]:
        """The objects of a list."""
        return list(self.get(path, **query).get("items") or [])

    def send(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        content: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """Any request."""
        connection = _SocketConnection(self._path)
        try:
            url = quote(path) + (f"?{urlencode(query)}" if query else "")
            data = None if body is None else json.dumps(body)
            connection.request(method, url, data, {"Content-Type": content, "Accept": "application/json"})
            response = connection.getresponse()
            text, status = response.read().decode(errors="replace"), response.status
        except (OSError, http.client.HTTPException) as error:
            raise AnswerError(0, f"no answer from the cluster: {error or type(error).__name__}") from None
        finally:
            connection.close()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {}
        if status >= 400 or not isinstance(answer, dict):
            message = answer.get("message") if isinstance(answer, dict) else ""
            raise AnswerError(status, str(message or text.strip() or f"HTTP status {status}"))
        return answer


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


@contextmanager
def connected(access: ClusterLogin) -> Iterator[ClusterApi]:
    """The cluster's API until the end of the block. Raises ``OperationError`` if it cannot be had."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise OperationError("kubectl is not on PATH; install it: https://kubernetes.io/docs/tasks/tools/")
    with tempfile.TemporaryDirectory(prefix="gpucluster-") as folder:
        file, path, log = Path(folder, "kubeconfig"), Path(folder, "api"), Path(folder, "log")
        file.touch(0o600)
        file.write_text(access.kubeconfig, encoding="utf-8")
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                [kubectl, f"--kubeconfig={file}", "proxy", f"--unix-socket={path}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not listens(path):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise OperationError(f"kubectl cannot use the kubeconfig: {log.read_text().strip()[-500:]}")
                time.sleep(0.02)
            yield ClusterApi(path)
        finally:
            process.terminate()
            process.wait()


def listens(path: Path) -> bool:
    """Whether somebody answers there: the socket's file exists a moment before."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == 0
