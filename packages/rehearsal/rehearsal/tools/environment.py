"""``python3 -m rehearsal.tools.environment program|rehearsal|dev``: the virtual environment ``.venv``, by purpose.

pip installs uv, uv installs the locked packages; both accept only the hashes in the locks. A purpose's packages are
added to those that are there. A stamp, written last, lists the installed locks: an interrupted run leaves none, so the
next one starts afresh, and unchanged locks cost nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rehearsal.tools import cache
from rehearsal.tools.progress import Progress, ToolsError, duration, run

_DEV: Final = "requirements-dev.lock"
_PROGRAM: Final = ("requirements.lock",)
_GPU: Final = "packages/gpu/requirements.lock"
_REHEARSAL: Final = (*_PROGRAM, _GPU, "packages/rehearsal/requirements.lock")
PURPOSES: Final[Mapping[str, tuple[str, ...]]] = {
    "program": _PROGRAM,
    "rehearsal": _REHEARSAL,
    "dev": (*_REHEARSAL, _DEV),
}
"""Purpose → the locks it needs, as paths from the project's folder; each has those of the purposes before it."""

# Of a whole environment with pip and uv; measured by `du --apparent-size` before anything is compiled.
_SIZES: Final = {"program": "530 MB", "rehearsal": "790 MB", "dev": "1.1 GB"}

_COMMANDS: Final[Mapping[str, str]] = {"gpu": "gpu", "gpucluster": "rehearsal"}
"""Commands in ``.venv/bin`` → their packages."""

_FOLDERS: Final = (*_COMMANDS.values(), "machines")
"""Folders in ``packages/`` on Python's path; none of them is installed."""

OLDEST_PYTHON: Final = (3, 10)

# Starts isolated: the folder that somebody works in may have modules called like ours.
_LAUNCHER: Final = """\
#!/bin/sh
start='import sys; sys.path[:0] = [sys.argv.pop(1), sys.argv.pop(1)]; from {package}.__main__ import main; main()'
exec '{python}' -I -c "$start" '{project}/packages/{package}' '{project}' "$@"
"""


def prepare(project: Path, purpose: str, progress: Progress) -> bool:
    """Make ``project/.venv`` match the locks of ``purpose`` and those it has already; True if that took work.

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
        _install(project, list(target["locks"]), progress)
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
    """The stamp of an environment that has the locks of ``purpose`` and those that are installed already."""
    before = _installed(project).get("locks", {})
    locks = [lock for lock in PURPOSES["dev"] if lock in before or lock in PURPOSES[purpose]]
    hashes = {lock: hashlib.sha256(_content(project, lock).encode()).hexdigest() for lock in locks}
    return {**_place(project), "locks": hashes}


def _place(project: Path) -> dict[str, Any]:
    return {"python": sys.version, "project": str(project.resolve()), "folders": [*_FOLDERS]}


def _content(project: Path, lock: str) -> str:
    try:
        return (project / lock).read_text()
    except OSError as error:
        raise ToolsError(f"{project / lock}: {error.strerror}; restore it with `git checkout {lock}`") from error


def _create(environment: Path, progress: Progress) -> None:
    with progress.stage("virtual environment"):
        shutil.rmtree(environment, ignore_errors=True)
        run(
            [sys.executable, "-m", "venv", str(environment)],
            "creating .venv",
            "Install Python's venv module (Debian, Ubuntu: `apt install python3-venv`).",
        )


def _install(project: Path, locks: Sequence[str], progress: Progress) -> None:
    environment = (project / ".venv").absolute()
    python, uv = environment / "bin" / "python", environment / "uv.txt"
    purpose = next(name for name, needed in PURPOSES.items() if set(locks) <= set(needed))
    advice = "Check the network and the package index (PIP_INDEX_URL, UV_INDEX_URL), then run it again."
    with progress.stage(f"Python packages, for: {purpose}", f"{_SIZES[purpose]} in all; a minute with a fast network"):
        pin = uv_requirement(_content(project, _DEV))
        if not uv.exists() or uv.read_text() != pin:
            uv.write_text(pin)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            run([*pip, "--require-hashes", "--no-deps", "--requirement", str(uv)], "installing uv", advice)
        sync = ["pip", "sync", "--quiet", "--require-hashes", "--python", str(python)]
        files = [str(uv), *(str(project / lock) for lock in locks)]
        run([str(environment / "bin" / "uv"), *sync, *files], "installing the Python packages", advice)
    (site,) = environment.glob("lib/python*/site-packages")
    folders = [f"{project.absolute()}/packages/{folder}\n" for folder in _FOLDERS]
    (site / "gpucluster.pth").write_text("".join(folders))
    for command, package in _COMMANDS.items() if _GPU in locks else ():
        launcher = environment / "bin" / command
        launcher.write_text(_LAUNCHER.format(python=python, project=project.absolute(), package=package))
        launcher.chmod(0o755)


def uv_requirement(lock: str) -> str:
    """The lines of a lock file that pin uv itself. Raises ToolsError if there are none."""
    match = re.search(r"^uv==.*\\\n(?:    --hash=.*\n?)+", lock, re.MULTILINE)
    if match is None:
        raise ToolsError(f"{_DEV} does not pin uv: keep it in requirements-dev.txt and run `make lock`")
    return match[0]


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when the environment is ready, 1 when something failed, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description="Make .venv match the locks.")
    parser.add_argument("purpose", choices=list(PURPOSES), help="what the environment is for")
    purpose = parser.parse_args(arguments).purpose
    progress, start = Progress(), time.monotonic()
    try:
        prepare(Path.cwd(), purpose, progress)
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
