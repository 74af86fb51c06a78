"""An offline preview with the gate: simulated providers answer, and no control plane is needed."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from facts import catalog
from facts.catalog.changes import Effects
from facts.concepts.counts import counted
from rehearsal.engine.engine import CommandResult, Engine, PolicyPack
from rehearsal.engine.events import PolicyViolation
from rehearsal.engine.stack import ROOT, Stack
from rehearsal.report.changes import StackChange, stack_change
from rehearsal.report.hiding import hidden
from rehearsal.report.summary import hourly, new_table, say
from rehearsal.sandbox.client import SandboxHandle


@dataclass(frozen=True)
class Base:
    """What is deployed before the preview: a project's directory, and the stack in it."""

    project: Path
    stack: Stack


class BaseNotDeployed(Exception):
    """The base's program cannot be deployed in the simulation; the message says why."""


@dataclass(frozen=True)
class Preview:
    """The engine's result, its whole output, and what changes."""

    result: CommandResult
    output: str
    change: StackChange

    @property
    def ok(self) -> bool:
        """Whether the preview succeeded and the gate passed."""
        return self.result.ok


def preview(
    stack: Stack, *, tools: Path, gate: PolicyPack | None, project: Path = ROOT, base: Base | None = None
) -> Preview:
    """Preview ``stack`` in a sandbox that is deleted afterwards, with ``base`` deployed in it, if there is one.

    Raises ``EngineError``, ``SandboxError``, ``BaseNotDeployed``.
    """
    folder = ROOT / "build" / "preview"
    folder.mkdir(parents=True, exist_ok=True)
    run_dir = Path(tempfile.mkdtemp(prefix=f"{stack.name}-", dir=folder))
    first = base.stack if base else stack
    try:
        with SandboxHandle(
            run_dir,
            tools=tools,
            clouds=tuple(dict.fromkeys((*stack.plugins, *first.plugins))),
            control_plane=base is not None,
            inside=base is not None and (stack.only_from_inside or first.only_from_inside),
            existing=stack.with_existing or first.with_existing,
        ) as sandbox:
            engine = Engine.create(
                project=base.project if base else project,
                stack=stack.name,
                stack_file=first.file,
                run_dir=run_dir,
                path=(tools,),
                passphrase=stack.passphrase,
            )
            facts = sandbox.ready()
            engine = replace(engine, home=facts.pulumi_home, path=(facts.plugins, tools))
            if base is not None:
                deployed = engine.up(skip_preview=True)
                if not deployed.ok:
                    raise BaseNotDeployed(hidden(deployed.reason, engine.secrets()))
                engine = engine.of(project, stack.file)
            result = engine.preview(gate)
            change = stack_change(hidden(result.events, engine.secrets()), effects_of(stack))
            if result.ok:  # then errors in the log are those of a plugin's end
                change = replace(change, outcome=replace(change.outcome, errors=()))
        return Preview(result, result.log.read_text(errors="replace"), change)
    finally:
        shutil.rmtree(run_dir, ignore_errors=True)


def effects_of(stack: Stack) -> Effects:
    """What changes of the stack's settings mean for running jobs; nothing is known of own machines."""
    settings = stack.settings
    return {} if stack.own_machines else catalog.of(settings.cloud).changes.get(settings.autoscaler, {})


def show(console: Console, stack: str, preview: Preview, *, verbose: bool) -> None:
    """Print errors first, then resources, advisory violations and the verdict."""
    if verbose:
        console.print(preview.output, markup=False, highlight=False)
    outcome = preview.result.outcome
    show_violations(console, outcome.mandatory)
    kinds = Counter(step.type for step in outcome.steps if step.alters)
    listed = ", ".join(f"{kind.rsplit(':', 1)[-1]} × {count}" for kind, count in sorted(kinds.items()))
    console.print(f"{stack}: {counted(sum(kinds.values()), 'resource')}: {listed}", highlight=False)
    for warning in outcome.warnings:
        console.print(f"[yellow]warning[/] {escape(warning)}", highlight=False)
    show_violations(console, [violation for violation in outcome.violations if not violation.mandatory])
    if not preview.ok and not outcome.mandatory:
        console.print(f"[bold red]error[/] {escape(preview.result.reason)}", highlight=False)
    verdict = "[bold green]PREVIEW OK[/]" if preview.ok else "[bold red]PREVIEW REFUSED[/]"
    rules = ", ".join(dict.fromkeys(violation.rule for violation in outcome.mandatory))
    by = f" by {rules}" if rules else ""
    console.print(f"{verdict} {stack} in {preview.result.seconds:.1f} s{by}", highlight=False)


def show_stack(console: Console, change: StackChange) -> None:
    """Print what the stack declares: pools, prices, quotas; and what changes against the base, if there is one."""
    pools = new_table("Pools, as declared", "pool", "GPUs per node", "capacity", "nodes", "per node")
    for pool in change.after.pools:
        gpus = f"{pool.gpus_per_node} × {pool.gpu or 'GPU'}" if pool.gpus_per_node else "–"
        pools.add_row(escape(pool.name), escape(gpus), pool.capacity, pool.size, hourly(pool.hourly_usd))
    console.print(pools)
    before, after = change.before, change.after
    idle, most = hourly(after.idle_usd), hourly(after.max_usd)
    if before is not None:
        idle, most = f"{hourly(before.idle_usd)} → {idle}", f"{hourly(before.max_usd)} → {most}"
    console.print(f"\nList price: idle {idle}, all pools at their maximum {most}\n", highlight=False)
    if after.quotas:
        quotas = new_table("Quota to ask for, with all pools at their maximum", "needed", "quota", "in")
        for quota in after.quotas:
            quotas.add_row(f"{quota.needed} {quota.unit}", escape(quota.name), escape(quota.place))
        console.print(quotas)
        console.print()
    if before is not None:
        console.print("Changes:" if (changes := [*change.pools()]) else "No pool changes.", highlight=False)
        for one in changes:
            because = [f"the cloud cannot change {', '.join(one.because)} in place"] if one.because else []
            ends = ["running jobs on it end"] if one.ends_jobs else []
            phrases = "; ".join([*one.details, *because, *([one.meaning] if one.meaning else []), *ends])
            say(console, escape(f"  {one.pool} {one.kind}" + (f": {phrases}" if phrases else "")))
        console.print()


def show_violations(console: Console, violations: Sequence[PolicyViolation]) -> None:
    """One block per violation: the rule, the resource, the message and the remedy."""
    for violation in violations:
        colour = "bold red" if violation.mandatory else "yellow"
        console.print(f"[{colour}]{violation.level}[/] [bold]{violation.rule}[/] on {escape(violation.resource)}")
        # The SDK reports an unknown value as a policy that it could not run.
        message = violation.message.rpartition(" during preview: ")[2]
        for line in message.splitlines():
            console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
