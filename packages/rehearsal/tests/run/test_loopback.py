"""In a network namespace without a route, and with its loopback down, a rehearsal makes do or says what to do."""

from __future__ import annotations

import fcntl
import socket
import subprocess
import sys
from typing import Any, Final

import pytest

from rehearsal.run import loopback
from rehearsal.run.loopback import LoopbackDown

ALONE: Final = ["unshare", "--net", "--map-root-user", "--"]
CONNECT: Final = "here = socket.create_server(('127.0.0.1', 0)); socket.create_connection(here.getsockname(), 60)"


def test_a_loopback_that_is_down_is_brought_up() -> None:
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no network namespace of one's own")
    assert "unreachable" in _python(CONNECT)
    assert _python(f"loopback.require(); {CONNECT}; print('connected')") == "connected\n"


def test_one_that_is_up_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "ioctl", _refuse)
    loopback.require()


def test_a_user_without_permission_gets_the_command_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "ioctl", _refuse)
    monkeypatch.setattr(socket.socket, "connect", _unreachable)
    with pytest.raises(LoopbackDown, match="ip link set lo up"):
        loopback.require()


def _python(program: str) -> str:
    command = [*ALONE, sys.executable, "-c", f"import socket; from rehearsal.run import loopback; {program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.stdout + done.stderr


def _refuse(*arguments: Any) -> None:
    raise PermissionError(1, "Operation not permitted")


def _unreachable(*arguments: Any) -> None:
    raise OSError(101, "Network is unreachable")
