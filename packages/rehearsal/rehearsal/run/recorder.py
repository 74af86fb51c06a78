"""What every rehearsal does: it records stages, checks and events, always stops, and ends with its report."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import getpid
from pathlib import Path
from typing import ClassVar, Final, Generic, TypeVar

from rich.console import Console

from gpu.api.shared import KubeconfigError
from rehearsal.cluster.pki import write_private
from rehearsal.engine.engine import CommandResult, Engine, EngineError
from rehearsal.engine.events import Step
from rehearsal.report import page
from rehearsal.report.record import RehearsalRecord, StageTime
from rehearsal.report.report import keep_evidence, write_atomically
from rehearsal.report.summary import Display
from rehearsal.run.options import Options, words
from rehearsal.sandbox import client
from rehearsal.sandbox.client import SandboxError, SandboxHandle
from rehearsal.scenario.check import Check

_INTERRUPTED: Final = 130
_SIMULATED: Final = (
    "Containers are simulated: a job succeeds after 3 seconds, `sleep 60` after 60 (or as the pod annotation",
    "rehearsal.gpucluster.dev/seconds says). Logs have one line; exec and port-forward are refused.",
    "`make rehearse-stop` stops the cluster.",
)
_FILE_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class RetainedCluster:
    """``environment`` is a file for a shell: PATH, KUBECONFIG, the program's and Pulumi's variables; ``jobs`` are files
    of manifests; ``stack_file`` is the copy that the engine uses, with the key of the state's secrets.
    """

    environment: Path
    kubeconfig: Path
    jobs: tuple[Path, ...]
    stack: str
    stack_file: Path

    @classmethod
    def prepare(cls, engine: Engine, run_dir: Path, kubeconfig: Path) -> RetainedCluster:
        """Write the files into the run's folder; only the user can read the environment, which has the passphrase."""
        folder = run_dir / "jobs"
        folder.mkdir(exist_ok=True)
        jobs = []
        for pool, manifest in engine.outputs()["gpuJobs"].items():
            path = folder / f"{_FILE_NAME.sub('-', pool)}.yaml"
            path.write_text(manifest)
            jobs.append(path)
        own = engine.environment()
        variables = {name: own[name] for name in sorted(own) if name.startswith(("PULUMI_", "GPUCLUSTER_"))}
        variables |= {"KUBECONFIG": str(kubeconfig), "PYTHONDONTWRITEBYTECODE": "1"}
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        # The interpreter's own folder has the command `gpu`.
        first = os.pathsep.join(map(str, (*engine.path, Path(sys.executable).parent)))
        lines.append(f'export PATH={shlex.quote(first)}:"$PATH"')
        environment = run_dir / "environment.sh"
        write_private(environment, "\n".join(lines) + "\n")
        return cls(environment, kubeconfig, tuple(jobs), engine.stack, engine.stack_file)

    def next_steps(self, notes: Sequence[str] = _SIMULATED) -> Iterator[str]:
        """Instructions for the user, one per line; commands are indented. ``notes``: what runs there, and its end."""
        # Commands without comments: an interactive zsh takes a comment for arguments.
        yield "The cluster keeps running. This puts its kubeconfig, kubectl, pulumi and gpu into a shell:"
        yield f"  . {self.environment}"
        for job in self.jobs[:3]:
            yield f"  kubectl apply -f {job}"
        yield "  kubectl get pods --watch"
        yield "  kubectl get nodes --watch"
        yield "  gpu pools"
        yield f"  pulumi stack output -s {self.stack} autoscaling"
        yield f"  gpucluster prove {self.stack}"
        yield f"  gpucluster prove {self.stack_file} --part stack"
        yield f"The kubeconfig alone: {self.kubeconfig}. All commands of gpu: docs/workloads.md."
        yield from notes


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C inside the block: a second Ctrl-C must not cut off the clean-up after the first."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


R = TypeVar("R", bound=RehearsalRecord)


class StageFailed(Exception):
    """A stage failed so that the following ones make no sense.

    The message is the reason in the verdict; it is empty if a failed check is the reason.
    """


