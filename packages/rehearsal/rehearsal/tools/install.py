"""Installs what the plan lacks: release archives where they can be had, else Go builds; one folder links to it all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rehearsal.tools import build, cache
from rehearsal.tools.command import ToolsError
from rehearsal.tools.download import Downloads, Unavailable, archives_of, unpacked_folder
from rehearsal.tools.modules import MODULES, Module
from rehearsal.tools.plan import BuildPlan, SystemPulumi, make_plan
from rehearsal.tools.progress import Progress, duration


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
        progress.say(f"pulumi: {plan.pulumi}")
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
    for module in modules:
        with cache.new_folder(plan.root / module.folder) as folder:
            build.build(module, toolchain, folder, progress)


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
