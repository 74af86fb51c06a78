"""One rehearsal on a cluster of others: their program makes it, then the stack comes, scales, changes and goes.

All that was there before must be there afterwards, unchanged, and what its owner writes must be answered as before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from typing_extensions import override

from facts.concepts.counts import counted
from rehearsal import checks
from rehearsal.checks import untouched
from rehearsal.cluster.api import Api, Object
from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import Stack
from rehearsal.fleet.groups import read_report
from rehearsal.run.options import Options
from rehearsal.run.owners_program import OwnersProgram
from rehearsal.run.recorder import StageFailed
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.scenario.plan import Scenario
from rehearsal.scenario.player import CHANCE_SECONDS, PATIENCE_SECONDS
from rehearsal.scenario.user import User, let_in

_REST_SECONDS: Final = 15
"""After which no idle node of theirs is left: the autoscaler removes one after ten minutes, here ten seconds."""
Objects = Mapping[untouched.Key, Object]


@dataclass(frozen=True)
class Found:
    """What was there before the stack: objects, the answers to what the owner writes, cloud resources."""

    objects: Objects
    answers: Mapping[untouched.Key, untouched.DryRun]
    resources: tuple[str, ...]


class OnTheirCluster(Rehearsal):
    """Rehearses a stack on a cluster that another program makes first."""

    own_nodes_only = True
    # Namespaces, their users' rights, and the system's pods are the owner's.
    not_checked = frozenset({"account-rights", "namespaces", "system-pods-off-gpu"})

    def __init__(self, stack: Stack, options: Options, console: Console) -> None:
        """Nothing is started yet. Raises StackError: their program cannot be rehearsed, and why."""
        super().__init__(stack, options, console)
        self._owners = OwnersProgram(stack, options.cluster)
        self._packages = self._owners.program.packages
        self._found = Found({}, {}, ())
        self._theirs: Engine | None = None

    @override
    def _prepare(self, engine: Engine) -> None:
        assert self._admin is not None
        assert self._sandbox is not None
        with self._stage("their cluster"):
            self._theirs = self._owners.beside(engine, self.run_dir / "stack" / "theirs")
            made = self._theirs.up(name="their-up", skip_preview=True)
            if not made.ok:
                raise StageFailed(self._owners.program.failure(made))
            # Its owner lets a developer in.
            let_in(self._admin, self._developer(), self._wait)
            quiet_since = time.monotonic()

            def at_rest(before: Objects, now: Objects) -> bool:
                nonlocal quiet_since
                if before != now:
                    quiet_since = time.monotonic()
                return time.monotonic() - quiet_since > _REST_SECONDS

            objects = self._looked(at_rest, PATIENCE_SECONDS)
            self._found = Found(
                objects,
                untouched.answers(self._admin, objects),
                self._sandbox.inventory(),
            )
            self._others = frozenset(group.name for group in read_report(self.run_dir / "fleet.json"))

    def _looked(self, until: Callable[[Objects, Objects], bool], seconds: float) -> Objects:
        """The objects, looked at again and again until the last two looks are as they should be."""
        assert self._admin is not None
        admin = self._admin
        looks: list[Objects] = [{}]

        def done() -> bool:
            untouched.collect(admin)
            looks.append(untouched.objects(admin))
            return until(looks[-2], looks[-1])

        self._wait(done, seconds)
        return looks[-1]

    @override
    def _let_in(self, engine: Engine, developer: Api) -> None:
        """The owner has done that."""

    @override
    def _planned(self, engine: Engine) -> tuple[User, Scenario]:
        user, scenario = super()._planned(engine)
        # What follows from the pools alone is the same on every cluster, and pods that reach too much are not refused.
        once = {"unschedulable": (), "refused": (), "fragment": None, "again": {}, "shortages": ()}
        return user, replace(scenario, **once, burst=replace(scenario.burst, extra=None, fallback=None))

    @override
    def _idempotence(self, engine: Engine) -> None:
        """Meanwhile their cluster works: what they write is answered as before, but for warnings."""
        assert self._admin is not None
        assert self._theirs is not None
        super()._idempotence(engine)
        title = "While GPU nodes run, what the owner writes is accepted and stored as before"
        now = untouched.answers(self._admin, self._found.objects)
        self._record.checks.append(
            untouched.answered("their-answers-now", title, self._found.answers, now, warned=True)
        )
        title = "`pulumi refresh` of their program finds no drift"
        self._engine_check("their-drift-now", title, self._theirs.drift("their-refresh-now"))

    @override
    def _ask(self) -> None:
        """Of what the stack decides for others there is nothing here."""

    @override
    def _destroy(self, engine: Engine) -> None:
        assert self._admin is not None
        assert self._sandbox is not None
        assert self._theirs is not None
        admin, found = self._admin, self._found
        self._engine_check("destroy", "`pulumi destroy` succeeds", engine.destroy())
        # Agents leave our nodes, and controllers notice it.
        objects = self._looked(lambda _, now: now == found.objects, CHANCE_SECONDS)
        self._record.checks.append(untouched.untouched(found.objects, objects))
        title = "What the owner writes is answered as before"
        now = untouched.answers(admin, found.objects)
        self._record.checks.append(untouched.answered("their-answers", title, found.answers, now, warned=False))
        nodes, resources = [f"node {each.name}" for each in self._timeline.living_nodes()], self._sandbox.inventory()
        left = [*nodes, *(each for each in resources if each not in found.resources)]
        self._record.checks += checks.leftover_checks(left, frozenset())
        lasting = [each for each in found.resources if not each.startswith(untouched.COMES_AND_GOES)]
        gone = [each for each in lasting if each not in resources]
        detail = f"deleted: {', '.join(gone)}" if gone else counted(len(found.resources), "resource")
        self._check("their-resources", "Every cloud resource of theirs is there", not gone, detail)
        title = "`pulumi refresh` of their program finds no drift after it"
        self._engine_check("their-drift", title, self._theirs.drift("their-refresh"))
