"""The machines' LAN: a bridge in this process's network namespace, with a web server for their package sources."""

from __future__ import annotations

import contextlib
import functools
import http.server
import ipaddress
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

BRIDGE: Final = "lab0"
REPOSITORY_PORT: Final = 8080


def repository_url(interface: ipaddress.IPv4Interface) -> str:
    """Where machines reach their package sources."""
    return f"http://{interface.ip}:{REPOSITORY_PORT}"


@contextlib.contextmanager
def bridge(interface: ipaddress.IPv4Interface, repository: Path) -> Iterator[None]:
    """The bridge with ``interface``'s address, and ``repository`` at port 8080 of it. Enter when isolated."""
    _ip("link", "add", BRIDGE, "type", "bridge")
    _ip("address", "add", str(interface), "dev", BRIDGE)
    _ip("link", "set", BRIDGE, "up")
    handler = functools.partial(_Quiet, directory=str(repository))
    with http.server.ThreadingHTTPServer((str(interface.ip), REPOSITORY_PORT), handler) as server:
        threading.Thread(name="lab-repository", target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            _ip("link", "delete", BRIDGE)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
