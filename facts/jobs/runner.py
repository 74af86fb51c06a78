"""What stands between a container and the program: it saves the output, unpacks files and installs requirements. And
the program of a container that is there for shells.

POSIX shell scripts, for any image with ``sh``; files need ``tar`` and ``gzip``. Signals reach the program.
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


# An own prefix: a variable of the program's environment must not change.
_SAVE: Final = """\
_gpu_logs=$1; shift
_gpu_log=$_gpu_logs/${JOB_COMPLETION_INDEX:-0}.log
_gpu_pipe=/dev/shm/gpucluster-log
_gpu_again=
# Everybody may add a directory, as jobs run as different users.
mkdir -p -m 1777 "${_gpu_logs%/*}" 2>/dev/null
if ! { mkdir -p "$_gpu_logs" && : >> "$_gpu_log" && command -v tee >&2 && mkfifo "$_gpu_pipe"; } 2>/dev/null; then
  exec "$@"
fi
tee -a "$_gpu_log" < "$_gpu_pipe" &
_gpu_tee=$!
"$@" > "$_gpu_pipe" 2>&1 &
_gpu_program=$!
trap '_gpu_again=1; kill -TERM $_gpu_program' TERM
wait $_gpu_program; _gpu_code=$?
while [ -n "$_gpu_again" ]; do _gpu_again=; wait $_gpu_program; _gpu_code=$?; done
# A process that the program left behind may hold the pipe open.
( sleep 5; kill $_gpu_tee ) > /dev/null 2>&1 &
wait $_gpu_tee
exit $_gpu_code
"""


def with_saved_log(command: Sequence[str], directory: str) -> tuple[str, ...]:
    """The command whose output is appended to ``<index>.log`` in ``directory``, too; 0 in a job of one pod.

    If nothing can be written there, or the image has no ``tee`` or ``mkfifo``, the command runs all the same. The shell
    stays, so that the last lines are written before the container ends; it hands on SIGTERM and the exit code.
    """
    return ("sh", "-c", _SAVE, "gpu", directory, *command)


def saved_in(command: Sequence[str]) -> str | None:
    """The directory in which a container with this command saves its output; ``None`` if it saves none."""
    return command[4] if tuple(command[:3]) == ("sh", "-c", _SAVE) else None


_IDLE: Final = """\
idle=0
while [ "$idle" -lt "$1" ]; do
  sleep 10 & wait $!
  idle=$((idle + 10))
  for process in /proc/[0-9]*; do
    name=$(cat "$process/comm" 2>/dev/null) || continue
    case $name in sh|bash|dash|zsh|fish|busybox|sleep|tee|cat) ;; *) idle=0 ;; esac
  done
  # A terminal's times change with what is typed and printed.
  if [ -n "$(find /dev/pts -name '[0-9]*' -mmin -1 2>/dev/null)" ]; then idle=0; fi
done
"""


def until_idle(seconds: int) -> tuple[str, ...]:
    """The command that ends when, for so long, only shells ran beside it and nobody used one."""
    return ("sh", "-c", f"trap 'exit 0' TERM\n{_IDLE}", "gpu", str(seconds))
