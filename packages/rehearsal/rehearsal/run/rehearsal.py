"""One rehearsal: start the sandbox, update, play the scenario, update again, check drift, destroy, stop, report."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from os import getpid
from pathlib import Path

from rich.console import Console

from facts import catalog
from facts.concepts.counts import counted
from rehearsal import work
from rehearsal.checks import (
    autoscaler_rights,
    calls_allowed,
    cluster_checks,
    leftover_checks,
    people_checks,
    team_checks,
)
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.kubeconfig import Kubeconfig, KubeconfigError
from rehearsal.cluster.pki import PUBLIC_AUTHORITY
from rehearsal.day_two.edits import rounds
from rehearsal.day_two.play import DayTwo
from rehearsal.engine.engine import CommandResult, Engine, EngineError
from rehearsal.engine.events import Step
from rehearsal.engine.stack import Stack, without_protection
from rehearsal.report import page
from rehearsal.report.progress import Display
from rehearsal.report.report import RunRecord, StageTime, keep_evidence, node_prices, to_json, write_atomically
from rehearsal.report.scope import scope_of
from rehearsal.report.summary import show
from rehearsal.report.versions import real_programs, simulated_interfaces
from rehearsal.run import machine
from rehearsal.run.machine import DiskFull
from rehearsal.run.options import Options
from rehearsal.run.retained import RetainedCluster, uninterrupted
from rehearsal.sandbox import leftovers
from rehearsal.sandbox.client import SandboxError, SandboxHandle
from rehearsal.scenario import autoscaler_messages, cloud_calls
from rehearsal.scenario.check import Check, Pools
from rehearsal.scenario.manifests import ManifestsError, apply, read, settle
from rehearsal.scenario.manifests import checks as manifest_checks
from rehearsal.scenario.plan import Scenario, derive
from rehearsal.scenario.player import PATIENCE_SECONDS, Player
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import User, let_in, short_message
from rehearsal.scenario.watcher import Watcher


class StageFailed(Exception):
    """A stage failed so that the following ones make no sense; the message is the reason in the verdict."""


@dataclass(frozen=True)
class Finished:
    """A rehearsal's result: the record, and where its report is."""

    record: RunRecord
    report: Path
    retained: RetainedCluster | None = None
    interrupted: bool = False

    @property
    def passed(self) -> bool:
        """Whether the verdict is pass."""
        return self.record.verdict == "pass"


