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

from facts.concepts.counts import counted
from rehearsal.engine.engine import CommandResult, Engine, PolicyPack
from rehearsal.engine.events import PolicyViolation
from rehearsal.engine.stack import ROOT, Stack
from rehearsal.sandbox.client import SandboxHandle


@dataclass(frozen=True)
class Preview:
    """The engine's result and its whole output."""

    result: CommandResult
    output: str

    @property
    def ok(self) -> bool:
        """Whether the preview succeeded and the gate passed."""
        return self.result.ok


def preview(stack: Stack, *, tools: Path, gate: PolicyPack | None, project: Path = ROOT) -> Preview:
    """Preview ``stack`` in a sandbox that is deleted afterwards. Raises ``EngineError``, ``SandboxError``."""
    folder = ROOT / "build" / "preview"
    folder.mkdir(parents=True, exist_ok=True)
    run_dir = Path(tempfile.mkdtemp(prefix=f"{stack.name}-", dir=folder))
    try:
        plugins, existing = stack.plugins, stack.with_existing
        with SandboxHandle(run_dir, tools=tools, clouds=plugins, control_plane=False, existing=existing) as sandbox:
            engine = Engine.create(
                project=project,
                stack=stack.name,
                stack_file=stack.file,
                run_dir=run_dir,
                path=(tools,),
                passphrase=stack.passphrase,
            )
            facts = sandbox.ready()
            result = replace(engine, home=facts.pulumi_home, path=(facts.plugins, tools)).preview(gate)
        return Preview(result, result.log.read_text(errors="replace"))
    finally:
        shutil.rmtree(run_dir, ignore_errors=True)


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


def show_violations(console: Console, violations: Sequence[PolicyViolation]) -> None:
    """One block per violation: the rule, the resource, the message and the remedy."""
    for violation in violations:
        colour = "bold red" if violation.mandatory else "yellow"
        console.print(f"[{colour}]{violation.level}[/] [bold]{violation.rule}[/] on {escape(violation.resource)}")
        # The SDK reports an unknown value as a policy that it could not run.
        message = violation.message.rpartition(" during preview: ")[2]
        for line in message.splitlines():
            console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
