"""Child processes that cannot outlive their parent, and ports for them.

Every child leads a session of its own, so that a signal reaches everything it started and a Ctrl-C in the terminal
does not reach it at all. A watchdog (a shell that reads a pipe) knows all children: when the parent ends in any way,
``kill -9`` included, the pipe closes and the watchdog kills their process groups. Unlike ``PR_SET_PDEATHSIG`` this
works on every POSIX system and from any thread.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_WATCHDOG = """
trap '' HUP INT TERM
while read -r entry; do
  case $entry in
    -*) kept=; for pid in $pids; do [ "-$pid" = "$entry" ] || kept="$kept $pid"; done; pids=$kept ;;
    *) pids="$pids $entry" ;;
  esac
done
for pid in $pids; do kill -KILL "-$pid" 2>/dev/null; done
"""

# The child reports itself before it becomes the program, so there is no moment at which the watchdog misses it.
_REGISTER_THEN_EXEC = 'echo "$$" >&0; exec "$@" </dev/null'

# https://docs.kernel.org/networking/ip-sysctl.html, ip_local_port_range; other systems begin higher (RFC 6335: 49152).
_EPHEMERAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST_EPHEMERAL_PORT = 32768
_LEAST_PORT = 20000
# A killed process that the kernel still takes apart on a loaded machine is waited for this long.
_KILLED_SECONDS = 60.0

# Go looks for garbage when the heap has doubled; at five times its size an API server takes a tenth less time of
# processors, and 90 MB more (https://pkg.go.dev/runtime#hdr-Environment_Variables).
_FEWER_COLLECTIONS = {"GOGC": "400"}

_PORT_TAKEN = re.compile(r"address already in use|EADDRINUSE", re.IGNORECASE)


def kill_children(parent: int, name: str) -> bool:
    """End each program of this name that the process ``parent`` has started; false if none runs."""
    killed = False
    for child in psutil.Process(parent).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended by itself
            if child.name() == name:
                child.kill()
                killed = True
    return killed


def kill_session(leader: int) -> None:
    """End what is left of the session that the process ``leader`` started, in whatever process group it is."""
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, PermissionError, psutil.NoSuchProcess):  # ended, or another user's
            if os.getsid(process.pid) == leader:
                process.kill()


class ProcessError(Exception):
    """A child that could not be started, died, or would not end."""


class PortTaken(ProcessError):
    """A child died because another process listens on its port; a new attempt with other ports may work."""


@dataclass
class Child:
    """One running program; its output starts at byte ``offset`` of ``log``. ``launch`` starts it, also once more."""

    name: str
    log: Path
    offset: int
    launch: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process, and also its process group and its session."""
        return self.process.pid

    def output(self) -> str:
        """Everything it has written so far, errors included."""
        with self.log.open("rb") as file:
            file.seek(self.offset)
            return file.read().decode(errors="replace")

    def tail(self, lines: int = 12) -> str:
        """The last lines of its output, indented."""
        text = self.output().splitlines()[-lines:]
        return "\n".join(f"    {line[:400]}" for line in text) or "    (the log is empty)"

    def check(self) -> None:
        """Raise ``PortTaken`` or ``ProcessError`` with the end of the log if the child has ended."""
        code = self.process.poll()
        if code is None:
            return
        end = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        kind = PortTaken if _PORT_TAKEN.search(self.tail()) else ProcessError
        raise kind(f"{self.name} ended with {end}. Its log, {self.log}, ends with:\n{self.tail()}")


