"""One rehearsal of another Pulumi program: preview with the gate, update, a pod and a node for each GPU pool, destroy.

All that is known of the program is what it declares: no stack file of this project describes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from facts.concepts.counts import counted
from facts.concepts.declared import NodeGroup
from facts.concepts.rest import short_message
from rehearsal.checks import account_checks, leftover_checks
from rehearsal.cluster.api import Api
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.engine.engine import CommandResult, Engine, PolicyPack, policy_pack
from rehearsal.engine.events import PolicyViolation
from rehearsal.engine.program import GATE, ForeignProgram, open_program
from rehearsal.engine.stack import ROOT
from rehearsal.report import summary
from rehearsal.report.changes import stack_change
from rehearsal.report.record import RehearsalRecord, Scope, real_programs, simulated_interfaces
from rehearsal.report.summary import Display
from rehearsal.run.options import Options, require_room
from rehearsal.run.preview import show_violations
from rehearsal.run.recorder import Recorder, StageFailed
from rehearsal.sandbox.client import SandboxHandle
from rehearsal.scenario import declared
from rehearsal.scenario.plan import HELD, SECONDS
from rehearsal.scenario.player import PATIENCE_SECONDS
from rehearsal.scenario.timeline import NodeRecord, Timeline
from rehearsal.scenario.user import User, Watcher
from rehearsal.tools import provide
from rehearsal.tools.own_autoscaler import own_autoscaler

_SCOPE: Final = {
    "what the program means": "only what it declares is known; nothing is compared with what was intended",
    "workloads": "one pod for each GPU pool; not the program's own jobs, CPU pods, quotas, people or changed settings",
    "inputs of the cloud": "only the rules that are listed for each cloud; the network is not simulated",
    "time": "compressed: node starts, idle times and timeouts take much longer in a cloud",
}
_PROTECTED: Final = re.compile(r"cannot be deleted\s+because it is protected|deletion[_ ]?protection", re.IGNORECASE)
"""The engine's words and the providers'. https://www.pulumi.com/docs/iac/concepts/resources/options/protect/"""


def gate_of(program: ForeignProgram) -> PolicyPack:
    """This project's gate with the configuration file in the program's folder, or with this project's default one.

    Raises ``EngineError`` for a file that cannot be used.
    """
    own = program.folder / GATE
    return policy_pack(ROOT, own if own.is_file() else ROOT / "policies" / "config" / "default.json")


def is_protected(reason: str) -> bool:
    """Whether a destroy failed because the program protects a resource from it."""
    return _PROTECTED.search(reason) is not None


def refused_by(gate: PolicyPack, violations: Iterable[PolicyViolation], folder: Path) -> str:
    """Which mandatory rules refuse a program, whose levels these are, and where to lower one."""
    rules = ", ".join(f"{one.rule} on {one.resource}" for one in violations)
    return f"refused: {rules}. The levels are those of {gate.config}; lower a rule in {folder / GATE}"


