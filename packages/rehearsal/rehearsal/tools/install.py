"""Installs what the plan lacks: release archives where they can be had, else Go builds; one folder links to it all."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.tools import build, cache
from rehearsal.tools.download import Downloads, Unavailable, archives_of, origin, unpacked_folder
from rehearsal.tools.modules import MODULES, PREVIEW, Module
from rehearsal.tools.progress import Progress, ToolsError, duration

OLDEST: Final = (3, 200)
"""The oldest CLI that the rehearsal is known to work with."""

FILES: Final = tuple(file for module in PREVIEW for file in module.files)
"""The CLI and the plugins that a Python program with a policy pack needs beside it.

Releases since 3.221 lack ``pulumi-analyzer-policy-python`` and start packs another way, with which no rehearsal has run
yet, so they are passed over: https://github.com/pulumi/pulumi/pull/21684.
"""


@dataclass(frozen=True)
class SystemPulumi:
    """An installed Pulumi: ``folder`` holds all ``FILES``."""

    folder: Path
    version: str


def find_pulumi(environ: Mapping[str, str], cache: Path) -> SystemPulumi | str:
    """The first Pulumi on PATH that is not one of ours (in ``cache``), or a sentence saying why it cannot be used."""
    for folder in filter(None, environ.get("PATH", "").split(os.pathsep)):
        command = Path(folder) / "pulumi"
        if os.access(command, os.X_OK) and command.is_file() and not command.resolve().is_relative_to(cache):
            return _check(command, environ)
    return "no pulumi on PATH"


def _check(command: Path, environ: Mapping[str, str]) -> SystemPulumi | str:
    try:
        answer = subprocess.run(
            [str(command), "version"],
            env={**environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
            capture_output=True,
            text=True,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command} does not run: {error}"
    match = re.search(r"v?(\d+)\.(\d+)\.\d+\S*", answer.stdout)
    if answer.returncode or match is None:
        return f"{command} version answers {(answer.stdout + answer.stderr).strip()!r}"
    version = match[0]
    if (int(match[1]), int(match[2])) < OLDEST:
        return f"{command} is {version}, older than {'.'.join(map(str, OLDEST))}"
    missing: list[str] = []
    for folder in (command.parent, command.resolve().parent):
        missing = [file for file in FILES if not os.access(folder / file, os.X_OK)]
        if not missing:
            return SystemPulumi(folder, version)
    return f"{command} {version} comes without {', '.join(missing)}"


@dataclass(frozen=True)
class BuildPlan:
    """``root`` is the cache; ``pulumi`` the user's own, or the reason why it is not used (empty if not needed).

    ``origin`` is that of ``download.origin``.
    """

    root: Path
    modules: tuple[Module, ...]
    pulumi: SystemPulumi | str
    origin: str = "auto"

    def home(self, module: Module) -> Path:
        """The folder in the cache that has the module's files, or will: what is installed already comes first."""
        compiled, published = self.root / module.folder, archives_of(module)
        if self.origin == "source" or isinstance(published, str):
            return compiled
        unpacked = self.root / unpacked_folder(module, published)
        if self.origin == "auto" and not missing_from(compiled, module.files):
            return compiled
        return unpacked

    @property
    def sources(self) -> dict[str, Path]:
        """Every binary's name and the file that it is."""
        homes = {module.name: self.home(module) for module in self.modules}
        files = {file: homes[module.name] / file for module in self.modules for file in module.files}
        if isinstance(self.pulumi, SystemPulumi):
            files |= {file: self.pulumi.folder / file for file in FILES}
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
        pulumi = find_pulumi(environ, root)
    if isinstance(pulumi, SystemPulumi):
        modules = tuple(module for module in modules if module not in PREVIEW)
    return BuildPlan(root, modules, pulumi, origin(environ))


def install(progress: Progress, environ: Mapping[str, str] = os.environ, modules: tuple[Module, ...] = MODULES) -> Path:
    """Make sure that all binaries are there and return the folder that holds them; with all there, only look.

    Raises ToolsError with a message for the user. Finished modules are kept when a later one fails.
    """
    plan = make_plan(environ, modules)
    if plan.missing():
        lock = plan.root / "lock"
        with cache.exclusive(lock, lambda holder: progress.say(f"waiting for {holder}, which installs the tools …")):
            if plan.missing():
                _install(plan, environ, progress)
    cache.mark_used((plan.folder, *map(plan.home, plan.modules)))
    return plan.folder


