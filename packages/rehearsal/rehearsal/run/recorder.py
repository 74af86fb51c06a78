"""What every rehearsal does: it records stages, checks and events, always stops, and ends with its report."""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import getpid
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from rich.console import Console

from rehearsal.cluster.kubeconfig import KubeconfigError
from rehearsal.engine.engine import CommandResult, EngineError
from rehearsal.engine.events import Step
from rehearsal.report import page
from rehearsal.report.progress import Display
from rehearsal.report.record import RehearsalRecord, StageTime
from rehearsal.report.report import keep_evidence, write_atomically
from rehearsal.run import machine
from rehearsal.run.options import Options
from rehearsal.run.retained import RetainedCluster, uninterrupted
from rehearsal.sandbox import leftovers
from rehearsal.sandbox.client import SandboxError, SandboxHandle
from rehearsal.scenario.check import Check

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
                self.run_dir.mkdir(parents=True)
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
                record.failures.append(f"{self._current}: {machine.words(failure)}")
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
        leftovers.delete_old_runs(self._folder / "runs")
        content = record.to_json(self.run_dir if self.run_dir.exists() else None)
        try:
            write_atomically(self._folder / page.REPORT, content)
        except OSError as failure:
            record.failures.append(f"the report could not be written: {machine.words(failure)}")
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
            leftovers.ended(self.run_dir)
            return
        with self._stage("stop"):
            names = ", ".join((*map(str, sandbox.stop()), *leftovers.ended(self.run_dir)))
        if names:
            self._record.failures.append(f"stop: these processes did not stop and were killed: {names}")

    def _say(self, text: str) -> None:
        self._record.events.append((self._timeline.now(), text))
        self._display.say(text)
