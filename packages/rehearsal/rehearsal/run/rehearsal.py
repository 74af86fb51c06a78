"""One rehearsal: start the sandbox, update, play the scenario, update again, check drift, destroy, stop, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from facts import catalog
from facts.concepts.counts import counted
from facts.concepts.kubernetes import DEFAULT_NAMESPACE
from facts.concepts.rest import short_message
from rehearsal import checks, work
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.cluster.pki import PUBLIC_AUTHORITY
from rehearsal.day_two.edits import rounds
from rehearsal.day_two.job import NEVER_RAN, RunningJob
from rehearsal.day_two.play import DayTwo
from rehearsal.engine.engine import CommandResult, Engine
from rehearsal.engine.events import name_of
from rehearsal.engine.recovery import own_type
from rehearsal.engine.stack import Stack, without_protection
from rehearsal.fleet.groups import read_report
from rehearsal.report.changes import stack_change
from rehearsal.report.record import real_programs, scope_of, simulated_interfaces
from rehearsal.report.report import RunRecord, node_prices
from rehearsal.report.summary import Display, show
from rehearsal.run.options import DiskFull, Options, require_room
from rehearsal.run.recorder import Recorder, RetainedCluster, StageFailed
from rehearsal.run.upgrade import DeployedVersion, drift_check
from rehearsal.sandbox.client import SandboxError, SandboxHandle
from rehearsal.scenario import autoscaler_messages
from rehearsal.scenario.check import groups_of, offer_of, pools_of
from rehearsal.scenario.manifests import ManifestsError, apply, read, settle
from rehearsal.scenario.manifests import checks as manifest_checks
from rehearsal.scenario.plan import Scenario, derive
from rehearsal.scenario.player import CHANCE_SECONDS, PATIENCE_SECONDS, Player
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import User, Watcher, let_in


def deleted(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Names of the resources that a state had and has no longer, by their URNs.

    The engine's default providers are its own: it drops one that no resource uses, such as that of ``pulumi`` itself.
    """
    return sorted(name_of(urn) for urn in {*before} - {*after} if own_type(urn).partition(":providers:")[1] == "")


