"""API servers with TLS that say who asked, proxies before them, and kubeconfigs that lead there."""

from __future__ import annotations

import base64
import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import trustme

from packages.gpu.tests.api_server import inventory
from packages.gpu.tests.offers import offer, pool

AUTHORITY = trustme.CA()
CLIENT = AUTHORITY.issue_cert("client@example.com")
OBJECTS = inventory(offer(pool("t4-1")))


def encoded(pem: bytes) -> str:
    """Of a field ``…-data``."""
    return base64.b64encode(pem).decode()


@dataclass(frozen=True)
class Asked:
    """One request: its headers, and the name in the client's certificate."""

    headers: Mapping[str, list[str]]
    client: str


@dataclass
class SecureServer:
    """A cluster with one pool. ``refuses``: the status and message for a request, or ``None``; ``headers`` of them."""

    port: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    refuses: Callable[[Asked], tuple[int, str] | None] = lambda asked: None
    requests: list[Asked] = field(default_factory=list)

    @property
    def entry(self) -> dict[str, Any]:
        """The cluster's entry in a kubeconfig."""
        authority = encoded(AUTHORITY.cert_pem.bytes())
        return {"server": f"https://127.0.0.1:{self.port}", "certificate-authority-data": authority}

    def kubeconfig(self, file: Path, user: Mapping[str, Any], **cluster: Any) -> Path:
        """A kubeconfig of this cluster for a user, as JSON; ``cluster`` adds to the cluster's entry."""
        content = {
            "clusters": [{"name": "lab", "cluster": {**self.entry, **cluster}}],
            "users": [{"name": "ada", "user": user}],
            "contexts": [{"name": "here", "context": {"cluster": "lab", "user": "ada"}}],
            "current-context": "here",
        }
        file.write_text(json.dumps(content))
        return file


@contextmanager
def secure_server(name: str = "127.0.0.1") -> Iterator[SecureServer]:
    """Its certificate is for ``name``; a client's certificate is optional."""
    server = SecureServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            peer: Any = self.connection
            subject = (peer.getpeercert() or {}).get("subjectAltName", (("", ""),))
            headers = {key.lower(): self.headers.get_all(key) or [] for key in self.headers}
            asked = Asked(headers, subject[0][1])
            server.requests.append(asked)
            refused = server.refuses(asked)
            code, content = (refused[0], {"message": refused[1]}) if refused else (200, OBJECTS.get(self.path, {}))
            body = json.dumps({"items": content} if isinstance(content, list) else content).encode()
            self.send_response(code)
            for key, value in {"Content-Length": str(len(body)), **(server.headers if refused else {})}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(name).configure_cert(tls)
    AUTHORITY.configure_trust(tls)
    tls.verify_mode = ssl.CERT_OPTIONAL
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        http.socket = tls.wrap_socket(http.socket, server_side=True)
        server.port = http.server_port
        thread = Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


@contextmanager
def proxy(kind: str) -> Iterator[tuple[int, list[str]]]:
    """A proxy, ``http`` or ``socks5``: its port, and what it was asked to reach, with its user."""
    reached: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                Thread(target=_PROXIES[kind], args=(connection, reached), daemon=True).start()

        Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1], reached
        listener.shutdown(socket.SHUT_RDWR)


def _connect(connection: socket.socket, reached: list[str]) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    first, *headers = head.decode().splitlines()
    login = next((line.split()[-1] for line in headers if line.lower().startswith("proxy-authorization")), "")
    target = first.split()[1]
    reached.append(f"{base64.b64decode(login).decode()}@{target}" if login else target)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    _join(connection, ("127.0.0.1", int(target.rpartition(":")[2])))


def _socks(connection: socket.socket, reached: list[str]) -> None:
    """https://datatracker.ietf.org/doc/html/rfc1928"""
    connection.recv(3)
    connection.sendall(b"\x05\x00")
    request = connection.recv(262)
    is_name = request[3] == 3
    host = request[5 : 5 + request[4]].decode() if is_name else socket.inet_ntoa(request[4:8])
    port = int.from_bytes(request[-2:], "big")
    reached.append(f"{host}:{port}")
    connection.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
    _join(connection, ("127.0.0.1", port))


_PROXIES = {"http": _connect, "socks5": _socks}


def _join(client: socket.socket, target: tuple[str, int]) -> None:
    server = socket.create_connection(target)

    def copy(source: socket.socket, sink: socket.socket) -> None:
        while data := source.recv(65536):
            sink.sendall(data)

    Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)