class Rehearsal:
    """Runs one stack once. ``run`` always stops the processes, writes the report and prints the summary."""

    def __init__(self, stack: Stack, options: Options, console: Console) -> None:
        """Prepare a separate run directory, so that several runs of a stack can run in parallel."""
        self._stack, self._options, self._console = stack, options, console
        settings = stack.settings
        self._pools = Pools(settings.gpu_pools, settings.cpu_pools, settings.admin_pool)
        self._timeline = Timeline()
        self._record = RunRecord(stack.name, str(stack.file), self._timeline, self._pools, node_prices(settings))
        self._record.scope = scope_of(settings, options.day_two, limited=options.account is not None)
        self._record.seed = options.seed
        self._folder = options.build / stack.name
        stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S")
        self.run_dir = self._folder / "runs" / f"{stamp}-{getpid()}"
        self._admin: Api | None = None
        self._control_plane: Path | None = None
        self._user: User | None = None
        self._scenario_played: Scenario | None = None
        self._watcher: Watcher | None = None
        self._display = Display(console, self._timeline, self._pools)
        self._sandbox: SandboxHandle | None = None
        self._current = "starting"
        self._interrupted = ""

    def run(self) -> Finished:
        """Rehearse. Never raises for a failing stack or an interruption: the report says what happened."""
        record, retained = self._record, None
        with self._display:
            try:
                self.run_dir.mkdir(parents=True)
                machine.require_room(self.run_dir)
                retained = self._stages()
                record.complete = True
            except KeyboardInterrupt:
                self._interrupted = self._current
                record.failures.append(f"interrupted during {self._current}")
            except (StageFailed, EngineError, KubeconfigError, SandboxError, DiskFull, ManifestsError) as failure:
                record.failures.append(f"{self._current}: {failure}")
            except OSError as failure:
                record.failures.append(f"{self._current}: {machine.words(failure)}")
            except Exception as failure:  # after a bug there must still be a report and no running sandbox
                record.failures.append(f"{self._current}: {type(failure).__name__}: {failure}")
                self._console.print_exception()
            finally:
                with uninterrupted():
                    self._stop()
        with uninterrupted():
            return self._finish(retained)

    def _stages(self) -> RetainedCluster | None:
        with self._stage("start the sandbox"):
            engine, kubeconfig = self._start()
        with self._stage("pulumi up"):
            self._up(engine)
        if self._options.apply is not None:
            with self._stage("apply your manifests"):
                self._apply(engine, read(self._options.apply))
        with self._stage("scenario"):
            self._scenario(engine)
            if self._options.fail_fast and self._failed_checks():
                raise StageFailed("stopped at the first failure")
        if self._options.day_two != "none":
            with self._stage("day two"):
                self._day_two(engine)
        if self._options.keep:
            return RetainedCluster.prepare(engine, self.run_dir, kubeconfig)
        with self._stage("pulumi destroy"):
            self._destroy(engine)
        return None

    def _start(self) -> tuple[Engine, Path]:
        options = self._options
        stack = self._stack
        self._sandbox = SandboxHandle(
            self.run_dir,
            tools=options.tools,
            clouds=stack.plugins,
            inside=options.inside,
            existing=stack.with_existing,
            account=options.account,
        )
        # In parallel with the start of the sandbox, because the engine's first start is slow.
        engine = Engine.create(
            project=options.project,
            stack=self._stack.name,
            stack_file=self._stack.file,
            run_dir=self.run_dir,
            path=(options.tools,),
            passphrase=self._stack.passphrase,
            on_step=self._on_step,
        )
        self._record.real, self._record.simulated = real_programs(stack, engine), simulated_interfaces(stack)
        facts = self._sandbox.ready()
        if facts.kubeconfig is None:
            raise SandboxError("the sandbox started without a control plane")
        self._control_plane = facts.kubeconfig.parent
        self._admin = Api(Kubeconfig.parse(facts.kubeconfig.read_text()))
        self._watcher = Watcher(self._admin, self._timeline)
        first = () if options.plugins is None else (options.plugins.resolve(),)
        return replace(engine, home=facts.pulumi_home, path=(*first, facts.plugins, options.tools)), facts.kubeconfig

    def _up(self, engine: Engine) -> None:
        result = engine.up(self._options.gate)
        self._record.violations = result.outcome.violations
        # If a program in the cluster crashed, its message is the reason.
        troubles = [] if result.ok else [f"{one.name}: {one.message}" for one in self._timeline.unusable_machines()]
        self._check(
            "up", "`pulumi up` succeeds and the gate passes", result.ok, "; ".join((result.evidence, *troubles))
        )
        if not result.ok:
            raise StageFailed(f"pulumi up failed: {result.reason}")

    def _apply(self, engine: Engine, manifests: list[Object]) -> None:
        """Apply the user's manifests as the deployer; delete those that request GPUs once their pods have settled."""
        record, deployer = self._record, self._deployer(engine)
        record.played.first_gpu_submission = self._timeline.now()
        record.applied = apply(deployer, manifests, self._wait)
        for one in record.applied:
            answer = "accepted" if one.reply.ok else f"refused: {short_message(one.reply.message)}"
            self._say(f"{one.kind} {one.name}: {answer}")
            for warning in one.reply.warnings:
                self._say(f"{one.kind} {one.name}: warning: {short_message(warning)}")
        settle(record.applied, self._timeline, self._wait)
        record.checks += manifest_checks(record.applied, self._timeline)
        using = [one for one in record.applied if one.gpus and one.reply.ok]
        for one in using:
            deployer.delete(deployer.resource(one.manifest["apiVersion"], one.kind).path(one.name, one.namespace))
        if using:
            self._say("deleting your manifests that request GPUs, so that the scenario starts without GPU nodes")
            self._wait(lambda: not self._timeline.gpu_nodes_now(), PATIENCE_SECONDS)

    def _deployer(self, engine: Engine) -> Api:
        kubeconfig = Kubeconfig.parse(engine.outputs()["kubeconfig"])
        return Api(kubeconfig, engine.path, self.run_dir / PUBLIC_AUTHORITY)

    def _wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        return self._timeline.wait_until(condition, seconds, self._alive)

    def _scenario(self, engine: Engine) -> None:
        outputs = engine.outputs()
        self._record.declared_cost, self._record.raw = outputs["cost"], outputs.get("raw") or {}
        assert self._admin is not None
        assert self._sandbox is not None
        assert self._control_plane is not None
        developer = Api(Kubeconfig.parse((self._control_plane / "developer.kubeconfig").read_text()))
        let_in(self._deployer(engine), developer, self._wait)
        user = User(developer)
        admin_cpus = max((node.cpus for node in self._timeline.nodes if node.role == "admin"), default=0.0)
        scenario = derive(self._pools.gpu, outputs["gpuJobs"], admin_cpus, self._options.seed)
        player = Player(
            user,
            self._timeline,
            self._say,
            self._alive,
            while_scaled_up=lambda: self._idempotence(engine),
            exhaust=self._sandbox.exhaust,
            fail_fast=self._options.fail_fast,
            played=self._record.played,
        )
        player.play(scenario)
        self._user, self._scenario_played = user, scenario
        calls = cloud_calls.read(self.run_dir / "logs")
        messages = autoscaler_messages.of_pools(self._admin, self._timeline, calls)
        self._record.checks += cluster_checks(self._timeline, self._pools, scenario, player.played, messages)
        self._record.checks += autoscaler_rights(self._admin)
        self._record.checks += calls_allowed(calls)
        if self._options.fail_fast and not all(each.passed for each in self._record.checks):
            return
        if access := self._stack.settings.access:
            self._record.checks += people_checks(self._admin, access, self._sandbox.people())
        self._record.checks += team_checks(self._admin, self._stack.settings.teams, self._wait)
        maintenance = self._stack.settings.maintenance
        self._record.checks += work.checks(
            self._stack.settings.workloads.services,
            self._admin,
            developer,
            self._timeline,
            self._wait,
            self._sandbox.reclaim,
            self._sandbox.maintain,
            f"{maintenance.day} {maintenance.start} {maintenance.hours} h",
        )

    def _day_two(self, engine: Engine) -> None:
        assert self._user is not None
        assert self._scenario_played is not None
        assert self._admin is not None
        settings, kubernetes = self._stack.settings, self._stack.settings.kubernetes
        cloud = catalog.of(settings.cloud)
        effects = cloud.changes[settings.autoscaler]
        play = DayTwo(
            engine,
            self._options.gate,
            self._user,
            self._timeline,
            self._wait,
            version=kubernetes.version or cloud.kubernetes_versions.get(kubernetes.channel) or self._admin.version(),
            effects=effects,
            edits=rounds(self._options.day_two, effects, protected=settings.security.deletion_protection),
        )
        self._record.changes = play.changes
        for check in play.play(self._scenario_played):
            self._record.checks.append(check)
            self._say(f"{check.title}: {check.detail}")

    def _idempotence(self, engine: Engine) -> None:
        nodes = {node.name for node in self._timeline.gpu_nodes_now()}
        again = engine.up(self._options.gate, name="up-again", expect_no_changes=True)
        if not again.ok and {node.name for node in self._timeline.gpu_nodes_now()} != nodes:
            # An autoscaler that acts at the same time can make an update fail; the next continues (docs/operations.md).
            again = engine.up(self._options.gate, name="up-once-more", expect_no_changes=True)
        title = f"With {counted(len(nodes), 'GPU node')} running, a second update changes nothing"
        self._engine_check("second-up-no-changes", title, again)
        self._engine_check("no-drift", "`pulumi refresh` finds no drift in the cloud or the cluster", engine.drift())

    def _destroy(self, engine: Engine) -> None:
        protected = self._stack.settings.security.deletion_protection
        if protected:
            self._refused_destroy(engine)
            without_protection(engine.stack_file)
            self._say("security.deletionProtection: false, then pulumi up, then pulumi destroy")
            lifted = engine.up(self._options.gate, name="unprotect")
            self._engine_check("unprotect", "`deletionProtection: false` removes the protection", lifted)
        retained = engine.retained()
        destroyed = engine.destroy()
        self._engine_check("destroy", "`pulumi destroy` succeeds", destroyed)
        assert self._sandbox is not None
        nodes = [f"node {node.name}" for node in self._timeline.living_nodes()]
        self._record.checks += leftover_checks([*nodes, *self._sandbox.inventory()], retained)

    def _refused_destroy(self, engine: Engine) -> None:
        title = "A protected stack refuses `pulumi destroy` and deletes nothing"
        resources = len(engine.resources())
        refused = engine.destroy("destroy-refused")
        lost = resources - len(engine.resources())
        detail = f"refused: {refused.reason.splitlines()[0]}" if not refused.ok else "the destroy was not refused"
        if lost:
            detail = f"{lost} of {resources} resources were deleted before the refusal"
        self._check("destroy-refused", title, not refused.ok and not lost, detail)

    def _stop(self) -> None:
        self._current = "stop"
        self._record.ended = self._timeline.now()
        if self._watcher is not None:
            self._watcher.stop()
        if self._sandbox is None:
            # Ctrl-C may have interrupted its start.
            leftovers.ended(self.run_dir)
            return
        if self._options.keep and self._record.complete and self._record.verdict == "pass":
            self._sandbox.keep()
            return
        with self._stage("stop"):
            killed = self._sandbox.stop()
            leftover = leftovers.ended(self.run_dir)
        names = ", ".join((*(str(pid) for pid in killed), *leftover))
        if names:
            self._record.failures.append(f"stop: these processes did not stop and were killed: {names}")

    def _finish(self, prepared: RetainedCluster | None) -> Finished:
        record = self._record
        retained = self._sandbox is not None and self._sandbox.retained
        with suppress(OSError):
            record.evidence = keep_evidence(self.run_dir, self._folder)
        if record.verdict == "pass" and not retained:
            shutil.rmtree(self.run_dir, ignore_errors=True)
        leftovers.delete_old_runs(self._folder / "runs")
        content = to_json(record, self.run_dir if self.run_dir.exists() else None)
        try:
            write_atomically(self._folder / page.REPORT, content)
        except OSError as failure:
            record.failures.append(f"the report could not be written: {machine.words(failure)}")
        if self._interrupted:
            # An interrupted run needs no summary.
            self._console.print(f"\nInterrupted during {self._interrupted}; everything was stopped.", highlight=False)
        else:
            show(self._console, record)
        for path in record.evidence:
            self._console.print(f"Evidence: {path}", highlight=False, soft_wrap=True)
        if self.run_dir.exists() and not any(str(self.run_dir) in reason for reason in record.failures):
            self._console.print(f"Logs: {self.run_dir}", highlight=False, soft_wrap=True)
        page.publish(content, self._folder, self._console)
        return Finished(record, self._folder / page.REPORT, prepared if retained else None, bool(self._interrupted))

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

    def _say(self, text: str) -> None:
        self._record.events.append((self._timeline.now(), text))
        self._display.say(text)

    def _on_step(self, step: Step) -> None:
        if step.alters and not step.planned:
            self._display.say(f"{step.op} {step.type} {step.name}")

    def _alive(self) -> None:
        if self._sandbox is not None:
            self._sandbox.check_alive()