class Processes:
    """Starts and stops children; a context manager that stops all of them, the last started first."""

    def __init__(self, log_dir: Path) -> None:
        log_dir.mkdir(parents=True, exist_ok=True)
        self._log_dir = log_dir
        self._children: dict[int, Child] = {}
        self._stopping: set[int] = set()
        self._may_end: set[int] = set()
        self._lock = threading.Lock()
        read_end, self._registry = os.pipe()
        self._watchdog = subprocess.Popen(["/bin/sh", "-c", _WATCHDOG], stdin=read_end, start_new_session=True)
        os.close(read_end)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pids(self) -> dict[str, int]:
        """Name → pid (= process group) of every running child."""
        with self._lock:
            return {child.name: child.pid for child in self._children.values()}

    @property
    def watchdog_pid(self) -> int:
        """The shell that kills the children when this process dies."""
        return self._watchdog.pid

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        env: Mapping[str, str] | None = None,
        *,
        folder: Path | None = None,
        may_end: bool = False,
    ) -> Child:
        """Start ``command`` with output appended to ``<log_dir>/<name>.log``; ``env`` is added to a minimal one.

        It starts in ``folder``, or in this process's. ``may_end``: the caller watches it, so ``check`` ignores its end.
        Raises ProcessError: the program does not exist.
        """
        program = Path(command[0])
        if not os.access(program, os.X_OK):
            raise ProcessError(f"{name}: there is no program {program}. Run `make tools` to build it.")
        passed = {key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR", "TZ") if key in os.environ}
        minimal = {**_FEWER_COLLECTIONS, **passed}
        log = self._log_dir / f"{name}.log"
        log.parent.mkdir(exist_ok=True)

        def launch() -> subprocess.Popen[bytes]:
            with log.open("ab") as output:
                return subprocess.Popen(
                    ["/bin/sh", "-c", _REGISTER_THEN_EXEC, "sh", *map(str, command)],
                    stdin=self._registry,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={**minimal, **(env or {})},
                    cwd=folder,
                    start_new_session=True,
                )

        child = Child(name, log, log.stat().st_size if log.exists() else 0, launch, launch())
        with self._lock:
            self._children[child.pid] = child
            if may_end:
                self._may_end.add(child.pid)
        return child

    def stop(self, *children: Child, grace: float = 3.0) -> None:
        """End the children together: SIGTERM, after ``grace`` seconds SIGKILL; returns when their groups are empty.

        Raises ProcessError: a process survives SIGKILL (it hangs in the kernel).
        """
        with self._lock:
            self._stopping.update(child.pid for child in children)
        for child in children:
            _signal_group(child, signal.SIGTERM)
        _wait_until(lambda: all(_has_ended(child) for child in children), grace)
        for child in children:
            if not _has_ended(child):
                _signal_group(child, signal.SIGKILL)
        _wait_until(lambda: all(_has_ended(child) for child in children), _KILLED_SECONDS)
        for child in children:
            if not _has_ended(child):
                raise ProcessError(f"{child.name} (pid {child.pid}) does not end, not even by SIGKILL")
            os.write(self._registry, f"-{child.pid}\n".encode())
            with self._lock:
                self._children.pop(child.pid, None)
                self._stopping.discard(child.pid)
                self._may_end.discard(child.pid)

    def restart(self, name: str) -> None:
        """SIGKILL to the program ``name``, then start it again, as its supervisor would."""
        with self._lock:
            (child,) = (each for each in self._children.values() if each.name == name)
            self._stopping.add(killed := child.pid)
        _signal_group(child, signal.SIGKILL)
        _wait_until(lambda: _has_ended(child), _KILLED_SECONDS)
        os.write(self._registry, f"-{killed}\n".encode())
        with self._lock:
            child.process = child.launch()
            self._children = {each.pid: each for each in self._children.values()}
            self._stopping.discard(killed)

    def check(self) -> None:
        """Raise if any child that must run has ended by itself (see ``Child.check``)."""
        with self._lock:
            excused = self._stopping | self._may_end
            children = [child for child in self._children.values() if child.pid not in excused]
        for child in children:
            child.check()

    def close(self) -> None:
        """Stop every child, the last started first, and the watchdog. Safe to call twice."""
        if self._watchdog.poll() is not None:
            return
        with self._lock:
            children = list(self._children.values())
        try:
            for child in reversed(children):
                self.stop(child)
        finally:
            os.close(self._registry)
            self._watchdog.wait()


def free_ports(count: int) -> list[int]:
    """``count`` different TCP ports of 127.0.0.1 that nobody uses now, outside of those that connections are given.

    A port from the system's own range may be gone a moment later, as the source of somebody's connection. Another
    process may still take one before it is used: the user of a port must expect ``PortTaken`` and ask again.
    """
    ports: dict[int, None] = {}
    while len(ports) < count:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", _port_to_try()))
            except OSError:
                continue
            ports[probe.getsockname()[1]] = None
    return list(ports)


def _port_to_try() -> int:
    """One below the range that connections take theirs from; 0, any, where that range leaves no room."""
    try:
        lowest_assigned = int(_EPHEMERAL_PORTS.read_text().split()[0])
    except OSError:
        lowest_assigned = _LOWEST_EPHEMERAL_PORT
    if lowest_assigned < _LEAST_PORT + 1000:
        return 0
    return random.randrange(_LEAST_PORT, lowest_assigned)


def _signal_group(child: Child, number: signal.Signals) -> None:
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return


def _has_ended(child: Child) -> bool:
    """Whether the child is reaped and nothing of its process group is left."""
    if child.process.poll() is None:
        return False
    try:
        os.killpg(child.pid, 0)
    except ProcessLookupError:
        return True
    return False


def _wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
