"""Debian packages made with ``dpkg-deb``: the same input gives the same package."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rehearsal.tools.command import run

ARCHITECTURE: Final = "amd64"
_EPOCH: Final = "1700000000"
"""The time of every file, in seconds since 1970."""


@dataclass(frozen=True)
class Link:
    """A symbolic link to ``target``."""

    target: str


@dataclass(frozen=True)
class Package:
    """One binary package.

    ``files`` maps an absolute path to its content, to a file that is copied, or to a ``Link``; a content that starts
    with ``#!`` and a copied file are executable. ``relations`` are fields such as ``Depends``; ``scripts`` maintainer
    scripts by their names (``postinst``, ``prerm``). Files in /etc are conffiles.
    """

    name: str
    version: str
    summary: str
    files: Mapping[str, str | Path | Link] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """E.g. ``kubelet_1.34.4-1.1_amd64.deb``."""
        return f"{self.name}_{self.version}_{ARCHITECTURE}.deb"

    @property
    def control(self) -> str:
        """https://www.debian.org/doc/debian-policy/ch-controlfields.html"""
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": ARCHITECTURE,
            "Maintainer": "The rehearsal of own machines <rehearsal@example.invalid>",
            **self.relations,
            "Description": f"{self.summary}\n Made for a rehearsal; not the upstream project's package.",
        }
        return "".join(f"{key}: {value}\n" for key, value in fields.items())


def build(package: Package, folder: Path) -> Path:
    """Write ``package`` into ``folder``. Raises ToolsError with dpkg-deb's own words."""
    target = folder / package.file_name
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "root"
        for path, source in package.files.items():
            _place(source, root / path.lstrip("/"))
        control = root / "DEBIAN"
        control.mkdir(parents=True)
        (control / "control").write_text(package.control, encoding="utf-8")
        if conffiles := [path for path in package.files if path.startswith("/etc/")]:
            (control / "conffiles").write_text("".join(f"{path}\n" for path in conffiles), encoding="utf-8")
        for name, script in package.scripts.items():
            _place(script, control / name)
        for directory in (root, *(path for path in root.rglob("*") if path.is_dir())):
            directory.chmod(0o755)
        os.environ.setdefault("SOURCE_DATE_EPOCH", _EPOCH)
        command = ["dpkg-deb", "--build", "--root-owner-group", "-Zgzip", "-z1", str(root), str(target)]
        run(command, f"packing {package.name}", "dpkg-deb comes with Debian and Ubuntu (package dpkg).")
    return target


def _place(source: str | Path | Link, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, Link):
        target.symlink_to(source.target)
    elif isinstance(source, Path):
        shutil.copyfile(source, target)
        target.chmod(0o755)
    else:
        target.write_text(source, encoding="utf-8")
        target.chmod(0o755 if source.startswith("#!") else 0o644)
