"""``rehearse`` for a stack on own machines, or on a cluster of somebody else."""

from __future__ import annotations

from rich.console import Console

from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, Stack
from rehearsal.lab import isolation
from rehearsal.lab.lab import base_root
from rehearsal.lab.software import prepare
from rehearsal.own_machines.control_planes import ControlPlanesRehearsal
from rehearsal.own_machines.existing import ExistingRehearsal
from rehearsal.own_machines.rehearsal import OwnRehearsal
from rehearsal.run.options import Options
from rehearsal.run.upgrade import deployed
from rehearsal.tools import cache, provide
from rehearsal.tools.progress import Progress


def on_own_machines(stack: Stack, base: str | None, console: Console, *, keep: bool = False) -> int:
    """Rehearse on real machines, in namespaces of their own: this process starts again in them. Returns its exit code.

    ``base`` is the commit or tag that is deployed first. ``keep``: a shell in these namespaces takes the place of what
    happens to the cluster between its updates and its end.
    """
    progress = Progress()
    try:
        isolation.require()
        # What is downloaded comes first: isolated there is no network.
        root, tools = base_root(progress.say), provide(stack.tools)
        software = prepare(cache.root(), progress)
        isolation.enter()
        several = not stack.made_by_others and OwnRehearsal.plane_count(stack.settings) > 1
        kind = ExistingRehearsal if stack.made_by_others else ControlPlanesRehearsal if several else OwnRehearsal
        with deployed(base) as version:
            options = Options(tools=tools, gate=gate_for(ROOT, stack.name), base=version, keep=keep)
            return kind(stack, options, root, software, console).run().exit_code
    except isolation.LabUnavailable as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", soft_wrap=True, highlight=False)
        return isolation.EXIT_UNAVAILABLE
