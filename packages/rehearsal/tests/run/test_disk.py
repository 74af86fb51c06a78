"""A rehearsal says that it has no room before it starts, and that it ran out of it after."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NamedTuple

import pytest

from rehearsal.run import disk
from rehearsal.run.disk import NEEDED_MIB, DiskFull


class Usage(NamedTuple):
    free: int


@pytest.mark.parametrize(("free_mib", "enough"), [(NEEDED_MIB - 1, False), (NEEDED_MIB, True)])
def test_too_little_room_is_refused_with_the_place_and_the_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: int, enough: bool
) -> None:
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda path: Usage(free_mib * 1024 * 1024))
    if enough:
        disk.require(tmp_path)
        return
    with pytest.raises(
        DiskFull, match=f"{tmp_path} has {free_mib} MiB of free disk space, a rehearsal needs {NEEDED_MIB}"
    ):
        disk.require(tmp_path)


@pytest.mark.parametrize(
    ("number", "full"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EACCES, False), (None, False)]
)
def test_only_a_full_disk_is_called_one(number: int | None, full: bool) -> None:
    error = OSError("no answer") if number is None else OSError(number, "no space left on device")
    assert ("the disk is full" in disk.words(error)) is full
