"""A machine without room, or without its loopback interface, is told before the rehearsal starts."""

from __future__ import annotations

import errno
import socket
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rehearsal.run import options
from rehearsal.run.options import NEEDED_MIB, DiskFull, LoopbackDown


class Usage(NamedTuple):
    free: int


@pytest.mark.parametrize(("free_mib", "enough"), [(NEEDED_MIB - 1, False), (NEEDED_MIB, True)])
def test_too_little_room_is_refused_with_the_place_and_the_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: int, enough: bool
) -> None:
    monkeypatch.setattr(options.shutil, "disk_usage", lambda path: Usage(free_mib * 1024 * 1024))
    if enough:
        options.require_room(tmp_path)
        return
    with pytest.raises(
        DiskFull, match=f"{tmp_path} has {free_mib} MiB of free disk space, a rehearsal needs {NEEDED_MIB}"
    ):
        options.require_room(tmp_path)


@pytest.mark.parametrize(
    ("number", "full"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EACCES, False), (None, False)]
)
def test_only_a_full_disk_is_called_one(number: int | None, full: bool) -> None:
    error = OSError("no answer") if number is None else OSError(number, "no space left on device")
    assert ("the disk is full" in options.words(error)) is full


def test_a_loopback_that_is_down_is_told_with_the_command_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    options.require_loopback()
    monkeypatch.setattr(socket.socket, "connect", _unreachable)
    with pytest.raises(LoopbackDown, match="ip link set lo up"):
        options.require_loopback()


def _unreachable(*arguments: Any) -> None:
    raise OSError(errno.ENETUNREACH, "Network is unreachable")
