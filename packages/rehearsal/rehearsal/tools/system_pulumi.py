"""A Pulumi that the user has installed already, if it is new enough and complete."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.tools.modules import PREVIEW

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


def find(environ: Mapping[str, str], cache: Path) -> SystemPulumi | str:
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
