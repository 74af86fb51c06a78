"""Deletes from the cache what no run has used for a month."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

_SECONDS: Final = 30 * 24 * 3600
_FOLDER: Final = re.compile(r".+-[0-9a-f]{16}")


def mark_used(folders: Collection[Path]) -> None:
    """Set the time of use, which is the folder's own; nothing changes in a cache that others own."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.utime(folder)


def prune(root: Path) -> list[str]:
    """Delete what is out of use in the cache ``root`` and return the names. Call with the lock held."""
    oldest = time.time() - _SECONDS
    unused = [each for each in root.iterdir() if _FOLDER.fullmatch(each.name) and each.stat().st_mtime < oldest]
    for folder in unused:
        shutil.rmtree(folder, ignore_errors=True)
    return sorted(folder.name for folder in unused)