@dataclass(frozen=True)
class Finished(Generic[R]):
    """A rehearsal's result: the record, and where its report is."""

    record: R
    report: Path
    retained: RetainedCluster | None = None
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Whether the verdict is pass."""
        return self.record.verdict == "pass"

    @property
    def exit_code(self) -> int:
        """0 after a pass, 1 after a failure, 130 after Ctrl-C."""
        return _INTERRUPTED if self.interrupted else int(not self.passed)


class Recorder(ABC, Generic[R]):
    """Runs one stack once. ``run`` always stops the processes, writes the report and prints the summary."""

    expected: ClassVar[tuple[type[Exception], ...]] = (StageFailed, EngineError, KubeconfigError, SandboxError)
    """Exceptions whose message is the reason in the verdict."""

    unavailable: ClassVar[tuple[type[Exception], ...]] = ()
    """Exceptions that say that this host cannot rehearse: raised again, after a stop and without a report."""

    def __init__(self, options: Options, console: Console, record: R, display: Display) -> None:
        """Prepare a separate run directory, so that several runs of a stack can run in parallel."""
        self._options, self._console = options, console
        self._record, self._timeline, self._display = record, record.timeline, display
        self._folder = options.build / record.stack
        stamp = record.started_at.strftime("%Y%m%dT%H%M%S")
        self.run_dir = (self._folder / "runs" / f"{stamp}-{getpid()}").absolute()
        self._current = "starting"
        self._retained: RetainedCluster | None = None

    def run(self) -> Finished[R]:
        """Rehearse. Only raises ``unavailable``; of a failing stack or an interruption the report tells the reason."""
        record, interrupted = self._record, ""
        with self._display:
            try:
                self.run_dir.mkdir(mode=0o700, parents=True)
                self._stages()
                record.complete = True
            except KeyboardInterrupt:
                interrupted = self._current
                record.failures.append(f"interrupted during {interrupted}")
            except self.expected as failure:
                if str(failure):
                    record.failures.append(f"{self._current}: {failure}")
            except self.unavailable:
                raise
            except OSError as failure:
                record.failures.append(f"{self._current}: {words(failure)}")
            except Exception as failure:  # after a bug there must still be a report and no running sandbox
                record.failures.append(f"{self._current}: {type(failure).__name__}: {failure}")
                self._console.print_exception()
            finally:
                with uninterrupted():
                    record.ended = self._timeline.now()
                    self._stop()
        with uninterrupted():
            return self._finish(interrupted)

    @abstractmethod
    def _stages(self) -> None:
        """Everything that is rehearsed."""

    @abstractmethod
    def _stop(self) -> None:
        """End what runs, whatever happened; must not raise."""

    @abstractmethod
    def _show(self) -> None:
        """Print the summary, the verdict last."""

    def _finish(self, interrupted: str) -> Finished[R]:
        record, console = self._record, self._console
        with suppress(OSError):
            record.evidence = keep_evidence(self.run_dir, self._folder)
        if record.verdict == "pass" and self._retained is None:
            shutil.rmtree(self.run_dir, ignore_errors=True)
        client.delete_old_runs(self._folder / "runs")
        content = record.to_json(self.run_dir if self.run_dir.exists() else None)
        try:
            write_atomically(self._folder / page.REPORT, content)
        except OSError as failure:
            record.failures.append(f"the report could not be written: {words(failure)}")
        if interrupted:
            # An interrupted run needs no summary.
            console.print(f"\nInterrupted during {interrupted}; everything was stopped.", highlight=False)
        else:
            self._show()
        for path in record.evidence:
            console.print(f"Evidence: {path}", highlight=False, soft_wrap=True)
        if self.run_dir.exists() and not any(str(self.run_dir) in reason for reason in record.failures):
            console.print(f"Logs: {self.run_dir}", highlight=False, soft_wrap=True)
        page.publish(content, self._folder, console)
        return Finished(record, self._folder / page.REPORT, self._retained, bool(interrupted))

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self._current = name
        self._display.stage(name)
        started, failed_before, result = time.monotonic(), self._failed_checks(), "FAILED"
        try:
            yield
            if self._failed_checks() == failed_before:
                result = "done"
        except KeyboardInterrupt:
            result = "interrupted"
            raise
        finally:
            seconds = time.monotonic() - started
            self._record.stages.append(StageTime(name, seconds, result == "done"))
            self._display.done(seconds, result)

    def _failed_checks(self) -> int:
        return sum(not check.passed for check in self._record.checks)

    def _check(self, id: str, title: str, passed: bool, detail: str) -> None:
        self._record.checks.append(Check(id, title, passed, detail))

    def _engine_check(self, id: str, title: str, result: CommandResult) -> None:
        self._check(id, title, result.ok, result.evidence)

    def _on_step(self, step: Step) -> None:
        """Show what the engine does."""
        if step.alters and not step.planned:
            self._display.say(f"{step.op} {step.type} {step.name}")

    def _end(self, sandbox: SandboxHandle | None) -> None:
        """Stop the sandbox and what is left of a start that was interrupted; what had to be killed is a failure."""
        if sandbox is None:
            client.ended(self.run_dir)
            return
        with self._stage("stop"):
            names = ", ".join((*map(str, sandbox.stop()), *client.ended(self.run_dir)))
        if names:
            self._record.failures.append(f"stop: these processes did not stop and were killed: {names}")

    def _say(self, text: str) -> None:
        self._record.events.append((self._timeline.now(), text))
        self._display.say(text)
