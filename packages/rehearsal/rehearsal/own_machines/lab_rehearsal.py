"""What rehearsals on the lab's machines have in common: the machines, the engine, checks and the report."""

from __future__ import annotations

import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from os import getpid
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

from components.settings import Settings
from facts.concepts.counts import counted
from rehearsal.cluster.api import Api, ApiError, UnreachableError
from rehearsal.cluster.kubeconfig import Kubeconfig, KubeconfigError
from rehearsal.engine.engine import CommandResult, Engine, EngineError
from rehearsal.engine.events import Step
from rehearsal.engine.stack import Stack
from rehearsal.lab.isolation import LabUnavailable
from rehearsal.lab.lab import Lab
from rehearsal.lab.machine import MachineError
from rehearsal.lab.software import Software
from rehearsal.lab.specs import MachineSpec, SpecError
from rehearsal.own_machines import job, look
from rehearsal.own_machines.look import ClusterView, NotSeen
from rehearsal.report import page
from rehearsal.report.report import StageTime, write_atomically
from rehearsal.run.options import Options
from rehearsal.sandbox.client import SandboxError, SandboxHandle
from rehearsal.scenario.check import Check

_SIMULATED: Final = {
    "GPUs and driver": "NVIDIA's packages are ours: they make device files, and no GPU computes",
    "the device plugin": "ours, on the real kubelet's socket",
    "the later Kubernetes": "the first one's code with another number",
    "kernel": "one kernel for all machines: no module, no Secure Boot, no firmware, one clock; cgroups v1",
    "distribution": "Debian 12 on every machine, whatever yours have",
    "registry and Internet": "images and packages come from this machine; packages are signed by a key of its own",
    "pods of charts": "images of workloads run a program that waits",
    "protection from memory shortage": "containerd leaves out oom_score_adj, and AppArmor is off",
}
"""What a pass does not prove: subject → sentence."""


@dataclass
class _Record:
    stack: str
    stages: list[StageTime] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    real: dict[str, str] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    started_at: datetime = field(default_factory=lambda: datetime.now(timezone.utc))

    @property
    def reasons(self) -> list[str]:
        """Why the verdict is not pass; empty if it is."""
        return [*self.failures, *(f"{check.title}: {check.detail}" for check in self.checks if not check.passed)]


class Stopped(Exception):
    """A check failed without which the following make no sense."""