def _install(plan: BuildPlan, environ: Mapping[str, str], progress: Progress) -> None:
    if isinstance(plan.pulumi, SystemPulumi):
        progress.say(f"pulumi: {plan.pulumi.version} from {plan.pulumi.folder}")
    elif plan.pulumi:
        progress.say(f"{plan.pulumi}: the one in {plan.folder} is used")
    if leftovers := cache.remove_leftovers(plan.root):
        progress.say(f"removed what an interrupted run left: {', '.join(leftovers)}")
    if missing := plan.uninstalled():
        _compile(_unpack(missing, plan, environ, progress), plan, environ, progress)
    with cache.new_folder(plan.folder) as folder:
        for name, source in plan.sources.items():
            if source.is_relative_to(plan.root):
                _place(source, folder / name)
            else:
                (folder / name).symlink_to(source)
    cache.mark_used((plan.folder, *map(plan.home, plan.modules)))
    if unused := cache.prune(plan.root):
        progress.say(f"removed what no run has used for a month: {', '.join(unused)}")


def _unpack(modules: Sequence[Module], plan: BuildPlan, environ: Mapping[str, str], progress: Progress) -> list[Module]:
    """Install from release archives; returns the modules that are left to compile, and prints the reason for each."""
    left: list[Module] = []
    with tempfile.TemporaryDirectory(prefix=cache.TEMPORARY, dir=plan.root) as downloaded:
        downloads = Downloads(Path(downloaded), environ)
        for module in modules:
            reason = archives = archives_of(module)
            if plan.origin == "source":
                reason = "GPUCLUSTER_TOOLS_FROM=source"
            elif not isinstance(archives, str):
                try:
                    with (
                        progress.stage(f"{module.name}: release archive") as stage,
                        cache.new_folder(plan.root / unpacked_folder(module, archives)) as folder,
                    ):
                        for archive in archives:
                            downloads.unpack(archive, folder, stage)
                    continue
                except Unavailable as error:
                    if plan.origin == "archives":
                        raise ToolsError(f"{module.name}: {error} (GPUCLUSTER_TOOLS_FROM=archives)") from error
                    reason = str(error)
            progress.say(f"{module.name}: to be compiled: {reason}")
            left.append(module)
    return left


def _compile(modules: Sequence[Module], plan: BuildPlan, environ: Mapping[str, str], progress: Progress) -> None:
    if not modules:
        return
    time = duration(60 * sum(module.minutes for module in modules))
    names = ", ".join(module.name for module in modules)
    progress.say(f"to build: {names}; once, about {time} on 2 cores, kept in {plan.root}")
    toolchain = build.find_go(modules, plan.root, environ, progress)
    cache.require_space(_space(plan.root, modules, toolchain))
    for number, module in enumerate(modules, 1):
        with cache.new_folder(plan.root / module.folder) as folder:
            build.build(module, toolchain, folder, progress, _place_in_line(number, modules))


def _place_in_line(number: int, modules: Sequence[Module]) -> str:
    """``2 of 5, then about 6 min for pulumi, kwok``."""
    later = modules[number:]
    left = f"then about {duration(60 * sum(each.minutes for each in later))} for {', '.join(m.name for m in later)}"
    return f"{number} of {len(modules)}, {left if later else 'the last'}"


def _place(source: Path, target: Path) -> None:
    """A hard link: Pulumi's language host looks for its scripts beside the file that a symbolic link leads to."""
    try:
        target.hardlink_to(source)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _space(root: Path, modules: Sequence[Module], toolchain: build.Go) -> dict[Path, float]:
    """The GiB that each folder may grow by. The build cache gets all of ``build_gib``: most of it is that."""
    needs = {root: sum(module.installed_gib for module in modules)}
    build_cache = toolchain.folder("GOCACHE")
    needs[build_cache] = needs.get(build_cache, 0.0) + sum(module.build_gib for module in modules)
    return needs
