"""An offline preview with the gate: simulated providers answer, and no control plane is needed.

And ``make pr-report``: the comment on a pull request, from previews of the stacks that it changes. The engine compares
the head's program with deployed resources. Offline these come from the base's own program: it is deployed in the
simulation first. A job with the real state passes the events of its preview in place of that.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from components.settings import SettingsError
from facts import catalog
from facts.catalog.changes import Effects
from facts.concepts.counts import counted
from facts.concepts.credentials import hidden
from rehearsal.engine.changed_stacks import changed_since, stack_files, to_rehearse
from rehearsal.engine.engine import CommandResult, Engine, EngineError, PolicyPack, gate_for
from rehearsal.engine.events import PolicyViolation, read_events
from rehearsal.engine.stack import ROOT, Stack, StackError, locate, resolve, stack_name
from rehearsal.report.changes import StackChange, compared, stack_change
from rehearsal.report.pull_request import StackReport, changes, costs, quotas
from rehearsal.report.summary import new_table
from rehearsal.run.options import BUILD
from rehearsal.run.owners_program import OwnersProgram
from rehearsal.run.working import working
from rehearsal.sandbox.client import SandboxError, SandboxHandle
from rehearsal.tools import provide
from rehearsal.tools.modules import PREVIEW


@dataclass(frozen=True)
class Base:
    """What is deployed before the preview: a project's directory, and its stack file."""

    project: Path
    stack_file: Path


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
    stack: Stack,
    *,
    tools: Path,
    gate: PolicyPack | None,
    project: Path = ROOT,
    base: Base | None = None,
    owners: OwnersProgram | None = None,
) -> Preview:
    """Preview ``stack`` in a sandbox that is deleted afterwards, with ``base`` or its owners' cluster deployed in it.

    Raises ``EngineError``, ``SandboxError``, ``BaseNotDeployed``.
    """
    before = base is not None or owners is not None
    folder = ROOT / "build" / "preview"
    folder.mkdir(parents=True, exist_ok=True)
    run_dir = Path(tempfile.mkdtemp(prefix=f"{stack.name}-", dir=folder))
    try:
        with (
            working(f"{stack.name}: starting the simulated cloud") as say,
            SandboxHandle(
                run_dir,
                tools=tools,
                clouds=stack.plugins,
                control_plane=before,
                inside=before and stack.only_from_inside,
                existing=stack.with_existing,
                packages={} if owners is None else owners.program.packages,
            ) as sandbox,
        ):
            engine = Engine.create(
                project=base.project if base else project,
                stack=stack.name,
                stack_file=base.stack_file if base else stack.file,
                run_dir=run_dir,
                path=(tools,),
                passphrase=stack.passphrase,
            )
            facts = sandbox.ready()
            engine = replace(engine, home=facts.pulumi_home, path=(facts.plugins, tools))
            if base is not None:
                say(f"{stack.name}: pulumi up of the base in the simulated cloud")
                deployed = engine.up(skip_preview=True)
                if not deployed.ok:
                    raise BaseNotDeployed(hidden(deployed.reason, engine.secrets()))
                engine = engine.of(project, stack.file)
            if owners is not None:
                say(f"{stack.name}: pulumi up of {owners.program.folder} in the simulated cloud")
                made = owners.beside(engine, run_dir / "theirs").up(name="their-up", skip_preview=True)
                if not made.ok:
                    raise EngineError(hidden(owners.program.failure(made), engine.secrets()))
            say(f"{stack.name}: pulumi preview{' with the policy gate' if gate else ''}")
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
    if outcome.cost_note and preview.change.after.max_usd is None:  # else ``show_stack`` says more
        console.print(outcome.cost_note, highlight=False, markup=False, soft_wrap=not console.is_terminal)
    if not preview.ok and not outcome.mandatory:
        console.print(f"[bold red]error[/] {escape(preview.result.reason)}", highlight=False)
    verdict = "[bold green]PREVIEW OK[/]" if preview.ok else "[bold red]PREVIEW REFUSED[/]"
    rules = ", ".join(dict.fromkeys(violation.rule for violation in outcome.mandatory))
    by = f" by {rules}" if rules else ""
    console.print(f"{verdict} {stack} in {preview.result.seconds:.1f} s{by}", highlight=False)


def show_stack(console: Console, change: StackChange) -> None:
    """Print what the stack declares: pools, prices, quotas; and what changes against the base, if there is one."""
    pools = new_table("Pools, as declared", "pool", "GPUs per node", "capacity", "nodes", "price per node")
    for pool in change.after.pools:
        cells = (pool.name, pool.gpus or "–", pool.capacity, pool.size, pool.price)
        pools.add_row(*map(escape, cells))
    quota = "\n".join(["**Quota to ask for**", *lines]) if (lines := quotas(change)) else ""
    text = (costs(change), changes(change) if change.before else "", quota)
    console.print(pools, "", Markdown("\n\n".join(text)), "")


