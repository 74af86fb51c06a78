"""What rehearsals on the lab's machines have in common: the machines, the engine, checks, the report, the stack file.

In the stack file machines have the lab's keys. What is replaced, because only its owner has it: host keys, the private
key and its user, jump hosts, package sources, image mirrors. What is left out, because the lab has no software for it:
MetalLB, proprietary kernel modules.
"""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml
from rich.console import Console
from rich.markup import escape

from components.settings import Settings
from facts.concepts.counts import counted
from facts.concepts.pool import Pool
from rehearsal.cluster.api import Api, ApiError, UnreachableError
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.cluster.pki import write_private
from rehearsal.engine.engine import CommandResult, Engine
from rehearsal.engine.events import Step
from rehearsal.engine.stack import Stack
from rehearsal.lab.isolation import LabUnavailable
from rehearsal.lab.lab import Lab
from rehearsal.lab.machine import MachineError, MachineSpec, SpecError
from rehearsal.lab.software import Software
from rehearsal.own_machines import look
from rehearsal.own_machines.look import ClusterView, NotSeen
from rehearsal.report.record import RehearsalRecord, Scope
from rehearsal.report.summary import Display, say, verdict
from rehearsal.run.options import Options
from rehearsal.run.recorder import Recorder, RetainedCluster, StageFailed
from rehearsal.sandbox.client import SandboxHandle
from rehearsal.scenario.timeline import Timeline

PREFIX: Final = "gpucluster:"
_POOLS: Final = ("gpuPools", "cpuPools")
# https://admin.pci-ids.ucw.cz/read/PC/10de: what the simulated driver is asked to find.
_DEVICE_IDS: Final[Mapping[str, str]] = {"nvidia-t4": "0x1eb8", "nvidia-l4": "0x27b8", "nvidia-a100-40gb": "0x20b0"}
_ANY_DEVICE: Final = "0x2330"


def machines(settings: Settings) -> list[MachineSpec]:
    """The machines of a stack, as a lab makes them."""
    own: Any = settings.own
    return [
        MachineSpec(machine.name, machine.address, *gpus_of(pool))
        for pool in (settings.admin_pool, *settings.pools)
        for machine in own.machines[pool.name]
    ]


def gpus_of(pool: Pool) -> tuple[int, str]:
    """How many GPUs a machine of the pool has, and their PCI id."""
    return (pool.gpus.per_node, _DEVICE_IDS.get(pool.gpus.type, _ANY_DEVICE)) if pool.gpus.per_node else (0, "")


def write_config(path: Path, config: Mapping[str, Any], secret: str) -> None:
    """Write a stack file; what the engine keeps in the same file stays: its salt and the key ``secret``, encrypted."""
    existing = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    encrypted = {key: value for key, value in (existing.get("config") or {}).items() if key == secret}
    path.write_text(yaml.safe_dump({**existing, "config": {**config, **encrypted}}, sort_keys=False), encoding="utf-8")


