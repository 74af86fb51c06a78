"""The command line's side of the sandbox: start it, wait until it is ready, end it, and find sandboxes left behind.

The sandbox (``rehearsal.sandbox``) is a process of its own: the simulated providers, the simulated cloud, the control
plane and the machines. It ends when the pipe to its standard input closes: without ``keep`` it does not outlive us.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import psutil

from rehearsal.cluster.pki import PUBLIC_AUTHORITY, private_folder
from rehearsal.providers.echo import noted
from rehearsal.sandbox import client
from rehearsal.simulation import Night, UserInfo

if TYPE_CHECKING:
    from rehearsal.providers.call_faults import CallFault

_GRACE_SECONDS: Final = 2.0
_KEPT_RUNS: Final = 3


def processes(run_dir: Path) -> dict[psutil.Process, str]:
    """Living processes of this user that name ``run_dir``, with their command lines; this process is left out."""
    # Not of a folder whose name only begins as this one's.
    named, own, commands = re.compile(rf"{re.escape(str(run_dir))}(?![\w.-])"), psutil.Process(), {}
    # What may not be read, of other users' processes, is None.
    for process in psutil.process_iter(["cmdline", "environ"]):
        command, environment = process.info["cmdline"] or (), process.info["environ"] or {}
        if process != own and any(map(named.search, (*command, *environment.values()))):
            commands[process] = " ".join(command)
    return commands


def ended(run_dir: Path) -> tuple[str, ...]:
    """Give a run's processes a moment to end, then kill what is left; returns those that had to be killed."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while (left := processes(run_dir)) and time.monotonic() < deadline:
        psutil.wait_procs(left, timeout=0.1)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return tuple(f"{process.pid} ({command[:80]})" for process, command in left.items())


def delete_old_runs(runs: Path) -> None:
    """Keep the folders of the last runs only; a run that still has processes is not old."""
    if not runs.is_dir():
        return
    for run in sorted(path for path in runs.iterdir() if path.is_dir())[:-_KEPT_RUNS]:
        if not processes(run):
            shutil.rmtree(run, ignore_errors=True)


READY_TIMEOUT_SECONDS: Final = 300.0
STOP_TIMEOUT_SECONDS: Final = 60.0
ANSWER_TIMEOUT_SECONDS: Final = 240.0
_LOG_LINES: Final = 15
_MIN_FREE: Final = 1024 * 1024


class SandboxError(Exception):
    """The sandbox did not start, or died: the message holds its last words and where its logs are."""


@dataclass(frozen=True)
class SandboxFacts:
    """What a ready sandbox wrote into ``sandbox.json``; ``kubeconfig`` is the administrator's, if any."""

    pid: int
    pids: tuple[int, ...]
    plugins: Path
    pulumi_home: Path
    kubeconfig: Path | None

    @classmethod
    def read(cls, path: Path) -> SandboxFacts:
        """Parse ``sandbox.json``. Raises ``OSError``, ``ValueError`` or ``KeyError`` while it is not there."""
        raw: Mapping[str, Any] = json.loads(path.read_text())
        kubeconfig = raw.get("kubeconfig")
        return cls(
            pid=int(raw["pid"]),
            pids=tuple(raw["pids"].values()),
            plugins=Path(raw["plugins"]),
            pulumi_home=Path(raw["pulumi_home"]),
            kubeconfig=Path(kubeconfig) if kubeconfig else None,
        )


