"""``python3 -m rehearsal.tools.environment``: the virtual environment ``.venv`` with the locked Python packages.

pip installs uv, uv installs the rest; both accept only the hashes in requirements.lock. A stamp, written last, says
what is installed, so that an interrupted run is not taken for a finished one and an unchanged lock costs nothing.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Final

from rehearsal.tools import cache
from rehearsal.tools.command import run
from rehearsal.tools.errors import ToolsError
from rehearsal.tools.progress import Progress, duration

# Starts isolated: the folder that somebody works in may have modules called like ours.
_LAUNCHER: Final = """\
#!/bin/sh
start='import sys; sys.path.insert(0, sys.argv.pop(1)); from gpu.cli import main; main()'
exec '{python}' -I -c "$start" '{project}' "$@"
"""

OLDEST_PYTHON: Final = (3, 10)


def prepare(project: Path, progress: Progress) -> bool:
    """Make ``project/.venv`` match ``project/requirements.lock``; True if something had to be done.

    Raises ToolsError with a message for the user.
    """
    if sys.version_info < OLDEST_PYTHON:
        raise ToolsError(
            f"Python {sys.version.split()[0]} is too old, {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed: "
            "`make PYTHON=/path/to/python3`"
        )
    environment, lock = (project / ".venv").absolute(), project / "requirements.lock"
    if environment.is_symlink():
        raise ToolsError(f"{environment} is a link, and what it leads to would be emptied: remove the link")
    stamp, wanted = environment / ".installed", _fingerprint(lock)
    if _is(stamp, wanted):
        _write_launcher(environment)
        return False
    with cache.exclusive(project / "build" / "venv.lock", lambda holder: progress.say(f"waiting for {holder} …")):
        if _is(stamp, wanted):
            return False
        stamp.unlink(missing_ok=True)
        _install(environment, lock, progress)
        stamp.write_text(wanted)
    return True


def _install(environment: Path, lock: Path, progress: Progress) -> None:
    python = environment / "bin" / "python"
    with progress.stage("virtual environment"):
        shutil.rmtree(environment, ignore_errors=True)
        run(
            [sys.executable, "-m", "venv", str(environment)],
            "creating .venv",
            "Install Python's venv module (Debian, Ubuntu: `apt install python3-venv`).",
        )
    with progress.stage("Python packages", "about 1 min with a fast network, 1.2 GB"):
        uv = environment / "uv.txt"
        uv.write_text(uv_requirement(lock.read_text()))
        advice = "Check the network and the package index (PIP_INDEX_URL, UV_INDEX_URL), then run it again."
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--require-hashes", "--no-deps", "--requirement", str(uv)], "installing uv", advice)
        sync = ["pip", "sync", "--quiet", "--require-hashes", "--python", str(python), str(lock)]
        run([str(environment / "bin" / "uv"), *sync], "installing the Python packages", advice)
    _write_launcher(environment)


def _write_launcher(environment: Path) -> None:
    """``.venv/bin/gpu``, and the path on which Python finds the packages; the project itself is no package."""
    packages = environment.parent / "packages"
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "gpucluster.pth").write_text("".join(f"{packages / name}\n" for name in ("gpu", "rehearsal")))
    launcher = environment / "bin" / "gpu"
    if not launcher.exists():
        launcher.write_text(_LAUNCHER.format(python=environment / "bin" / "python", project=environment.parent))
        launcher.chmod(0o755)


def uv_requirement(lock: str) -> str:
    """The lines of a lock file that pin uv itself. Raises ToolsError if there are none."""
    match = re.search(r"^uv==.*\\\n(?:    --hash=.*\n?)+", lock, re.MULTILINE)
    if match is None:
        raise ToolsError("requirements.lock does not pin uv: keep it in requirements.txt and run `make lock`")
    return match[0]


def _fingerprint(lock: Path) -> str:
    """Changes with the lock, with Python's version and when the checkout moves (scripts hold absolute paths)."""
    try:
        content = lock.read_bytes()
    except OSError as error:
        raise ToolsError(f"{lock}: {error.strerror}; restore it with `git checkout requirements.lock`") from error
    return hashlib.sha256(content + f"{sys.version}{lock.resolve()}".encode()).hexdigest()


def _is(stamp: Path, wanted: str) -> bool:
    return stamp.is_file() and stamp.read_text() == wanted and (stamp.parent / "bin" / "python").exists()


def main() -> int:
    """Exit code 0 when the environment is ready, 1 when something failed, 130 after Ctrl-C."""
    progress, start = Progress(), time.monotonic()
    try:
        prepare(Path.cwd(), progress)
    except ToolsError as error:
        progress.say(f"setup: {error}")
        return 1
    except KeyboardInterrupt:
        progress.say("setup: interrupted. Run it again to go on.")
        return 130
    progress.say(f"setup: .venv ready after {duration(time.monotonic() - start)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