class LabStackFile:
    """A copy of a stack file for the lab; ``without`` and ``write`` change the copy."""

    def __init__(self, original: Path, host_keys: Mapping[str, str], user: str, sources: str, key: Path) -> None:
        """``host_keys``: machine → public key. ``sources`` is the address of the package sources, signed by ``key``."""
        content = yaml.safe_load(original.read_text(encoding="utf-8"))
        self._config: dict[str, Any] = content["config"]
        for machine in self._machines(self._config):
            machine["hostKey"] = host_keys[machine["name"]]
            machine.pop("user", None)
            machine.pop("port", None)
        self._config.pop(f"{PREFIX}sshPrivateKey", None)
        (self._config.get(f"{PREFIX}network") or {}).pop("loadBalancerRange", None)
        for pool in self._config[f"{PREFIX}gpuPools"]:
            pool.pop("kernelModules", None)
        self._config[f"{PREFIX}ssh"] = {"user": user}
        signed = {"key": f"{sources}/key.asc", "fingerprint": _fingerprint(key)}
        folders = {"kubernetes": "kubernetes", "driver": "nvidia", "toolkit": "toolkit"}
        self._config[f"{PREFIX}packages"] = {
            name: {"url": f"{sources}/{folder}/", **signed} for name, folder in folders.items()
        }

    def write(
        self,
        path: Path,
        *,
        without: str = "",
        version: str = "",
        planes: int | None = None,
        labels: Mapping[str, str] | None = None,
        ending: str = "",
    ) -> None:
        """Write it, without the machine of that name: then no team may have more GPUs than are left.

        With ``planes``, so many control planes. What stays for the next time: a later ``version`` of Kubernetes, from a
        repository of its own; more ``labels`` of the GPU pools, and an ``ending`` of their names.
        """
        for pool in self._config[f"{PREFIX}gpuPools"]:
            pool["name"] += ending
        for pool in self._config[f"{PREFIX}gpuPools"] if labels else ():
            pool["labels"] = {**pool.get("labels", {}), **(labels or {})}
        if version:
            self._config[f"{PREFIX}kubernetes"] = {"version": version}
            source = self._config[f"{PREFIX}packages"]["kubernetes"]
            source["url"] = source["url"].replace("/kubernetes/", "/kubernetes-later/")
        config = copy.deepcopy(self._config)
        admin = config[f"{PREFIX}adminPool"]
        admin["machines"] = admin["machines"][:planes]
        for machines in self._lists(config):
            machines[:] = [machine for machine in machines if machine["name"] != without]
        for key in _POOLS:
            pools = config.get(f"{PREFIX}{key}") or []
            pools[:] = [pool for pool in pools if pool["machines"]]
        gpus = sum(pool.get("gpusPerNode", 1) * len(pool["machines"]) for pool in config[f"{PREFIX}gpuPools"])
        for team in config.get(f"{PREFIX}teams") or []:
            team["gpus"] = min(team["gpus"], gpus)
        write_config(path, config, f"{PREFIX}sshPrivateKey")

    @staticmethod
    def _lists(config: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
        yield config[f"{PREFIX}adminPool"]["machines"]
        for key in _POOLS:
            yield from (pool["machines"] for pool in config.get(f"{PREFIX}{key}") or ())

    @classmethod
    def _machines(cls, config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for machines in cls._lists(config):
            yield from machines


def _fingerprint(key: Path) -> str:
    shown = subprocess.run(
        ["gpg", "--show-keys", "--with-colons", str(key)], check=True, capture_output=True, text=True
    ).stdout
    return next(line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr:"))


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
_SHELL: Final = (
    "Containers are real, but for the GPUs. This shell is in the machines' network, and has no other.",
    "`exit` ends it, and the rehearsal goes on with `pulumi destroy`.",
)


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

    def _shell(self, engine: Engine, kubeconfig: str) -> None:
        """The user's shell in the machines' network, which is this process's own; then the rehearsal goes on."""
        file = self.run_dir / "kubeconfig"
        write_private(file, kubeconfig)
        retained = RetainedCluster.prepare(engine, self.run_dir, file)
        for line in retained.next_steps(_SHELL):
            self._console.print(line, highlight=False, soft_wrap=True, markup=False)
        subprocess.run([os.environ.get("SHELL") or "/bin/sh"], check=False)

    @contextmanager
    def _upgrading(
        self,
        lab: Lab,
        engine: Engine,
        cluster: Callable[[], ClusterView],
        tolerations: Sequence[Mapping[str, str]] = (),
    ) -> Iterator[None]:
        """The block updates what another version deployed (``--base``) while a job runs; without one it is all."""
        base = self._options.base
        if base is None:
            yield
            return
        with self._stage(f"pulumi up of {base.name}"):
            result = base.engine(engine, engine.stack_file).up(name="base")
            self._engine_check("base", f"`pulumi up` of {base.name} succeeds", result)
            worker, jobs = self._workers[0], "/apis/batch/v1/namespaces/default/jobs"
            self._ready("base-ready", "All nodes are ready, GPUs included", cluster(), list(self._gpus))
            cluster().api.create(jobs, look.job_until_told(worker, tolerations))
            running = partial(look.job_state, cluster(), "Running")
            self._observe("base-job", f"A GPU job runs on {worker}", running)
        pods = {pod["metadata"]["uid"] for pod in cluster().pods("job-name=train")}
        yield
        left = {pod["metadata"]["uid"] for pod in cluster().pods("job-name=train")}
        state = look.job_state(cluster(), "Running")
        title = f"With a job running: the update from {base.name}"
        self._check("upgrade-job", title, not state and left == pods, state or "the job kept running")
        lab.machine(worker).run(["sh", "-c", look.END_JOB])
        self._observe("upgrade-job-ends", "The job ends by itself", partial(look.unfinished, cluster().api, 1))
        cluster().api.delete(f"{jobs}/train")

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
