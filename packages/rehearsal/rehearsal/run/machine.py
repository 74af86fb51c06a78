"""What a rehearsal needs of this machine: room on the disk, and the loopback interface by which all of it talks.

Without free disk space a rehearsal fails with unrelated errors. The interface is down in a new network namespace
(``unshare --net``).
"""

from __future__ import annotations

import errno
import shutil
import socket
from pathlib import Path
from typing import Final

NEEDED_MIB: Final = 200
"""etcd keeps two write-ahead logs of 64 MiB (https://etcd.io/docs/v3.6/op-guide/hardware/#disks); the rest are logs."""

_MIB: Final = 1024 * 1024


class DiskFull(Exception):
    """Too little disk space; the message says where, and how much is needed."""


def require_room(folder: Path) -> None:
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


class LoopbackDown(Exception):
    """127.0.0.1 cannot be reached; the message says what to do."""


def require_loopback() -> None:
    """Raise ``LoopbackDown`` if 127.0.0.1 cannot be reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent: connecting a datagram socket only looks up the route.
            probe.connect(("127.0.0.1", 9))
        except OSError as error:
            if error.errno != errno.ENETUNREACH:
                raise
            command = "`ip link set lo up` as root, in this network namespace"
            raise LoopbackDown(f"127.0.0.1 cannot be reached: the loopback interface is down. Run {command}") from error
