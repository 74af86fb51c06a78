"""What stands between a container and the program: it unpacks the job's files and installs their requirements.

One POSIX shell script, for any image with ``sh``, ``tar`` and ``gzip``. The program takes the shell's place, so that
signals reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
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
