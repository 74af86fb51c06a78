"""The folder outside the checkout that keeps the tools: one at a time writes, and only whole folders appear.

Everything in it can be deleted at any time; the next run builds it again.
"""

from __future__ import annotations

import contextlib
import fcntl
import grp
import os
import pwd
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from rehearsal.tools.progress import NoSpace, ToolsError

GIB: Final = 1024**3
TEMPORARY: Final = "tmp-"
_UNUSED_SECONDS: Final = 30 * 24 * 3600
_FOLDER: Final = re.compile(r".+-[0-9a-f]{16}")


def root(environ: Mapping[str, str] = os.environ) -> Path:
    """``$GPUCLUSTER_CACHE``, else ``$XDG_CACHE_HOME/gpucluster``, else ``~/.cache/gpucluster``.

    Raises ToolsError: another user may write there, and the programs in it are run.
    """
    if own := environ.get("GPUCLUSTER_CACHE"):
        return _trusted(Path(own).expanduser().resolve())
    caches = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return _trusted((Path(caches) / "gpucluster").resolve())


def _trusted(folder: Path) -> Path:
    try:
        found = folder.stat()
    except OSError:
        return folder  # it is not there yet, or cannot be used, which the first who writes there says
    if found.st_uid not in (os.geteuid(), 0):
        whose = f"belongs to user {found.st_uid}"
    elif found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not _own_group(found)):
        whose = "may be written by other users"
    else:
        return folder
    raise ToolsError(
        f"{folder} {whose}, who could put programs there that you would run. Set GPUCLUSTER_CACHE to a folder that "
        "does not exist yet, or empty this one and run chmod go-w on it."
    )


def _own_group(folder: os.stat_result) -> bool:
    """Whether the folder's group has nobody else: root's, or the one that Debian makes for each user."""
    try:
        return folder.st_gid == 0 or grp.getgrgid(folder.st_gid).gr_name == pwd.getpwuid(folder.st_uid).pw_name
    except KeyError:
        return False


@contextlib.contextmanager
def exclusive(path: Path, wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file ``path``; ``wait`` gets the holder's name if it is held. Freed when the process dies."""
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        handle = os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644), "a+")
    except OSError as error:
        raise ToolsError(f"{path.parent}: {error.strerror}. Set GPUCLUSTER_CACHE to a writable folder.") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            wait(handle.read().strip() or "another process")
            fcntl.flock(handle, fcntl.LOCK_EX)
        handle.seek(0)
        handle.truncate()
        handle.write(f"process {os.getpid()}")
        handle.flush()
        yield


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Fill a temporary folder that becomes ``folder`` in one step at the end, or disappears on any error."""
    temporary = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{folder.name}-", dir=folder.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_leftovers(cache: Path) -> list[str]:
    """Delete what killed runs left behind and return the names. Call with the lock held."""
    leftovers = sorted(cache.glob(f"{TEMPORARY}*"))
    for leftover in leftovers:
        shutil.rmtree(leftover, ignore_errors=True)
    return [leftover.name for leftover in leftovers]


def require_space(needs: Mapping[Path, float]) -> None:
    """Raise NoSpace if a disk has less free than the GiB that its folders in ``needs`` ask for together."""
    disks: dict[int, list[Path]] = {}
    for folder in needs:
        disks.setdefault(_existing(folder).stat().st_dev, []).append(folder)
    for folders in disks.values():
        needed = sum(needs[folder] for folder in folders)
        free = shutil.disk_usage(_existing(folders[0])).free / GIB
        if free < needed:
            raise NoSpace(
                f"no room to build the tools: {needed:.1f} GiB are needed for {', '.join(map(str, folders))}, "
                f"{free:.1f} GiB are free. Free some (`go clean -cache -modcache`, old folders in {folders[0]}), "
                "or point GPUCLUSTER_CACHE, GOCACHE and GOMODCACHE to a larger disk."
            )


def _existing(folder: Path) -> Path:
    return next(parent for parent in (folder, *folder.parents) if parent.exists())


def mark_used(folders: Collection[Path]) -> None:
    """Set the time of use, which is the folder's own; nothing changes in a cache that others own."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.utime(folder)


def prune(root: Path) -> list[str]:
    """Delete what no run has used for a month in the cache ``root``; returns the names. Call with the lock held."""
    oldest = time.time() - _UNUSED_SECONDS
    unused = [each for each in root.iterdir() if _FOLDER.fullmatch(each.name) and each.stat().st_mtime < oldest]
    for folder in unused:
        shutil.rmtree(folder, ignore_errors=True)
    return sorted(folder.name for folder in unused)
