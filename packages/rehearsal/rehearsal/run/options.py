"""How a rehearsal is run, and what it needs of this machine: room on the disk, and the loopback interface.

Without free disk space a rehearsal fails with unrelated errors. The interface is down in a new network namespace
(``unshare --net``).
"""

from __future__ import annotations

import errno
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.day_two.edits import DayTwoSet
from rehearsal.engine.engine import PolicyPack
from rehearsal.engine.stack import ROOT
from rehearsal.run.upgrade import DeployedVersion
from rehearsal.tools.own_autoscaler import AutoscalerProgram

BUILD: Final = ROOT / "build" / "rehearsal"


@dataclass(frozen=True)
class Options:
    """How to rehearse. ``plugins`` precede simulated ones; ``keep`` leaves the cluster running after a pass.
    ``apply`` is a folder of the user's own manifests; ``seed`` shuffles the order of jobs.
    ``day_two`` changes settings while a job runs: in two updates a few that end no job, or all of them one by one.
    ``account`` is a file with the account's quotas and permissions; without one, nothing is limited.
    ``cluster`` is the program of an existing cluster (a folder or a stack file in it); by default one of the examples.
    ``base`` is the version that is deployed first, and then updated to ``project``.
    ``inside``: the program runs in the cluster's network, as a runner or a laptop with a VPN does; else outside.
    ``autoscaler`` takes the place of the simulated cluster-autoscaler.

    ``fail_fast`` ends the run at the first failure. ``gate=None`` (fault injection) leaves the policies out.
    """

    tools: Path
    gate: PolicyPack | None
    project: Path = ROOT
    base: DeployedVersion | None = None
    plugins: Path | None = None
    keep: bool = False
    apply: Path | None = None
    account: Path | None = None
    cluster: Path | None = None
    seed: int = 0
    day_two: DayTwoSet = "none"
    inside: bool = False
    fail_fast: bool = False
    autoscaler: AutoscalerProgram | None = None
    build: Path = BUILD


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
