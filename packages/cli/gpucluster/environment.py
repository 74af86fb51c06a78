"""``python3 -m gpucluster.environment program|account|rehearsal|dev``: the virtual environment ``.venv``, by purpose.

pip installs uv, uv installs one group of pyproject.toml as uv.lock has it; both accept only the hashes in it.
They are exported first, so that the package index that pip is set to serves them, wherever uv.lock found them. A
purpose's packages are added to those that are there. A stamp, written last, names the lock: an interrupted run leaves
none, so the next one starts afresh, and an unchanged lock costs nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gpucluster.make import UnknownVariable, written
from rehearsal.tools import cache
from rehearsal.tools.progress import Progress, ToolsError, duration, run

LOCK: Final = "uv.lock"

# Purpose, a group in pyproject.toml → size of a whole environment with pip and uv, by `du --apparent-size` before
# anything is compiled. Each has the packages of those before it.
_SIZES: Final[Mapping[str, str]] = {"program": "530 MB", "account": "600 MB", "rehearsal": "790 MB", "dev": "1.1 GB"}
PURPOSES: Final = (*_SIZES,)

_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {"gpucluster": ("program", "cli"), "gpu": ("rehearsal", "gpu")}
"""Command in ``.venv/bin``, named as its package → the purpose that it comes with, and its folder in ``packages/``."""

_FOLDERS: Final = ("account", "cli", "gpu", "machines", "proof", "rehearsal")
"""Folders in ``packages/`` on Python's path; none of them is installed."""

EXPORT: Final = ("--quiet", "--frozen", "--no-emit-workspace", "--no-header", "--no-annotate")
"""Flags of ``uv export`` for a list with hashes of what the lock has, without our own packages."""

OLDEST_PYTHON: Final = (3, 10)

# Starts isolated: the folder that somebody works in may have modules called like ours. The project comes last: a module
# at its root does not take the place of an installed package.
_LAUNCHER: Final = """\
#!/bin/sh
start='import sys; path, take = sys.path, sys.argv.pop; path.insert(0, take(1)); path.append(take(1)); '
start="$start"'from {package}.__main__ import main; main()'
exec '{python}' -I -c "$start" '{project}/packages/{folder}' '{project}' "$@"
"""


def prepare(project: Path, purpose: str, progress: Progress) -> bool:
    """Make ``project/.venv`` match the lock for ``purpose`` and what it is for already; True if that took work.

    Raises ToolsError with a message for the user.
    """
    if sys.version_info < OLDEST_PYTHON:
        raise ToolsError(
            f"Python {sys.version.split()[0]} is too old, {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed: "
            "`make PYTHON=/path/to/python3`"
        )
    environment = (project / ".venv").absolute()
    if environment.is_symlink():
        raise ToolsError(f"{environment} is a link, and what it leads to would be emptied: remove the link")
    if _target(project, purpose) == _installed(project):
        return False
    with cache.exclusive(project / "build" / "venv.lock", lambda holder: progress.say(f"waiting for {holder} …")):
        # Another process may have installed packages meanwhile.
        target, installed = _target(project, purpose), _installed(project)
        if target == installed:
            return False
        stamp = _stamp(project)
        stamp.unlink(missing_ok=True)
        if not installed:
            _create(environment, progress)
        _install(project, target["purpose"], progress)
        stamp.write_text(json.dumps(target))
    return True


def _stamp(project: Path) -> Path:
    return project / ".venv" / ".installed"


def _installed(project: Path) -> dict[str, Any]:
    """What the stamp says; empty if the environment is unfinished, of another Python, or moved (scripts hold paths)."""
    stamp = _stamp(project)
    try:
        content = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return {}
    ours = isinstance(content, dict) and {**content, **_place(project)} == content
    return content if ours and (stamp.parent / "bin" / "python").exists() else {}


def _target(project: Path, purpose: str) -> dict[str, Any]:
    """The stamp of an environment for ``purpose`` and for what it is for already."""
    purpose = max(purpose, _installed(project).get("purpose", purpose), key=PURPOSES.index)
    return {**_place(project), "purpose": purpose, "lock": hashlib.sha256(_lock(project).encode()).hexdigest()}


