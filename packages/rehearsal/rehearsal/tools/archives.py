"""The release archives that need no compiling: ``archives.csv`` pins each by its hash, with the hash's source.

An archive counts only as long as go.mod pins the version that it ``replaces``, so a raised pin is compiled until the
table follows.
"""

from __future__ import annotations

import csv
import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.tools.command import ToolsError
from rehearsal.tools.module import INSTALLER_VERSION, Module, target

TABLE: Final = Path(__file__).resolve().with_name("archives.csv")
ORIGINS: Final = ("auto", "archives", "source")


@dataclass(frozen=True)
class Archive:
    """A ``.tar.gz`` with ``files`` in any folder, or the one program itself; ``digest``: ``sha256:…``, ``sha512:…``."""

    url: str
    digest: str
    files: tuple[str, ...]


@functools.cache
def rows() -> tuple[Mapping[str, str], ...]:
    """The table: column → text."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def archives_of(module: Module) -> tuple[Archive, ...] | str:
    """The archives that hold all ``module.files`` for this machine, or the reason why the module is compiled."""
    own = [row for row in rows() if row["module"] == module.name]
    if reason := next((row["compiled_because"] for row in own if row["compiled_because"]), ""):
        return reason
    system, architecture = target()
    own = [row for row in own if (row["os"], row["arch"]) == (system, architecture)]
    if not own:
        return f"no archive for {system}/{architecture} is pinned"
    for row in own:
        name, version = row["replaces"].split()
        if module.version(name) != version:
            return f"{TABLE.name} has {name} {version}, go.mod {module.version(name)}"
    return tuple(Archive(row["url"], row["digest"], tuple(row["files"].split())) for row in own)


def unpacked_folder(module: Module, archives: tuple[Archive, ...]) -> str:
    """The name of the folder in the cache for what comes from ``archives``; never that of a compiled module."""
    definition = repr([INSTALLER_VERSION, *((each.digest, each.files) for each in archives)])
    return f"{module.name}-release-{hashlib.sha256(definition.encode()).hexdigest()[:16]}"


def origin(environ: Mapping[str, str]) -> str:
    """``$GPUCLUSTER_TOOLS_FROM``: ``auto`` (archives, else compile; the default), ``archives`` or ``source`` alone."""
    value = environ.get("GPUCLUSTER_TOOLS_FROM") or ORIGINS[0]
    if value not in ORIGINS:
        raise ToolsError(f"GPUCLUSTER_TOOLS_FROM={value}: write {', '.join(ORIGINS[:-1])} or {ORIGINS[-1]}")
    return value