class Rehearsal(Recorder[RunRecord]):
    """Rehearses a stack against simulated clouds."""

    expected = (*Recorder.expected, DiskFull, ManifestsError)
    own_nodes_only: ClassVar[bool] = False
    """Whether the cluster has nodes of others, which no check is about."""
    not_checked: ClassVar[frozenset[str]] = frozenset()
    """Checks of what only a stack with a cluster of its own decides."""

    def __init__(self, stack: Stack, options: Options, console: Console) -> None:
        """Nothing is started yet. Raises StackError: the stack cannot be updated from the version in ``options``."""
        if options.base is not None:
            options.base.require_updatable(stack)
        settings, timeline = stack.settings, Timeline(own_nodes_only=self.own_nodes_only)
        self._limited = options.account is not None
        self._pools = pools_of(settings)
        record = RunRecord(
            stack.name,
            str(stack.file),
            timeline,
            scope_of(settings, options.day_two, limited=self._limited, autoscaler=options.autoscaler),
            pools=self._pools,
            price=node_prices(settings),
            seed=options.seed,
        )
        super().__init__(options, console, record, Display(console, timeline, self._pools.maxima))
        self._stack = stack
        self._admin: Api | None = None
        self._control_plane: Path | None = None
        self._user: User | None = None
        self._scenario_played: Scenario | None = None
        self._watcher: Watcher | None = None
        self._sandbox: SandboxHandle | None = None
        self._packages: Mapping[str, str] = {}
        self._others = frozenset[str]()  # groups of machines that are not the stack's

    def _stages(self) -> None:
        require_room(self.run_dir)
        with self._stage("start the sandbox"):
            engine, kubeconfig = self._start()
        self._prepare(engine)
        if self._options.base is not None:
            with self._stage(f"pulumi up of {self._options.base.name}"):
                self._deploy(engine, self._options.base)
            with self._stage("upgrade"):
                self._upgrade(engine, self._options.base)
        else:
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
            self._retained = RetainedCluster.prepare(engine, self.run_dir, kubeconfig)
            return
        with self._stage("pulumi destroy"):
            self._destroy(engine)

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
            packages=self._packages,
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
        self._record.real = real_programs(stack, engine, options.autoscaler)
        self._record.simulated = simulated_interfaces(stack)
        facts = self._sandbox.ready()
        if facts.kubeconfig is None:
            raise SandboxError("the sandbox started without a control plane")
        self._control_plane = facts.kubeconfig.parent
        self._admin = Api(Kubeconfig.parse(facts.kubeconfig.read_text()))
        self._watcher = Watcher(self._admin, self._timeline)
        first = () if options.plugins is None else (options.plugins.resolve(),)
        return replace(engine, home=facts.pulumi_home, path=(*first, facts.plugins, options.tools)), facts.kubeconfig

    def _prepare(self, engine: Engine) -> None:
        """What is there before the stack, besides its fixtures: nothing."""

    def _deploy(self, engine: Engine, base: DeployedVersion) -> None:
        # Without the gate: what runs has passed that of its own version.
        result = base.engine(engine, self._stack.file).up(name="base")
        self._engine_check("base", f"`pulumi up` of {base.name} succeeds", result)
        if not result.ok:
            raise StageFailed(base.failure(result))

    def _upgrade(self, engine: Engine, base: DeployedVersion) -> None:
        """Update what runs to today's program while a job runs; then its node goes, as the scenario begins empty."""
        assert self._admin is not None
        user, scenario = self._planned(engine)
        self._record.played.first_gpu_submission = self._timeline.now()
        job = RunningJob(scenario, user, self._timeline, self._wait)
        before = job.placed()
        if before is None:
            raise StageFailed(NEVER_RAN)
        upgraded = self._up(engine)
        again = engine.up(self._options.gate, name="upgraded-again", expect_no_changes=True)
        checks = [*base.checks(job, before, upgraded, again)]
        if not self._pools.in_groups:
            checks.append(drift_check(self._admin))
        self._record.checks += checks
        for check in checks:
            self._say(f"{check.title}: {check.detail}")
        job.delete()
        self._wait(lambda: not self._timeline.gpu_nodes_now(), PATIENCE_SECONDS)

    def _up(self, engine: Engine) -> CommandResult:
        result = engine.up(self._options.gate)
        self._record.violations = result.outcome.violations
        # If a program in the cluster crashed, its message is the reason.
        troubles = [] if result.ok else [f"{one.name}: {one.message}" for one in self._timeline.unusable_machines()]
        self._check(
            "up", "`pulumi up` succeeds and the gate passes", result.ok, "; ".join((result.evidence, *troubles))
        )
        if not result.ok:
            raise StageFailed(f"pulumi up failed: {result.reason}")
        groups = read_report(self.run_dir / "fleet.json", self._others)
        if self._pools.in_groups:
            self._record.checks.append(checks.groups_as_declared(groups, self._pools, limited=self._limited))
        declared = (each.properties for each in stack_change(result.events).after.declared)
        objects = [dict(each) for each in declared if {"kind", "metadata"} <= each.keys()]
        # CronJobs may run on nodes of others.
        every = read_report(self.run_dir / "fleet.json")
        found = checks.object_checks(objects, every, offer_of(self._stack.settings))
        self._record.checks += [each for each in found if each.id not in self.not_checked]
        return result

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

    def _planned(self, engine: Engine) -> tuple[User, Scenario]:
        """A developer who may submit jobs from now on, and the jobs for what the stack's outputs say."""
        outputs = engine.outputs()
        self._record.declared_cost = outputs["cost"]
        developer = self._developer()
        self._let_in(engine, developer)
        admin_cpus = max((node.cpus for node in self._timeline.nodes if node.role == "admin"), default=0.0)
        assert self._admin is not None
        # A Karpenter of the stack's own learns its pools when the update has ended.
        self._wait(partial(autoscaler_messages.pools_ready, self._admin), CHANCE_SECONDS)
        seed, fabric = self._options.seed, outputs.get("fabricTest")
        return User(developer), derive(self._pools.gpu, outputs["gpuJobs"], admin_cpus, seed, fabric)

    def _let_in(self, engine: Engine, developer: Api) -> None:
        teams = {team for pool in self._pools.gpu for team in pool.nodes.teams}
        for namespace in (DEFAULT_NAMESPACE, *sorted(teams)):
            let_in(self._deployer(engine), developer, self._wait, namespace)

    def _developer(self) -> Api:
        assert self._control_plane is not None
        return Api(Kubeconfig.parse((self._control_plane / "developer.kubeconfig").read_text()))

    def _scenario(self, engine: Engine) -> None:
        assert self._admin is not None
        assert self._sandbox is not None
        user, scenario = self._planned(engine)
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
        calls = autoscaler_messages.read(self.run_dir / "logs")
        messages = autoscaler_messages.of_pools(self._admin, self._timeline, calls)
        found = checks.cluster_checks(self._timeline, self._pools, scenario, player.played, messages)
        self._record.checks += [each for each in found if each.id not in self.not_checked]
        self._record.checks += checks.autoscaler_rights(self._admin)
        self._record.checks += checks.calls_allowed(calls)
        self._record.checks += checks.account_checks(self._sandbox.problems())
        if self._stack.settings.autoscaler == "cluster-autoscaler":
            groups = read_report(self.run_dir / "fleet.json", self._others)
            planned = groups_of(self._stack.settings)
            self._record.checks.append(checks.groups_as_declared(groups, planned, limited=self._limited))
            self._record.checks.append(checks.groups_as_planned(groups, planned))
        if self._options.fail_fast and not all(each.passed for each in self._record.checks):
            return
        self._ask()

    def _ask(self) -> None:
        """Questions to the cluster whose answers the stack decides."""
        assert self._admin is not None
        assert self._sandbox is not None
        self._record.checks += checks.admission_checks(self._admin, self._pools)
        if access := self._stack.settings.access:
            self._record.checks += checks.people_checks(self._admin, access, self._sandbox.people())
        self._record.checks += checks.team_checks(self._admin, self._stack.settings.teams, self._wait)
        self._record.checks += work.checks(
            self._stack.settings.workloads.services,
            self._admin,
            self._developer(),
            self._timeline,
            self._wait,
            self._sandbox,
            self._stack.settings.maintenance.window,
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
            version=kubernetes.version
            or cloud.choices.kubernetes_versions.get(kubernetes.channel)
            or self._admin.version(),
            effects=effects,
            edits=rounds(
                self._options.day_two,
                effects,
                protected=settings.security.deletion_protection,
                sliced=all(pool.gpus.slice_nodes for pool in settings.gpu_pools),
                joined=settings.existing_cluster is not None,
            ),
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
        self._record.checks += checks.leftover_checks([*nodes, *self._sandbox.inventory()], retained)

    def _refused_destroy(self, engine: Engine) -> None:
        title = "A protected stack refuses `pulumi destroy` and deletes nothing"
        before = engine.resources()
        refused = engine.destroy("destroy-refused")
        lost = deleted(before, engine.resources())
        detail = f"refused: {refused.reason.splitlines()[0]}" if not refused.ok else "the destroy was not refused"
        if lost:
            detail = f"{counted(len(lost), 'resource')} deleted before the refusal: {', '.join(lost)}"
        self._check("destroy-refused", title, not refused.ok and not lost, detail)

    def _stop(self) -> None:
        self._current = "stop"
        if self._watcher is not None:
            self._watcher.stop()
        if self._sandbox is not None and self._retained is not None and self._record.verdict == "pass":
            self._sandbox.keep()
            return
        self._retained = None
        self._end(self._sandbox)

    def _show(self) -> None:
        show(self._console, self._record)

    def _alive(self) -> None:
        if self._sandbox is not None:
            self._sandbox.check_alive()
