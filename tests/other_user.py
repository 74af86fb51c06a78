"""Another user of this machine: connections and files as user 65534 would have them.

As root the child changes its user; else ``sudo`` must work without a password (``sudo --non-interactive``). Where
neither works the test is skipped with a warning, or in a pipeline (``CI``) fails: these tests are about who is refused,
and prove nothing as one's own user.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from types import TracebackType
from typing import Final, NoReturn

import pytest

UID: Final = 65534
_PATIENCE_SECONDS: Final = 600.0

# Sends back the descriptor of what it was asked to open: a socket belongs to the user who made it.
_CHILD: Final = """
import os, socket, sys
asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
asked.connect(sys.argv[1])
os.setgroups([]); os.setresgid(UID, UID, UID); os.setresuid(UID, UID, UID)
asked.send(b"ready")
while order := asked.recv(4096).decode():
    kind, _, where = order.partition(" ")
    try:
        if kind == "tcp":
            port, _, source = where.partition(" ")
            made = socket.socket()  # no name is looked up, which would import modules
            made.bind(("127.0.0.1", int(source)))
            made.connect(("127.0.0.1", int(port)))
        elif kind == "unix":
            folder, _, name = where.rpartition("/")
            made, place = socket.socket(socket.AF_UNIX), os.open(folder, os.O_PATH)
            made.connect(f"/proc/self/fd/{place}/{name}")  # a path may be too long for a socket
        else:
            made = open(where, "rb")
        with made:
            socket.send_fds(asked, [b"made"], [made.fileno()])
    except OSError as error:
        asked.send(str(error.errno).encode())
"""


def _refused(reason: str) -> NoReturn:
    text = f"this test needs root, or sudo without a password: {reason}"
    if os.environ.get("CI"):
        pytest.fail(text)
    warnings.warn(text, stacklevel=2)
    pytest.skip(text)


class OtherUser:
    """A child process of that user; a context manager."""

    def __enter__(self) -> OtherUser:
        sudo = () if os.geteuid() == 0 else ("sudo", "--non-interactive")
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as meeting:
            meeting.bind(place := f"{folder}/s")
            meeting.listen()
            meeting.settimeout(0.2)
            # Isolated and without site-packages: the code runs as root until it has changed its user.
            command = [*sudo, sys.executable, "-I", "-S", "-c", _CHILD.replace("UID", str(UID)), place]
            try:
                self._child = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
                )
            except FileNotFoundError as error:
                _refused(str(error))
            self._socket = self._met(meeting)
        if self._socket.recv(16) != b"ready":
            self._fail()
        return self

    def _met(self, meeting: socket.socket) -> socket.socket:
        while True:
            try:
                connection = meeting.accept()[0]
            except TimeoutError:
                if self._child.poll() is not None:
                    self._fail()
                continue
            connection.settimeout(None)
            return connection

    def _fail(self) -> NoReturn:
        _refused(self._child.communicate()[0])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._socket.close()
        self._child.communicate()

    def connect(self, port: int, source: int = 0) -> socket.socket:
        """A connection of theirs to a port of 127.0.0.1, from the port ``source`` once it is free, or from any."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return socket.socket(fileno=self._make(f"tcp {port} {source}"))
            except OSError as error:
                # The connection that had it before may still be closing.
                if not source or error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def connect_to_file(self, path: str) -> socket.socket:
        """A connection of theirs to a Unix socket. Raises PermissionError."""
        return socket.socket(fileno=self._make(f"unix {path}"))

    def read(self, path: str) -> str:
        """A file as they read it. Raises PermissionError."""
        with os.fdopen(self._make(f"file {path}")) as file:
            return file.read()

    def relay(self, port: int) -> Relay:
        """A port of our own that leads to theirs, for clients that connect by themselves."""
        return Relay(self, port)

    def _make(self, order: str) -> int:
        self._socket.send(order.encode())
        answer, descriptors, _, _ = socket.recv_fds(self._socket, 16, 1)
        if not descriptors:
            raise OSError(int(answer), f"{os.strerror(int(answer))}: {order}")
        return descriptors[0]


class Relay:
    """Passes each connection to its ``port`` on through one of the other user's."""

    def __init__(self, user: OtherUser, target: int) -> None:
        self._user, self._target = user, target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no further connection."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                theirs = self._user.connect(self._target)
                for ends in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=_pass_on, args=ends, daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(65536):
            target.sendall(content)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
