"""Files that a command writes from data, or with ``--check`` compares."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_or_check(texts: Mapping[Path, str], arguments: Sequence[str], module: str) -> int:
    """The exit code of ``python -m module``: 1 if it only compares, and a file is out of date."""
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    check = "--check" in arguments
    for path in stale:
        if check:
            sys.stderr.write(f"{path.name} is out of date: run `python -m {module}`\n")
        else:
            path.write_text(texts[path], encoding="utf-8")
    return 1 if check and stale else 0
