"""A Pulumi project that is the checkout except for its program."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_EXCLUDED: Final = frozenset({"__main__.py", "build", ".git", ".pytest_cache", ".ruff_cache"})


@contextmanager
def changed_project(program: str, folder: Path, root: Path) -> Iterator[Path]:
    """A project directory in ``folder`` of symbolic links into ``root``, with ``program`` as its ``__main__.py``."""
    folder.mkdir(parents=True, exist_ok=True)
    project = Path(tempfile.mkdtemp(prefix="project-", dir=folder))
    try:
        for entry in root.iterdir():
            if entry.name not in _EXCLUDED:
                (project / entry.name).symlink_to(entry)
        (project / "__main__.py").write_text(program)
        yield project
    finally:
        shutil.rmtree(project, ignore_errors=True)
