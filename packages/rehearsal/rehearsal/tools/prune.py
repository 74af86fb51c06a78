"""Deletes old builds from the cache: of each module all but the newest two, and nothing that is in use."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

_KEPT: Final = 2
"""So that going back and forth between two checkouts builds nothing."""
_BUILD: Final = re.compile(r"(.+)-[0-9a-f]{16}")
_LINKS: Final = "bin"
"""The module's place in the name of a folder that shows the builds of several modules."""


def prune(root: Path, wanted: Collection[Path]) -> list[str]:
    """Delete old builds in the cache ``root``, never those ``wanted``; their names. Call with the lock held."""
    found = {folder: match[1] for folder in root.iterdir() if (match := _BUILD.fullmatch(folder.name))}
    builds: dict[str, list[Path]] = defaultdict(list)
    for folder, module in found.items():
        builds[module].append(folder)
    shown = builds.pop(_LINKS, [])
    kept = {*wanted, *_in_use(found)}
    removed: list[str] = []

    def remove(folders: Iterable[Path]) -> None:
        for folder in folders:
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder.name)

    for folders in builds.values():
        remove(sorted(folders, key=lambda folder: folder.stat().st_mtime, reverse=True)[_KEPT:])
    if removed:
        remove(folder for folder in shown if _leads_nowhere(folder))
    return sorted(removed)


def _leads_nowhere(folder: Path) -> bool:
    """Whether the build is gone that a file of the folder is a hard link to."""
    return any(file.is_file() and not file.is_symlink() and file.stat().st_nlink == 1 for file in folder.iterdir())


def _in_use(folders: Collection[Path]) -> set[Path]:
    """Those that a process runs from, or is told of by its arguments or environment."""
    found: set[Path] = set()
    for process in Path("/proc").glob("[0-9]*"):
        # It may have ended, or be somebody else's.
        with contextlib.suppress(OSError):
            told = bytes((process / "exe").readlink())
            told += (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            found |= {folder for folder in folders if folder.name.encode() in told}
    return found
