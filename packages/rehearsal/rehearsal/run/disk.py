"""Free disk space: without it a rehearsal fails with unrelated errors."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Final

NEEDED_MIB: Final = 200
"""etcd keeps two write-ahead logs of 64 MiB (https://etcd.io/docs/v3.6/op-guide/hardware/#disks); the rest are logs."""

_MIB: Final = 1024 * 1024


class DiskFull(Exception):
    """Too little disk space; the message says where, and how much is needed."""


def require(folder: Path) -> None:
    """Raise ``DiskFull`` if ``folder`` has too little space for a run."""
    free = shutil.disk_usage(folder).free // _MIB
    if free < NEEDED_MIB:
        raise DiskFull(
            f"{folder} has {free} MiB of free disk space, a rehearsal needs {NEEDED_MIB} MiB: free some space"
        )


def words(error: OSError) -> str:
    """The text of an operating system error, with a remedy if the disk is full."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{error}: the disk is full; a rehearsal needs {NEEDED_MIB} MiB" if full else str(error)