def _place(project: Path) -> dict[str, Any]:
    return {"python": sys.version, "project": str(project.resolve()), "folders": [*_FOLDERS]}


def _lock(project: Path) -> str:
    try:
        return (project / LOCK).read_text()
    except OSError as error:
        raise ToolsError(f"{project / LOCK}: {error.strerror}; restore it with `git checkout {LOCK}`") from error


def _create(environment: Path, progress: Progress) -> None:
    with progress.stage("virtual environment"):
        shutil.rmtree(environment, ignore_errors=True)
        run(
            [sys.executable, "-m", "venv", str(environment)],
            "creating .venv",
            "Install Python's venv module (Debian, Ubuntu: `apt install python3-venv`).",
        )


def _install(project: Path, purpose: str, progress: Progress) -> None:
    environment = (project / ".venv").absolute()
    python, uv, pin = environment / "bin" / "python", environment / "bin" / "uv", environment / "uv.txt"
    advice = "Check the network and the package index (PIP_INDEX_URL, UV_INDEX_URL), then run it again."
    with progress.stage(f"Python packages, for: {purpose}", f"{_SIZES[purpose]} in all; a minute with a fast network"):
        pinned = uv_requirement(_lock(project))
        if not pin.exists() or pin.read_text() != pinned:
            pin.write_text(pinned)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            run([*pip, "--require-hashes", "--no-deps", "--requirement", str(pin)], "installing uv", advice)
        packages = environment / "packages.txt"
        export = [str(uv), "export", "--project", str(project), *EXPORT, "--only-group", purpose]
        run([*export, "--output-file", str(packages)], f"reading {LOCK}", f"Restore it with `git checkout {LOCK}`.")
        sync = ["pip", "sync", "--quiet", "--require-hashes", "--python", str(python)]
        run([str(uv), *sync, str(pin), str(packages)], "installing the Python packages", advice)
    (site,) = environment.glob("lib/python*/site-packages")
    folders = [f"{project.absolute()}/packages/{folder}\n" for folder in _FOLDERS]
    (site / "gpucluster.pth").write_text("".join(folders))
    for package, (needed, folder) in _COMMANDS.items():
        if PURPOSES.index(needed) <= PURPOSES.index(purpose):
            places = {"python": python, "project": project.absolute(), "folder": folder, "package": package}
            launcher = environment / "bin" / package
            launcher.write_text(_LAUNCHER.format(**places))
            launcher.chmod(0o755)
    # The component package starts in the same environment (components/package/PulumiPlugin.yaml).
    link = project / "components" / "package" / "venv"
    if link.parent.is_dir() and not link.is_symlink():
        link.symlink_to(Path("..", "..", ".venv"))


def uv_requirement(lock: str) -> str:
    """The line that pins uv itself for pip, from uv.lock. Raises ToolsError if it is not there."""
    match = re.search(
        r'^name = "uv"\nversion = "([^"]+)"\n(.*?)(?:^\[\[package\]\]|\Z)', lock, re.MULTILINE | re.DOTALL
    )
    if match is None:
        raise ToolsError(f"{LOCK} does not pin uv: keep it in the group dev of pyproject.toml and run `make lock`")
    hashes = re.findall(r'hash = "(sha256:[0-9a-f]+)"', match[2])
    return " ".join([f"uv=={match[1]}", *(f"--hash={each}" for each in hashes)]) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when the environment is ready, 1 when something failed, 2 for bad input, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description="Make .venv match the lock.")
    parser.add_argument("purpose", choices=list(PURPOSES), help="what the environment is for")
    purpose = parser.parse_args(arguments).purpose
    progress, start = Progress(), time.monotonic()
    try:
        written(os.environ)
        prepare(Path.cwd(), purpose, progress)
    except UnknownVariable as error:
        progress.say(f"error: {error}")
        return 2
    except ToolsError as error:
        progress.say(f"setup: {error}")
        return 1
    except KeyboardInterrupt:
        progress.say("setup: interrupted. Run it again to go on.")
        return 130
    progress.say(f"setup: .venv ready for {purpose} after {duration(time.monotonic() - start)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