class ProgramRehearsal(Recorder[RehearsalRecord]):
    """Rehearses another Pulumi program against simulated clouds. Without a GPU pool the verdict is not a pass."""

    def __init__(self, program: ForeignProgram, options: Options, console: Console) -> None:
        """Nothing is started yet."""
        record = RehearsalRecord(program.name, str(program.file), Timeline(), Scope(_SCOPE, {}))
        super().__init__(options, console, record, Display(console, record.timeline, {}))
        self._program = program
        self._sandbox: SandboxHandle | None = None
        self._watcher: Watcher | None = None
        self._violations: tuple[PolicyViolation, ...] = ()

    def _stages(self) -> None:
        require_room(self.run_dir)
        with self._stage("start the sandbox"):
            engine, sandbox, admin = self._start()
        with self._stage("pulumi preview"):
            gate = self._preview(engine)
        try:
            with self._stage("pulumi up"):
                groups = self._up(engine, gate)
            with self._stage("GPU pools"):
                self._pools(engine, gate, groups, User(admin))
                self._account(sandbox)
            with self._stage("pulumi destroy"):
                self._destroy(engine, sandbox)
        finally:
            self._name_defaults(sandbox)

    def _start(self) -> tuple[Engine, SandboxHandle, Api]:
        program, tools = self._program, self._options.tools
        # Held at once, so that an interruption ends it.
        self._sandbox = sandbox = SandboxHandle(
            self.run_dir, tools=tools, clouds=program.plugins, packages=program.packages
        )
        file = program.file
        if not file.exists():
            file = self.run_dir / "empty.yaml"
            file.write_text("")
        engine = Engine.create(
            project=program.folder,
            stack=program.stack,
            stack_file=file,
            run_dir=self.run_dir,
            path=(tools,),
            passphrase=program.passphrase,
            on_step=self._on_step,
        )
        self._record.real = real_programs(program, engine, self._options.autoscaler)
        self._record.simulated = simulated_interfaces(program)
        facts = sandbox.ready()
        assert facts.kubeconfig is not None
        admin = Api(Kubeconfig.parse(facts.kubeconfig.read_text()))
        self._watcher = Watcher(admin, self._timeline)
        # Without an environment of its own, the program's `python3` is that of the rehearsal.
        return (
            replace(
                engine, home=facts.pulumi_home, path=(facts.plugins, tools, program.environment / "bin"), bytecode=False
            ),
            sandbox,
            admin,
        )

    def _preview(self, engine: Engine) -> PolicyPack | None:
        """The gate for the update; ``None`` where it refuses the program, which is rehearsed all the same."""
        gate = self._options.gate
        assert gate is not None, "every rehearsal of a program has one"
        result = engine.preview(gate)
        refused = result.outcome.mandatory
        if not result.ok and not refused:
            self._cannot_run("pulumi preview", result)
        self._violations = refused
        passed = f"with {counted(len(result.outcome.violations) - len(refused), 'advisory violation')}"
        detail = refused_by(gate, refused, self._program.folder) if refused else passed
        detail += f". {result.outcome.cost_note}" if result.outcome.cost_note else ""
        self._check("gate", "The gate passes", not refused, detail)
        return None if refused else gate

    def _up(self, engine: Engine, gate: PolicyPack | None) -> list[NodeGroup]:
        """The GPU pools, read from what the engine logged at the update, when names and sizes are known."""
        result = engine.up(gate, skip_preview=True)
        if not result.ok:
            self._cannot_run("pulumi up", result)
        self._engine_check("up", "`pulumi up` succeeds", result)
        state = stack_change(result.events).after
        groups = declared.gpu_groups(state.groups)
        resources = [each for each in state.declared if not each.type.startswith("pulumi:")]
        names = ", ".join(f"{group.name} ({counted(int(str(group.gpus.per_node)), 'GPU')})" for group in groups)
        self._check(
            "gpu-pools",
            "The program declares GPU pools that can be read",
            bool(groups),
            names or declared.no_pools(state.groups, len(resources)),
        )
        return groups

    def _cannot_run(self, what: str, result: CommandResult) -> None:
        trouble = [f"{one.name}: {one.message}" for one in self._timeline.unusable_machines()]
        why = self._program.cause(result.outcome.errors) or result.reason
        raise StageFailed("; ".join((f"{what} failed: {why}", *trouble)))

    def _pools(self, engine: Engine, gate: PolicyPack | None, groups: list[NodeGroup], user: User) -> None:
        checked, rehearsed = False, set[str]()
        for number, group in enumerate(groups):
            if why := declared.without_scenario(group, rehearsed):
                self._not_rehearsed(declared.title(group, groups), why)
                continue
            rehearsed.add(group.name)
            pod = declared.pod_for(group, f"rehearsal-{number}")
            pod["metadata"]["annotations"][SECONDS] = HELD
            name = pod["metadata"]["name"]
            self._say(f"{name}: a pod that requests the GPUs of a node of {group.name}")
            if self._scaled_up(group, name, user.create(pod).message) and not checked:
                checked = True
                self._unchanged(engine, gate, "With a GPU node running, a second update changes nothing")
            user.delete("Pod", name)
            self._scaled_down(group)
        if not checked:
            self._unchanged(engine, gate, "A second update changes nothing")

    def _scaled_up(self, group: NodeGroup, pod: str, refusal: str) -> bool:
        def node() -> NodeRecord | None:
            running = [each for each in self._timeline.pods_of(pod) if each.running is not None]
            return self._timeline.node_of(running[0]) if running else None

        if not refusal:
            self._wait(lambda: node() is not None)
        placed = node()
        if refusal:
            detail = f"refused: {short_message(refusal)}"
        elif placed is None:
            why = self._timeline.why_pending(pod) or "no event says why"
            detail = f"the pod stays Pending: {why}"
        else:
            waited = self._timeline.pods_of(pod)[0].waited or 0.0
            detail = f"it runs on {placed.name} after {waited:.1f} s"
            detail += "" if declared.belongs(placed, group) else ", a node of another pool"
        passed = placed is not None and declared.belongs(placed, group)
        self._check(f"up:{group.name}", f"A pending GPU pod gets a node of {group.name}", passed, detail)
        return passed

    def _scaled_down(self, group: NodeGroup) -> None:
        def left() -> list[str]:
            return [each.name for each in self._timeline.living_nodes() if declared.belongs(each, group)]

        if not declared.scales_to_zero(group):
            self._not_rehearsed(f"scale-down of {group.name}", f"it always has {group.scaling.min_nodes} nodes")
            return
        self._wait(lambda: not left())
        remaining = left()
        title = f"Without the pod, {group.name} scales to zero"
        self._check(f"zero:{group.name}", title, not remaining, ", ".join(remaining) or "no node is left")

    def _unchanged(self, engine: Engine, gate: PolicyPack | None, title: str) -> None:
        again = engine.up(gate, name="up-again", expect_no_changes=True)
        self._engine_check("second-up-no-changes", title, again)
        self._engine_check("no-drift", "`pulumi refresh` finds no drift in the cloud or the cluster", engine.drift())

    def _account(self, sandbox: SandboxHandle) -> None:
        self._record.checks += account_checks(sandbox.problems())

    def _destroy(self, engine: Engine, sandbox: SandboxHandle) -> None:
        retained = engine.retained()
        result = engine.destroy()
        if not result.ok and is_protected(result.reason):
            self._not_rehearsed("destroy", f"the program protects what it creates: {result.reason.splitlines()[0]}")
            return
        self._engine_check("destroy", "`pulumi destroy` succeeds", result)
        nodes = [f"node {node.name}" for node in self._timeline.living_nodes()]
        self._record.checks += leftover_checks([*nodes, *sandbox.inventory()], retained)

    def _name_defaults(self, sandbox: SandboxHandle) -> None:
        for type in sandbox.not_simulated():
            self._not_rehearsed(type, "not simulated: its inputs came back as outputs, and nothing uses them")

    def _not_rehearsed(self, subject: str, why: str) -> None:
        scope = self._record.scope
        self._record.scope = replace(scope, not_rehearsed={**scope.not_rehearsed, subject: why})
        self._say(f"not rehearsed: {subject}: {why}")

    def _wait(self, condition: Callable[[], bool]) -> None:
        assert self._sandbox is not None
        self._timeline.wait_until(condition, PATIENCE_SECONDS, self._sandbox.check_alive)

    def _stop(self) -> None:
        self._current = "stop"
        if self._watcher is not None:
            self._watcher.stop()
        self._end(self._sandbox)

    def _show(self) -> None:
        show_violations(self._console, self._violations)
        summary.show_checks(self._console, self._record)
        summary.verdict(self._console, self._record, counted(len(self._record.checks), "check"))


def rehearse_program(folder: Path, stack: str, console: Console) -> int:
    """Rehearse another Pulumi program, with the gate's configuration in its folder. Returns the exit code."""
    program = open_program(folder, stack)
    options = Options(tools=provide(program.tools), gate=gate_of(program), autoscaler=own_autoscaler())
    return ProgramRehearsal(program, options, console).run().exit_code
