"""What has to be there: each module's folder, what is taken from PATH, and the one folder with all the files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rehearsal.tools import archives, cache, system_pulumi
from rehearsal.tools.module import Module
from rehearsal.tools.modules import MODULES, PREVIEW
from rehearsal.tools.system_pulumi import SystemPulumi


@dataclass(frozen=True)
class BuildPlan:
    """``root`` is the cache; ``pulumi`` the user's own, or the reason why it is not used (empty if not needed).

    ``origin`` is that of ``archives.origin``.
    """

    root: Path
    modules: tuple[Module, ...]
    pulumi: SystemPulumi | str
    origin: str = "auto"

    def home(self, module: Module) -> Path:
        """The folder in the cache that has the module's files, or will: what is installed already comes first."""
        compiled, published = self.root / module.folder, archives.archives_of(module)
        if self.origin == "source" or isinstance(published, str):
            return compiled
        unpacked = self.root / archives.unpacked_folder(module, published)
        if self.origin == "auto" and not missing_from(compiled, module.files):
            return compiled
        return unpacked

    @property
    def sources(self) -> dict[str, Path]:
        """Every binary's name and the file that it is."""
        homes = {module.name: self.home(module) for module in self.modules}
        files = {file: homes[module.name] / file for module in self.modules for file in module.files}
        if isinstance(self.pulumi, SystemPulumi):
            files |= {file: self.pulumi.folder / file for file in system_pulumi.FILES}
        return files

    @property
    def folder(self) -> Path:
        """The one folder with all binaries, each a hard link or a copy; a user's own Pulumi by symbolic link."""
        version = self.pulumi.version if isinstance(self.pulumi, SystemPulumi) else ""
        definition = "\n".join(
            ["hard links", version, *(f"{name} {path}" for name, path in sorted(self.sources.items()))]
        )
        return self.root / f"bin-{hashlib.sha256(definition.encode()).hexdigest()[:16]}"

    def uninstalled(self) -> list[Module]:
        """The modules of which the cache lacks a file."""
        return [module for module in self.modules if missing_from(self.home(module), module.files)]

    def missing(self) -> list[str]:
        """The names that ``folder`` lacks; empty when everything is installed."""
        return missing_from(self.folder, self.sources)


def missing_from(folder: Path, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that are no files in ``folder`` (a broken link is none)."""
    return [name for name in names if not (folder / name).is_file()]


def make_plan(environ: Mapping[str, str] = os.environ, modules: tuple[Module, ...] = MODULES) -> BuildPlan:
    """Look at PATH and at the cache; installs nothing and needs no network. Raises ToolsError for a wrong origin."""
    root = cache.root(environ)
    pulumi: SystemPulumi | str = ""
    if all(module in modules for module in PREVIEW):
        pulumi = system_pulumi.find(environ, root)
    if isinstance(pulumi, SystemPulumi):
        modules = tuple(module for module in modules if module not in PREVIEW)
    return BuildPlan(root, modules, pulumi, archives.origin(environ))