class SandboxHandle:
    """A sandbox that this process started. Use as a context manager: it is gone when the block ends, unless kept."""

    def __init__(
        self,
        run_dir: Path,
        *,
        tools: Path,
        clouds: Sequence[str],
        control_plane: bool = True,
        inside: bool = False,
        existing: Path | None = None,
        account: Path | None = None,
        packages: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Start the sandbox's process, with simulated providers for ``clouds``' plugins; ``ready`` waits for it.

        ``inside``: the program runs in the cluster's network. ``existing`` is a stack file whose existing network is
        created first, ``account`` a file of what the account may have and do. ``packages`` are the plugins of another
        program, name → version.
        """
        private_folder(run_dir)
        self.run_dir = run_dir
        self.log = run_dir / "sandbox.log"
        self.retained = False
        options = {
            "tools": str(tools) if control_plane else None,
            "clouds": [*clouds],
            "inside": inside,
            "existing": existing and str(existing.absolute()),
            "account": account and str(account.absolute()),
            "packages": dict(packages),
        }
        trusting = {**os.environ, "SSL_CERT_FILE": str(run_dir.absolute() / PUBLIC_AUTHORITY)}
        # Appended to: the sandbox logs its providers' errors into the same file.
        with self.log.open("ab") as output:
            # A session of its own: Ctrl-C in the terminal must not end it before the clean-up that needs it.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rehearsal.sandbox", str(run_dir), json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=trusting,
                start_new_session=True,
            )

    def __enter__(self) -> SandboxHandle:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.retained:
            self.stop()

    def ready(self, timeout: float = READY_TIMEOUT_SECONDS) -> SandboxFacts:
        """Wait until everything answers. Raises ``SandboxError``."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.check_alive()
            with contextlib.suppress(OSError, ValueError, KeyError):
                return SandboxFacts.read(self.run_dir / "sandbox.json")
            time.sleep(0.05)
        raise SandboxError(
            f"the sandbox was not ready after {timeout:.0f} s: run it again when this machine is less busy. "
            f"{self._last_words()}"
        )

    def check_alive(self) -> None:
        """Raises ``SandboxError`` when the sandbox's process has ended."""
        if self._process.poll() is not None:
            raise SandboxError(
                f"the sandbox process exited unexpectedly (exit code {self._process.returncode}). {self._last_words()}"
            )

    def keep(self) -> None:
        """Tell the sandbox to outlive this process; ``stop_left_behind`` ends it later."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"keep\n")
        self._process.stdin.flush()
        self.retained = True

    def inventory(self) -> tuple[str, ...]:
        """What exists in the simulated account now, in words. Raises ``SandboxError``."""
        return tuple(self._ask("inventory")["resources"])

    def people(self) -> dict[str, UserInfo]:
        """Whom the simulated account lets into the cluster now, besides its maker. Raises ``SandboxError``."""
        people = self._ask("inventory")["people"]
        return {who: UserInfo(one["user"], tuple(one["groups"])) for who, one in people.items()}

    def problems(self) -> tuple[str, ...] | None:
        """What will not work in the account now; ``None`` if its cloud is not evaluated. Raises ``SandboxError``."""
        problems = self._ask("inventory")["problems"]
        return None if problems is None else tuple(problems)

    def not_simulated(self) -> tuple[str, ...]:
        """Resource types that another program has created and that no table of a cloud has."""
        return noted(self.run_dir)

    def exhaust(self, pools: Collection[str]) -> None:
        """From now on there is no further machine for exactly these pools. Raises ``SandboxError``."""
        self._ask("exhaust", *pools)

    def inject(self, faults: Collection[CallFault]) -> None:
        """From now on exactly these calls of the engine are disturbed, each once. Raises ``SandboxError``."""
        plan = self.run_dir / "call-faults.json"
        plan.write_text(json.dumps([vars(fault) for fault in faults]))
        self._ask("inject", str(plan))

    def calls(self) -> tuple[list[CallFault], dict[str, str]]:
        """The faults that were injected, and the id of all that the clouds have created, by URN.

        Returns when they work on no call any more. Raises ``SandboxError``.
        """
        from rehearsal.providers.call_faults import CallFault

        deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
        while running := (answer := self._ask("calls"))["running"]:
            if time.monotonic() > deadline:
                raise SandboxError(
                    f"the simulated clouds still work on {running} calls after {ANSWER_TIMEOUT_SECONDS:.0f} s"
                )
            time.sleep(0.2)
        return [CallFault(**each) for each in answer["injected"]], answer["ids"]

    def restart(self, program: str) -> bool:
        """SIGKILL to ``kube-apiserver`` or another program, and start it again; false if none runs.

        Raises ``SandboxError``.
        """
        return bool(self._ask("restart", program))

    def reclaim(self, node: str) -> None:
        """The cloud takes the node's machine back, with its notice. Raises ``SandboxError``."""
        self._ask("reclaim", node)

    def break_gpu(self, node: str) -> None:
        """One of the node's GPUs fails. Raises ``SandboxError``."""
        self._ask("break", node)

    def run_cron_jobs(self) -> list[str]:
        """Run the programs of the cluster's CronJobs once; what each writes. Raises ``SandboxError``."""
        return [str(output) for output in self._ask("cron")]

    def maintain(self) -> tuple[Night | None, dict[str, str]]:
        """The cloud's maintenance window comes; what it is, and what became of GPU nodes. Raises ``SandboxError``."""
        answer = self._ask("maintain")
        night = answer["night"]
        return None if night is None else Night(**night), answer["nodes"]

    def _ask(self, request: str, *words: str) -> Any:
        """What the sandbox writes into ``<request>.json`` when it has read the line."""
        assert self._process.stdin is not None
        answer = self.run_dir / f"{request}.json"
        answer.unlink(missing_ok=True)
        self._process.stdin.write(f"{' '.join((request, *words))}\n".encode())
        self._process.stdin.flush()
        deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
        while not answer.exists():
            self.check_alive()
            if time.monotonic() > deadline:
                raise SandboxError(f"the simulated account did not answer within {ANSWER_TIMEOUT_SECONDS:.0f} s")
            time.sleep(0.05)
        return json.loads(answer.read_text())

    def stop(self) -> tuple[int, ...]:
        """End the sandbox and all its processes; returns those that had to be killed."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_TIMEOUT_SECONDS)
        survivors = self._survivors()
        _kill(survivors)
        self._process.wait()
        return tuple(process.pid for process in survivors)

    def _survivors(self) -> list[psutil.Process]:
        self._process.poll()
        try:
            return _running(SandboxFacts.read(self.run_dir / "sandbox.json"), self.run_dir)
        except (OSError, ValueError, KeyError):
            return [each for each in client.processes(self.run_dir) if each.pid == self._process.pid]

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()[-_LOG_LINES:]
        full = shutil.disk_usage(self.run_dir).free < _MIN_FREE
        why = f"The disk of {self.run_dir} is full. " if full else ""
        return why + "Its last log lines:\n  " + "\n  ".join(lines or ["(none)"]) + f"\nLogs: {self.run_dir}"


def stop_left_behind(root: Path) -> list[Path]:
    """End every sandbox recorded under ``root``, kept or orphaned; returns their run directories."""
    stopped = []
    for record in sorted(root.rglob("sandbox.json")):
        try:
            facts = SandboxFacts.read(record)
        except (OSError, ValueError, KeyError):
            continue
        run_dir = record.parent
        running = _running(facts, run_dir)
        if not running:
            continue
        sandbox = [process for process in running if process.pid == facts.pid]
        for process in sandbox:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        psutil.wait_procs(sandbox, STOP_TIMEOUT_SECONDS)
        _kill(running)
        stopped.append(run_dir)
    return stopped


def _running(facts: SandboxFacts, run_dir: Path) -> list[psutil.Process]:
    """The sandbox's living processes. Ids are reused: those that do not name ``run_dir`` are somebody else's."""
    return [process for process in client.processes(run_dir) if process.pid in (facts.pid, *facts.pids)]


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, 5.0)