class LabRehearsal(ABC):
    """Runs one stack once, in this process's own namespaces (``lab.isolation``)."""

    def __init__(self, stack: Stack, options: Options, root: Path, software: Software, console: Console) -> None:
        """Nothing is started yet; ``root`` and ``software`` are what the machines are made of."""
        self._stack, self._options, self._console = stack, options, console
        self._root, self._software = root, software
        self._record = _Record(stack.name)
        self._folder = options.build / stack.name
        stamp = self._record.started_at.strftime("%Y%m%dT%H%M%S")
        self.run_dir = (self._folder / "runs" / f"{stamp}-{getpid()}").absolute()
        self._specs = self.specs_of(stack.settings)
        self._gpus = {spec.name: spec.gpus for spec in self._specs}
        self._workers = [spec.name for spec in self._specs[1:]]
        self._started = time.monotonic()

    def run(self) -> bool:
        """Rehearse; whether all checks passed. The report says what happened, also after an interruption.

        Raises:
            LabUnavailable: this host cannot run the machines.
        """
        record = self._record
        self.run_dir.mkdir(parents=True)
        try:
            with ExitStack() as held:
                self._stages(held)
        except Stopped:
            pass  # the check that failed says why
        except KeyboardInterrupt:
            record.failures.append("interrupted")
        except (
            MachineError,
            EngineError,
            SandboxError,
            SpecError,
            KubeconfigError,
            ApiError,
            UnreachableError,
        ) as failure:
            record.failures.append(str(failure))
        except LabUnavailable:
            raise
        except Exception as failure:  # after a bug there must still be a report
            record.failures.append(f"{type(failure).__name__}: {failure}")
            self._console.print_exception()
        self._report()
        return not record.reasons

    @staticmethod
    @abstractmethod
    def specs_of(settings: Settings) -> list[MachineSpec]:
        """The machines that the rehearsal of a stack needs. Raises SpecError."""

    @abstractmethod
    def _stages(self, held: ExitStack) -> None:
        """The scenario; ``held`` ends what was started."""

    def _engine(self, held: ExitStack, write: Callable[[Path], None], secret: tuple[str, str]) -> Engine:
        """The engine of a stack file that ``write`` writes, with one ``secret`` (key, value)."""
        draft = self.run_dir / f"Pulumi.{self._stack.name}.yaml"
        write(draft)
        sandbox = held.enter_context(
            SandboxHandle(self.run_dir, tools=self._options.tools, clouds=(), control_plane=False)
        )
        engine = Engine.create(
            project=self._options.project,
            stack=self._stack.name,
            stack_file=draft,
            run_dir=self.run_dir,
            path=(self._options.tools,),
            on_step=self._on_step,
        )
        facts = sandbox.ready()
        engine = replace(engine, home=facts.pulumi_home, path=(facts.plugins, self._options.tools))
        engine.set_secret(*secret)
        return engine

    def _network(self, lab: Lab, cluster: ClusterView) -> None:
        self._ready("nodes-ready", "All nodes are ready, GPUs included", cluster, list(self._gpus))
        for name, node in cluster.nodes().items():
            self._record.real[name] = look.versions(lab, node, name)
        self._observe("system-pods", "All system pods run", cluster.system_pods_waiting)
        addresses = [
            (pod["spec"]["nodeName"], pod["status"]["podIP"]) for pod in cluster.pods("k8s-app=kube-dns", "kube-system")
        ]
        for name in self._gpus:
            targets = [("10.96.0.1", 443), *((address, 53) for _, address in addresses)]
            self._observe(
                f"network-{name}",
                f"{name} reaches a service and pods on other machines",
                partial(self._unreached, lab, name, targets),
            )

    @staticmethod
    def _unreached(lab: Lab, name: str, targets: list[tuple[str, int]]) -> str:
        failed = [
            f"{address}:{port}"
            for address, port in targets
            if "ok"
            not in lab.machine(name).run(["bash", "-c", f"exec 3<>/dev/tcp/{address}/{port} && echo ok"], check=False)
        ]
        return f"no answer from {', '.join(failed)}" if failed else ""

    def _gpu_job(self, user: Api, cluster: ClusterView, tolerations: Sequence[Mapping[str, str]] = ()) -> None:
        """One pod for each GPU of the stack, submitted by ``user``."""
        total = sum(self._gpus.values())
        user.create("/apis/batch/v1/namespaces/default/jobs", job.manifest("train", total, tolerations))
        title = f"A job of {counted(total, 'GPU pod')} runs on all GPUs, submitted by a user"
        self._observe("gpu-job", title, partial(job.unfinished, user, total))
        opened = [job.opened(user, pod["metadata"]["name"]) for pod in cluster.pods("job-name=train")]
        alone = len(opened) == total and all(len(devices) == 1 for devices in opened)
        detail = ", ".join(" and ".join(devices) or "none" for devices in opened)
        self._check("gpu-alone", "Each pod can open its own GPU and no other", alone, detail)
        user.delete("/apis/batch/v1/namespaces/default/jobs/train")

    def _secrets(self, words: Mapping[str, str]) -> None:
        """These ``words`` (what they are → text) are in no log, and in the state encrypted only."""
        files = [*self.run_dir.rglob("*.log"), *(self.run_dir / "stack").rglob("*.json"), *self.run_dir.glob("*.jsonl")]
        texts = {file: file.read_text(errors="replace") for file in files if file.is_file()}
        readable = [
            f"{what} in {file.name}" for what, word in words.items() for file, text in texts.items() if word in text
        ]
        detail = "; ".join(readable) or f"looked at {counted(len(texts), 'file')}"
        self._check("no-secrets", "No key is in a log or readable in the state", not readable, detail)

    def _ready(self, id: str, title: str, cluster: ClusterView, names: list[str]) -> None:
        self._observe(id, title, partial(cluster.not_ready, names, self._gpus))

    def _observe(self, id: str, title: str, condition: Any) -> None:
        started = time.monotonic()
        try:
            look.wait(condition)
        except NotSeen as missing:
            self._check(id, title, False, str(missing))
            raise Stopped from None
        self._check(id, title, True, f"after {time.monotonic() - started:.0f} s")

    def _check(self, id: str, title: str, passed: bool, detail: str) -> None:
        self._record.checks.append(Check(id, title, passed, detail))
        mark = "[green]✓[/]" if passed else "[bold red]✗[/]"
        self._console.print(f"{self._now()} {mark} {escape(title)}: {escape(detail)}", highlight=False, soft_wrap=True)

    def _engine_check(self, id: str, title: str, result: CommandResult) -> None:
        self._check(id, title, result.ok, result.evidence)
        if not result.ok:
            raise Stopped

    def _on_step(self, step: Step) -> None:
        if step.alters and not step.planned and step.type.startswith("gpucluster-machines"):
            self._say(f"{step.op} {step.name}")

    def _say(self, text: str) -> None:
        self._record.events.append({"at": round(time.monotonic() - self._started, 1), "text": text})
        self._console.print(f"{self._now()}    {escape(text)}", highlight=False, soft_wrap=True)

    def _now(self) -> str:
        return f"{time.monotonic() - self._started:6.1f} s"

    def _logs(self, lab: Lab) -> None:
        """What the machines themselves say about a failure, in the run's folder."""
        if not self._record.reasons and sys.exc_info()[0] is None:
            return
        for name in self._gpus:
            with suppress(MachineError, OSError):
                text = lab.machine(name).run(["journalctl", "-b", "--no-pager", "-n", "400"], check=False)
                (self.run_dir / f"{name}.journal.log").write_text(text)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self._console.print(f"{self._now()} ── {name}", highlight=False)
        started, failed = time.monotonic(), len(self._record.reasons)
        try:
            yield
        finally:
            passed = len(self._record.reasons) == failed
            self._record.stages.append(StageTime(name, time.monotonic() - started, passed))

    def _report(self) -> None:
        record, console = self._record, self._console
        content = {
            "schemaVersion": 1,
            "stack": record.stack,
            "stackFile": str(self._stack.file),
            "startedAt": record.started_at.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self._started, 1),
            "verdict": "fail" if record.reasons else "pass",
            "reasons": record.reasons,
            "real": record.real,
            "scope": {"notRehearsed": _SIMULATED},
            "stages": [asdict(stage) for stage in record.stages],
            "checks": [asdict(check) for check in record.checks],
            "events": record.events,
            "logs": str(self.run_dir) if record.reasons else None,
        }
        write_atomically(self._folder / page.REPORT, content)
        console.print()
        for name, text in record.real.items():
            console.print(f"Real on {name}: {text}", highlight=False, soft_wrap=True)
        console.print(f"[dim]Not rehearsed (why: report.json): {escape(', '.join(_SIMULATED))}.[/]", soft_wrap=True)
        stages = ", ".join(f"{stage.name} {stage.seconds:.0f} s" for stage in record.stages)
        console.print(f"Time: {stages}", highlight=False, soft_wrap=True)
        if not record.reasons:
            shutil.rmtree(self.run_dir, ignore_errors=True)
            console.print(f"\n[bold green]PASS[/] {escape(record.stack)}: {counted(len(record.checks), 'check')}")
        else:
            console.print(f"\n[bold red]FAIL[/] {escape(record.stack)}:")
            for reason in record.reasons:
                console.print(f"  [red]•[/] {escape(reason)}", soft_wrap=True, highlight=False)
            console.print(f"Logs: {self.run_dir}", highlight=False, soft_wrap=True)
        page.publish(content, self._folder, console)


def client_key(kubeconfig: str) -> str:
    """The private key of a kubeconfig's user, as it is there."""
    return str(Kubeconfig.parse(kubeconfig).user["client-key-data"])
