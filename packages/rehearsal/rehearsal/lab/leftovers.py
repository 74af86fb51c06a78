"""Which labs are alive on this host, and the removal of what the others left.

A lab holds a lock on its file in ``/run/gpucluster-lab``, which the kernel frees when the process ends in any way.
"""

from __future__ import annotations

import contextlib
import fcntl
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rehearsal.lab import cgroups
from rehearsal.tools import cache

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
            cgroups.remove(lab)
            (registry / lab).unlink(missing_ok=True)


def sweep(registry: Path = REGISTRY) -> list[str]:
    """Remove what dead labs left (processes, cgroups, disks); returns their ids. Living labs are left alone."""
    with _lock(registry):
        return sweep_dead(registry)


def sweep_dead(registry: Path) -> list[str]:
    """``sweep`` for a caller that holds the lock of the registry."""
    dead = sorted(lab for lab in {*cgroups.labs(), *_entries(registry)} if not _alive(registry / lab))
    for lab in dead:
        cgroups.remove(lab)
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