def to_json(stack: str, change: StackChange) -> dict[str, Any]:
    """The content of ``build/preview/<stack>.json``: what ``show_stack`` prints, and the gate's violations.

    Money is US dollars per hour, list prices. ``null`` is unknown; for nodes of a pool, not declared. ``changes`` is
    ``null`` without a base.
    """
    after, before = change.after, change.before
    cost = {
        "idleHourlyUsd": after.idle_usd,
        "maxHourlyUsd": after.max_usd,
        "atMost": after.at_most,
        "pricesOf": after.prices_of,
    }
    return {
        "schemaVersion": 1,
        "stack": stack,
        "passed": change.passed,
        "simulated": True,
        "pools": [_json(pool, *_OF_POOL) for pool in after.pools],
        "cost": cost,
        "costBefore": {"idleHourlyUsd": before.idle_usd, "maxHourlyUsd": before.max_usd} if before else None,
        "quotas": [
            {"name": name, "place": place, "needed": needed, "unit": unit}
            for (name, place), (needed, unit) in after.quotas.items()
        ],
        "changes": [_json(one, *_OF_CHANGE) for one in change.pools()] if before else None,
        "violations": [vars(each) for each in change.outcome.violations],
        "errors": change.outcome.errors,
    }


_OF_POOL: Final = (
    *("name", "gpu", "gpus_per_node", "capacity", "machine_type", "min_nodes", "max_nodes", "hourly_usd"),
    "price_at_most",
)
_OF_CHANGE: Final = ("pool", "kind", "details", "because", "ends_jobs")


def _json(record: object, *names: str) -> dict[str, Any]:
    """Attributes by their names in camelCase."""
    return {re.sub("_([a-z])", lambda match: match[1].upper(), name): getattr(record, name) for name in names}


def show_violations(console: Console, violations: Sequence[PolicyViolation]) -> None:
    """One block per violation: the rule, the resource, the message and the remedy."""
    for violation in violations:
        colour = "bold red" if violation.mandatory else "yellow"
        console.print(f"[{colour}]{violation.level}[/] [bold]{violation.rule}[/] on {escape(violation.resource)}")
        for line in violation.message.splitlines():
            if console.is_terminal:
                console.print(Padding(Text(line), (0, 0, 0, 2)))
            else:  # whole, for those that search in a log
                console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)


OUTPUT: Final = ROOT / "build" / "pr-report.md"
SIMULATED: Final = "Preview on a simulated cloud, no cloud account used"
_REAL: Final = "Preview of the deployed stack"


def changed_stacks(base: str) -> tuple[list[str], list[str]]:
    """The stack files to report on, and the deleted ones. Examples only if they changed themselves: nobody deploys
    them. Raises ``NoSuchCommit``."""
    changed = changed_since(base)
    files = [file for file in to_rehearse(changed, stack_files()) if "/" not in file or file in changed]
    deleted = [path for path in changed if path.startswith("Pulumi.") and path.count(".") > 1]
    return files, [path for path in deleted if not (ROOT / path).exists()]


def reports(stacks: Sequence[str], source: Path) -> Iterator[StackReport]:
    """A report of each stack. ``source`` is the checkout of the base, or the file with the events of the only stack's
    preview of the real state. Raises ``StackError`` for a stack that does not exist."""
    for argument in stacks:
        name = stack_name(locate(argument))
        report = StackReport(stack=name, source=_REAL if source.is_file() else SIMULATED, **_rehearsal(name))
        try:
            stack = resolve(argument)
            if source.is_file():
                yield replace(report, change=stack_change(hidden(read_events(source)), effects_of(stack)))
            else:
                yield replace(report, change=against(stack, source).change)
        except (SettingsError, StackError, EngineError, SandboxError) as error:
            yield replace(report, error=hidden(str(error)))


def against(stack: Stack, base: Path) -> Preview:
    """A preview of ``stack``, compared with the stack of the checkout ``base`` if it has one.

    What is simulated (cloud, network, existing resources) follows from the head's stack file.
    """
    gate = gate_for(ROOT, stack.name)
    file = base / stack.file.relative_to(ROOT) if stack.file.is_relative_to(ROOT) else None
    if file is None or not file.is_file():
        return preview(stack, tools=provide(PREVIEW), gate=gate)
    try:
        if stack.own_machines:
            raise BaseNotDeployed("no machines of yours are here to deploy the base on")
        return preview(stack, tools=provide(stack.tools), gate=gate, base=Base(base, file))
    except BaseNotDeployed as error:
        tools = provide(PREVIEW)
        before = preview(replace(stack, file=file), tools=tools, gate=None, project=base).change
        head = preview(stack, tools=tools, gate=gate)
        return replace(head, change=compared(head.change, before, str(error)))


def _rehearsal(stack: str) -> dict[str, Any]:
    """The last rehearsal's report, and whether it is older than the commit."""
    file = BUILD / stack / "report.json"
    if not file.exists():
        return {}
    run = json.loads(file.read_text(encoding="utf-8"))
    command = ["git", "log", "-1", "--format=%ct"]
    committed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {"rehearsal": run, "outdated": datetime.fromisoformat(run["startedAt"]).timestamp() < float(committed)}
