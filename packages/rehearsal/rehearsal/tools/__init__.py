"""The pinned upstream binaries that a rehearsal runs: pulumi, the Kubernetes control plane, kwok, the autoscaler.

``python3 -m rehearsal.tools`` installs them: from the projects' release archives, whose hashes ``archives.csv`` pins,
and with Go what has none, or what cannot be downloaded. It needs the standard library only, because it runs before
the virtual environment exists. The command line asks ``provide()`` for what a stack needs, the rest ``folder()``.

Environment variables: ``GPUCLUSTER_TOOLS_FROM`` (``auto``, ``archives`` or ``source``), ``GPUCLUSTER_TOOLS_MIRROR``
(the URL below which the archives' hosts are mirrored), ``GPUCLUSTER_CACHE`` (where the binaries are kept), and
``GPUCLUSTER_TOOLS`` (a folder that has them already).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rehearsal.tools.install import install, make_plan, missing_from
from rehearsal.tools.modules import MODULES, Module
from rehearsal.tools.progress import Progress, ToolsError, ToolsMissing

__all__ = ["ToolsError", "ToolsMissing", "folder", "provide"]


def provide(modules: tuple[Module, ...], environ: Mapping[str, str] = os.environ) -> Path:
    """The folder that holds the binaries of ``modules``, after installing what is missing; progress goes to stderr.

    Where ``$GPUCLUSTER_TOOLS`` names a folder, that one, and nothing is installed. Raises ToolsError.
    """
    return folder(environ, modules) if environ.get("GPUCLUSTER_TOOLS") else install(Progress(), environ, modules)


def folder(environ: Mapping[str, str] = os.environ, modules: tuple[Module, ...] = MODULES) -> Path:
    """The folder that holds the binaries of ``modules``: ``$GPUCLUSTER_TOOLS`` if set, else the installed ones.

    Installs nothing. Put it first on PATH of what needs ``pulumi``: the CLI finds its language plugins there.
    Raises ToolsMissing with a sentence that names what is missing and the command that installs it.
    """
    plan = make_plan(environ, modules)
    if ready := environ.get("GPUCLUSTER_TOOLS"):
        if missing := missing_from(Path(ready), plan.sources):
            raise ToolsMissing(f"GPUCLUSTER_TOOLS={ready}", missing)
        return Path(ready)
    if missing := plan.missing():
        raise ToolsMissing(str(plan.folder), missing)
    return plan.folder
