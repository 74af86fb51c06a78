"""What stands between a container and the program: it saves the output, unpacks files and installs requirements. And
the program of a container that is there for shells.

POSIX shell scripts, for any image with ``sh``; files need ``tar`` and ``gzip``. Signals reach the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

WORKSPACE: Final = "/workspace"
"""Where the program finds the job's files; its working directory."""
FILES: Final = "/var/run/gpucluster/files"
"""Where the parts of the compressed archive are mounted. Their names sort in their order."""

_UNPACK: Final = f"""\
set -e
cat {FILES}/* | tar -xzf - -C {WORKSPACE}
cd {WORKSPACE}
if [ -f requirements.txt ]; then
  python3 -m pip install --quiet --disable-pip-version-check -r requirements.txt
fi
exec "$@"
"""


def with_files(command: Sequence[str]) -> tuple[str, ...]:
    """The command that unpacks the files first. If that fails, so does the container, and its log says why."""
    return ("sh", "-c", _UNPACK, "gpu", *command)


def _script(name: str) -> str:
    """A script beside this module, without its first line, which is for a linter."""
    return Path(__file__).with_name(f"{name}.sh").read_text(encoding="utf-8").partition("\n")[2]


# Its variables have a prefix of their own: a variable of the program's environment must not change.
_SAVE: Final = _script("save_log")


def with_saved_log(command: Sequence[str], directory: str) -> tuple[str, ...]:
    """The command whose output is appended to ``<index>.log`` in ``directory``, too; 0 in a job of one pod.

    If nothing can be written there, or the image has no ``tee`` or ``mkfifo``, the command runs all the same. The shell
    stays, so that the last lines are written before the container ends; it hands on SIGTERM and the exit code.
    """
    return ("sh", "-c", _SAVE, "gpu", directory, *command)


def saved_in(command: Sequence[str]) -> str | None:
    """The directory in which a container with this command saves its output; ``None`` if it saves none."""
    return command[4] if tuple(command[:3]) == ("sh", "-c", _SAVE) else None


def until_idle(seconds: int) -> tuple[str, ...]:
    """The command that ends when, for so long, only shells ran beside it and nobody used one."""
    return ("sh", "-c", f"trap 'exit 0' TERM\n{_script('until_idle')}", "gpu", str(seconds))
