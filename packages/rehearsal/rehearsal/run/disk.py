"""Room on the disk: a rehearsal that runs out of it fails in places that do not say so."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Final

NEEDED_MIB: Final = 200
"""etcd keeps two write-ahead logs of 64 MiB (https://etcd.io/docs/v3.6/op-guide/hardware/#disks); the rest are logs."""

_MIB: Final = 1024 * 1024


class DiskFull(Exception):
    """There is too little room; the message says where, and how much is needed."""


def require(folder: Path) -> None:
    """Raise ``DiskFull`` if a run in ``folder`` would not have room."""
    free = shutil.disk_usage(folder).free // _MIB
    if free < NEEDED_MIB:
        raise DiskFull(
            f"{folder} has {free} MiB of free disk space, a rehearsal needs {NEEDED_MIB} MiB: free some space"
        )


def words(error: OSError) -> str:
    """An error of the operating system, and what to do where the disk is full."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{error}: the disk is full; a rehearsal needs {NEEDED_MIB} MiB" if full else str(error)
