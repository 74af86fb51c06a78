"""What rehearsals on the lab's machines have in common: the machines, the engine, checks and the report."""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markup import escape

from components.settings import Settings
from facts.concepts.counts import counted
from rehearsal.cluster.api import Api, ApiError, UnreachableError
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.engine.engine import CommandResult, Engine
from rehearsal.engine.events import Step
from rehearsal.engine.stack import Stack
from rehearsal.lab.isolation import LabUnavailable
from rehearsal.lab.lab import Lab
from rehearsal.lab.machine import MachineError
from rehearsal.lab.software import Software
from rehearsal.lab.specs import MachineSpec, SpecError
from rehearsal.own_machines import look
from rehearsal.own_machines.look import ClusterView, NotSeen
from rehearsal.report.record import RehearsalRecord, Scope
from rehearsal.report.summary import Display, say, verdict
from rehearsal.run.options import Options
from rehearsal.run.recorder import Recorder, StageFailed
from rehearsal.sandbox.client import SandboxHandle
from rehearsal.scenario.timeline import Timeline

_SIMULATED: Final = {
    "GPUs and driver": "NVIDIA's packages are ours: they make device files, and no GPU computes; no kernelModules",
    "the device plugin": "ours, on the real kubelet's socket",
    "the later Kubernetes": "the first one's code with another number",
    "load balancer": "left out of the stack file (network.loadBalancerRange): there is no image of MetalLB here",
    "kernel": "one kernel for all machines: no module, no Secure Boot, no firmware, one clock; cgroups v1",
    "distribution": "Debian 12 on every machine, whatever yours have",
    "registry and Internet": "images and packages come from this machine; packages are signed by a key of its own",
    "pods of charts": "images of workloads run a program that waits",
    "protection from memory shortage": "containerd leaves out oom_score_adj, and AppArmor is off",
}
"""What a pass does not prove: subject → sentence."""


class LabRehearsal(Recorder[RehearsalRecord]):
    """Rehearses a stack on machines in this process's own namespaces (``lab.isolation``)."""

    expected = (*Recorder.expected, MachineError, SpecError, ApiError, UnreachableError)
    unavailable = (LabUnavailable,)

    def __init__(self, stack: Stack, options: Options, root: Path, software: Software, console: Console) -> None:
        """Nothing is started yet; ``root`` and ``software`` are what the machines are made of."""
        record = RehearsalRecord(stack.name, str(stack.file), Timeline(), Scope(_SIMULATED, {}))
        super().__init__(options, console, record, Display(console, record.timeline, {}))
        self._stack = stack
        self._root, self._software = root, software
        self._specs = self.specs_of(stack.settings)
        self._gpus = {spec.name: spec.gpus for spec in self._specs}
        names, count = [spec.name for spec in self._specs], self.plane_count(stack.settings)
        self._planes, self._workers = names[:count], names[count:]

    @staticmethod
    @abstractmethod
    def specs_of(settings: Settings) -> list[MachineSpec]:
        """The machines that the rehearsal of a stack needs. Raises SpecError."""

    @staticmethod
    def plane_count(settings: Settings) -> int:
        """How many of the machines, which come first, are control planes."""
        return 1

    @abstractmethod
    def _play(self, held: ExitStack) -> None:
        """The scenario; ``held`` ends what was started."""

    def _stages(self) -> None:
        with ExitStack() as held:
            self._play(held)

    def _stop(self) -> None:
        """Nothing runs any more."""

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
        user.create("/apis/batch/v1/namespaces/default/jobs", look.job_manifest("train", total, tolerations))
        title = f"A job of {counted(total, 'GPU pod')} runs on all GPUs, submitted by a user"
        self._observe("gpu-job", title, partial(look.unfinished, user, total))
        opened = [look.opened(user, pod["metadata"]["name"]) for pod in cluster.pods("job-name=train")]
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

    def _observe(self, id: str, title: str, condition: Any, seconds: float = look.PATIENCE_SECONDS) -> None:
        started = time.monotonic()
        try:
            look.wait(condition, seconds)
        except NotSeen as missing:
            self._check(id, title, False, str(missing))
            raise StageFailed from None
        self._check(id, title, True, f"after {time.monotonic() - started:.0f} s")

    def _check(self, id: str, title: str, passed: bool, detail: str) -> None:
        super()._check(id, title, passed, detail)
        self._display.say(f"{'✓' if passed else '✗'} {title}: {detail}")

    def _engine_check(self, id: str, title: str, result: CommandResult) -> None:
        super()._engine_check(id, title, result)
        if not result.ok:
            raise StageFailed

    def _on_step(self, step: Step) -> None:
        if step.alters and not step.planned and step.type.startswith("gpucluster-machines"):
            self._say(f"{step.op} {step.name}")

    def _logs(self, lab: Lab) -> None:
        """What the machines themselves say about a failure, in the run's folder."""
        if not self._failed_checks() and sys.exc_info()[0] is None:
            return
        for name in self._gpus:
            with suppress(MachineError, OSError):
                text = lab.machine(name).run(["journalctl", "-b", "--no-pager", "-n", "400"], check=False)
                (self.run_dir / f"{name}.journal.log").write_text(text)

    def _show(self) -> None:
        self._console.print()
        for name, text in self._record.real.items():
            say(self._console, f"Real on {name}: {escape(text)}")
        verdict(self._console, self._record, counted(len(self._record.checks), "check"))


def client_key(kubeconfig: str) -> str:
    """The private key of a kubeconfig's user, as it is there."""
    return str(Kubeconfig.parse(kubeconfig).user["client-key-data"])
