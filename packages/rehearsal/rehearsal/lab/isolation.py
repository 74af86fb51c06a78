"""What a lab needs of the host, the namespaces that keep it apart from the host, and its cgroups in every hierarchy.

With cgroup v1 each controller is a hierarchy of its own; with v2 there is one. A lab holds a lock on its file in
``/run/gpucluster-lab``, which the kernel frees when the process ends in any way; then others remove what it left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.tools import cache

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
    if missing := missing_controllers():
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


PREFIX: Final = "gpucluster-lab-"
NEEDED: Final = ("cpu", "cpuacct", "cpuset", "memory", "pids")
"""https://kubernetes.io/docs/setup/production-environment/container-runtimes/#cgroup-drivers; v2 has no cpuacct."""

_KILL_SECONDS: Final = 20.0
_COPIED: Final = ("cpuset.cpus", "cpuset.mems")
"""Empty in a new v1 group: no process may enter before they are set."""


@dataclass(frozen=True)
class Hierarchy:
    """A cgroup file system of the host at ``folder``; ``options`` mount it again, ``cgroup2`` stands for v2."""

    folder: Path
    options: str

    @property
    def controllers(self) -> tuple[str, ...]:
        """What it limits."""
        if self.options == "cgroup2":
            return tuple((self.folder / "cgroup.controllers").read_text().split())
        return tuple(self.options.split(","))


def hierarchies(mountinfo: str | None = None) -> tuple[Hierarchy, ...]:
    """All that are mounted, by ``/proc/self/mountinfo`` (https://man7.org/linux/man-pages/man5/proc.5.html)."""
    text = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    mounted: dict[str, Hierarchy] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ")[:3]
        if kind == "cgroup2":
            mounted.setdefault(kind, Hierarchy(Path(before.split()[4]), kind))
        elif kind == "cgroup":
            controllers = ",".join(
                each for each in options.split(",") if each not in ("rw", "ro", "xattr", "clone_children")
            )
            controllers = controllers if not controllers.startswith("name=") else f"none,{controllers}"
            mounted.setdefault(controllers, Hierarchy(Path(before.split()[4]), controllers))
    return tuple(mounted.values())


def version() -> int:
    """1 or 2: where the controllers are."""
    return 2 if len(hierarchies()) == 1 else 1


def missing_controllers() -> list[str]:
    """Controllers that kubelet needs and no hierarchy has."""
    offered = {name for each in hierarchies() for name in each.controllers}
    return [name for name in NEEDED if name not in offered and not (name == "cpuacct" and version() == 2)]


def create(lab: str, machine: str) -> str:
    """The machine's cgroups, ready for processes; lines "folder name options" for files/boot.sh."""
    lines = []
    for hierarchy in hierarchies():
        group = hierarchy.folder
        for part in (f"{PREFIX}{lab}", machine):
            if hierarchy.options == "cgroup2":
                _delegate(group)
            child = group / part
            child.mkdir(exist_ok=True)
            for name in _COPIED if "cpuset" in hierarchy.options.split(",") else ():
                (child / name).write_text((group / name).read_text())
            group = child
        lines.append(f"{group} {hierarchy.folder.name} {hierarchy.options}")
    return "\n".join(lines)


def _delegate(group: Path) -> None:
    """Let the children of a v2 group have its controllers (https://docs.kernel.org/admin-guide/cgroup-v2.html)."""
    for controller in (group / "cgroup.controllers").read_text().split():
        # The root of a hybrid host may have processes that v2 does not account for.
        with contextlib.suppress(OSError):
            (group / "cgroup.subtree_control").write_text(f"+{controller}")


def labs() -> set[str]:
    """Ids of the labs that have a cgroup, alive or left behind."""
    return {group.name.removeprefix(PREFIX) for each in hierarchies() for group in each.folder.glob(f"{PREFIX}*")}


def pids(lab: str, machine: str = "") -> set[int]:
    """Processes in the cgroups of a lab, or of one of its machines."""
    return {
        pid
        for group in _groups(lab, machine)
        for pid in map(int, _read(group / "cgroup.procs").split())
        if pid  # 0: a process of another PID namespace
    }


def remove(lab: str, machine: str = "") -> None:
    """Kill what runs there and remove the cgroups.

    Raises:
        TimeoutError: a process survives SIGKILL, or a group cannot be removed.
    """
    deadline = time.monotonic() + _KILL_SECONDS
    while groups := list(_groups(lab, machine)):
        for pid in pids(lab, machine):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for group in groups:
            with contextlib.suppress(OSError):
                group.rmdir()
        if time.monotonic() > deadline:
            raise TimeoutError(f"{groups[0]} cannot be removed; processes: {sorted(pids(lab, machine)) or 'none'}")
        time.sleep(0.02)


def _groups(lab: str, machine: str) -> Iterator[Path]:
    """Children before their parents."""
    for hierarchy in hierarchies():
        top = hierarchy.folder / f"{PREFIX}{lab}" / machine
        for folder, _, _ in os.walk(top, topdown=False):
            yield Path(folder)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


REGISTRY: Final = Path("/run/gpucluster-lab")
DISKS: Final = "machines"
"""Folder of a lab's folder: all that a lab leaves is in it, or in cgroups."""


@contextlib.contextmanager
def registered(folder: Path, registry: Path = REGISTRY) -> Iterator[str]:
    """Sweep, then yield the id of a new lab in ``folder``, which is alive until the block or the process ends."""
    lab = secrets.token_hex(4)
    with contextlib.ExitStack() as held:
        with _lock(registry):
            sweep_dead(registry)
            entry = held.enter_context((registry / lab).open("x"))
            fcntl.flock(entry, fcntl.LOCK_EX)
            entry.write(str(folder))
            entry.flush()
        try:
            yield lab
        finally:
            remove(lab)
            (registry / lab).unlink(missing_ok=True)


def sweep(registry: Path = REGISTRY) -> list[str]:
    """Remove what dead labs left (processes, cgroups, disks); returns their ids. Living labs are left alone."""
    with _lock(registry):
        return sweep_dead(registry)


def sweep_dead(registry: Path) -> list[str]:
    """``sweep`` for a caller that holds the lock of the registry."""
    dead = sorted(lab for lab in {*labs(), *_entries(registry)} if not _alive(registry / lab))
    for lab in dead:
        remove(lab)
        entry = registry / lab
        if entry.is_file() and (folder := entry.read_text()):
            shutil.rmtree(Path(folder, DISKS), ignore_errors=True)
        entry.unlink(missing_ok=True)
    return dead


def _entries(registry: Path) -> set[str]:
    return {file.name for file in registry.iterdir() if file.name != _LOCK}


def _alive(entry: Path) -> bool:
    if not entry.is_file():
        return False
    with entry.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


_LOCK: Final = "lock"


def _lock(registry: Path) -> contextlib.AbstractContextManager[None]:
    return cache.exclusive(registry / _LOCK, lambda _: None)
