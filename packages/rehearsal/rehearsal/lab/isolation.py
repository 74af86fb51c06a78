"""What a lab needs of the host, and the namespaces that keep it apart from the host."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rehearsal.lab import cgroups

EXIT_UNAVAILABLE: Final = 3
"""Exit code of a program that cannot have a lab here: not a pass, and not a failure of what is rehearsed."""

_PROGRAMS: Final = ("unshare", "nsenter", "ip", "mount", "pivot_root", "hostname")
_KUBELETS_SHARE: Final = 0.15
_ROOM: Final = 6 << 30  # bytes that the machines write
_OUTSIDE: Final = "GPUCLUSTER_LAB_OUTSIDE"
_NAMESPACES: Final = ("--net", "--mount", "--propagation", "private")


class LabUnavailable(Exception):
    """This host cannot run real machines; the message says what is missing and what to do."""


def isolated() -> bool:
    """Whether this process is in network and mount namespaces made by ``enter`` or ``command``."""
    return os.environ.get(_OUTSIDE) not in (None, _namespaces())


def command(arguments: Sequence[str]) -> list[str]:
    """A command line that runs ``arguments`` in a network and a mount namespace of their own, with loopback up.

    The process stays the same one, so signals to it need no help. Nothing of the host's network can be reached.
    """
    script = f'export {_OUTSIDE}="{_namespaces()}"; ip link set lo up && exec "$@"'
    return ["unshare", *_NAMESPACES, "--", "sh", "-c", script, "sh", *arguments]


def enter() -> None:
    """Start this program again in its own namespaces; returns if it already is. Raises LabUnavailable."""
    require()
    if not isolated():
        line = command((sys.executable, *sys.orig_argv[1:]))
        os.execvp(line[0], line)


def require() -> None:
    """Raise LabUnavailable if the host lacks root, programs, namespaces or cgroups."""
    if os.geteuid() != 0:
        raise LabUnavailable("real machines need root: start this as root (sudo)")
    if sys.platform != "linux":
        raise LabUnavailable("real machines are namespaces of Linux: rehearse on Linux")
    if missing := [each for each in _PROGRAMS if shutil.which(each) is None]:
        raise LabUnavailable(f"not on PATH: {', '.join(missing)}. Install util-linux, iproute2 and hostname")
    probe = ["unshare", *_NAMESPACES, "--pid", "--uts", "--ipc", "--cgroup", "--fork", "true"]
    if error := _failure(probe):
        raise LabUnavailable(
            f"this host does not allow new namespaces ({error}): start this as root on the host itself"
        )
    if missing := cgroups.missing_controllers():
        raise LabUnavailable(
            f"kubelet needs the cgroup controllers {', '.join(missing)}, which this host does not offer. "
            "Run on a host, or in a container, with all controllers mounted and writable"
        )


def require_overlay(folder: Path) -> None:
    """Raise LabUnavailable if the file system of ``folder`` cannot hold a machine's disk. Call when isolated."""
    with tempfile.TemporaryDirectory(dir=folder) as probe:
        lower, upper, work, merged = (Path(probe) / name for name in ("lower", "upper", "work", "merged"))
        for each in (lower, upper, work, merged):
            each.mkdir()
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        if error := _failure(["mount", "-t", "overlay", "overlay", "-o", options, str(merged)]):
            raise LabUnavailable(f"{folder} cannot hold the machines' disks ({error}): use a folder on ext4 or xfs")
        subprocess.run(["umount", str(merged)], check=True)


def require_room(folder: Path) -> None:
    """Raise LabUnavailable if the machines would fill the disk of ``folder`` so far that kubelets delete images.

    They begin below 15 % free: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
    """
    disk = shutil.disk_usage(folder)
    needed = disk.total * _KUBELETS_SHARE + _ROOM
    if disk.free < needed:
        raise LabUnavailable(
            f"the disk of {folder} has {disk.free >> 30} GiB free, the machines need {needed / 2**30:.0f} GiB: "
            "kubelet deletes images and pods where less than 15 % of a disk is free. Free some, then try again"
        )


def _namespaces() -> str:
    return " ".join(str(Path("/proc/self/ns", each).readlink()) for each in ("net", "mnt"))


def _failure(line: Sequence[str]) -> str:
    """The last line that a failing command wrote; empty if it succeeds."""
    answer = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return (
        "" if answer.returncode == 0 else (answer.stdout.strip().splitlines() or [f"exit code {answer.returncode}"])[-1]
    )
