"""Packs a Helm chart from a Go module, as ``helm package`` would."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from rehearsal.tools.errors import ToolsError
from rehearsal.tools.module import Module, ModuleChart


def pack(module: Module, chart: ModuleChart, source: Path, folder: Path) -> Path:
    """Write the archive of ``chart``, whose Go module lies in ``source``, into ``folder``; same input, same bytes.

    Raises ToolsError if the chart lacks a line that publishing rewrites: then its release script has changed.
    """
    root = source / chart.path
    lines = {
        root / file: {key: module.stamped(value, chart.module) for key, value in rewritten.items()}
        for file, rewritten in chart.lines.items()
    }
    archive = folder / module.archive(chart)
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            content = _rewritten(path, lines.get(path, {})).encode()
            entry = tarfile.TarInfo(f"{chart.name}/{path.relative_to(root).as_posix()}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return archive


def _rewritten(path: Path, lines: Mapping[str, str]) -> str:
    text = path.read_text(encoding="utf-8")
    for key, value in lines.items():
        text, count = re.subn(rf"^{key}:.*$", f"{key}: {value}", text, flags=re.MULTILINE)
        if count != 1:
            raise ToolsError(f"{path}: {count} lines `{key}: …` instead of one; publishing this chart has changed")
    return text
