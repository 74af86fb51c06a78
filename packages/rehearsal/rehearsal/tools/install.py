"""Installs what the plan lacks: check the disk, find Go, build module by module, link everything into one folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from rehearsal.tools import build, cache, go
from rehearsal.tools.module import Module
from rehearsal.tools.modules import MODULES
from rehearsal.tools.plan import BuildPlan, make_plan
from rehearsal.tools.progress import Progress, duration
from rehearsal.tools.prune import prune
from rehearsal.tools.system_pulumi import SystemPulumi


def install(
    progress: Progress,
    environ: Mapping[str, str] = os.environ,
    modules: tuple[Module, ...] = MODULES,
) -> Path:
    """Make sure that all binaries are there and return the folder that holds them; with all there, only look.

    Raises ToolsError with a message for the user. Finished modules are kept when a later one fails.
    """
    plan = make_plan(environ, modules)
    if not plan.missing():
        return plan.folder
    lock = plan.root / "lock"
    with cache.exclusive(lock, lambda holder: progress.say(f"waiting for {holder}, which is installing the tools …")):
        if plan.missing():
            _install(plan, environ, progress)
    return plan.folder


def _install(plan: BuildPlan, environ: Mapping[str, str], progress: Progress) -> None:
    if isinstance(plan.pulumi, SystemPulumi):
        progress.say(f"pulumi: {plan.pulumi.version} from {plan.pulumi.folder}")
    elif plan.pulumi:
        progress.say(f"pulumi: {plan.pulumi}")
    if leftovers := cache.remove_leftovers(plan.root):
        progress.say(f"removed what an interrupted run left: {', '.join(leftovers)}")
    if unbuilt := plan.unbuilt():
        time = duration(60 * sum(module.minutes for module in unbuilt))
        names = ", ".join(module.name for module in unbuilt)
        progress.say(f"to build: {names}; once, about {time} on 2 cores, kept in {plan.root}")
        toolchain = go.find(unbuilt, plan.root, environ, progress)
        cache.require_space(_space(plan.root, unbuilt, toolchain))
        for module in unbuilt:
            with cache.new_folder(plan.root / module.folder) as folder:
                build.build(module, toolchain, folder, progress)
    with cache.new_folder(plan.folder) as folder:
        for name, source in plan.sources.items():
            if source.is_relative_to(plan.root):
                _place(source, folder / name)
            else:
                (folder / name).symlink_to(source)
    wanted = {plan.folder, *(plan.root / module.folder for module in plan.modules)}
    if old := prune(plan.root, wanted):
        progress.say(f"removed builds that are out of date: {', '.join(old)}")


def _place(source: Path, target: Path) -> None:
    """A hard link: Pulumi's language host looks for its scripts beside the file that a symbolic link leads to."""
    try:
        target.hardlink_to(source)
    except OSError:  # a file system without hard links
        shutil.copy2(source, target)


def _space(root: Path, modules: list[Module], toolchain: go.Go) -> dict[Path, float]:
    """The GiB that each folder may grow by. The build cache gets all of ``build_gib``: most of it is that."""
    needs = {root: sum(module.installed_gib for module in modules)}
    build_cache = toolchain.folder("GOCACHE")
    needs[build_cache] = needs.get(build_cache, 0.0) + sum(module.build_gib for module in modules)
    return needs
