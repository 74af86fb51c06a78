"""The machines' LAN: a bridge in this process's network namespace, with a web server for their package sources."""

from __future__ import annotations

import functools
import http.server
import ipaddress
import subprocess
import threading
from pathlib import Path
from typing import Any, Final

BRIDGE: Final = "lab0"
REPOSITORY_PORT: Final = 8080


class Lan:
    """The bridge with ``interface``'s address, and the folder ``repository`` at port 8080 of it."""

    def __init__(self, interface: ipaddress.IPv4Interface, repository: Path) -> None:
        self.interface = interface
        self._repository = repository
        self._server: http.server.ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        """Where machines reach the repository."""
        return f"http://{self.interface.ip}:{REPOSITORY_PORT}"

    def start(self) -> None:
        """Make the bridge and serve. Call when isolated."""
        _ip("link", "add", BRIDGE, "type", "bridge")
        _ip("address", "add", str(self.interface), "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        handler = functools.partial(_Quiet, directory=str(self._repository))
        self._server = http.server.ThreadingHTTPServer((str(self.interface.ip), REPOSITORY_PORT), handler)
        threading.Thread(name="lab-repository", target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """End the server and remove the bridge."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            _ip("link", "delete", BRIDGE)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
