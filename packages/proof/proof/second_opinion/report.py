"""``make checkov``: Checkov reads what a stack declares."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from rich.console import Console

from facts.concepts.counts import counted
from proof.second_opinion.findings import answers, documents, scan, unanswered
from rehearsal.engine.engine import EngineError
from rehearsal.engine.stack import Stack
from rehearsal.run.preview import preview


def report(console: Console, stack: Stack, checkov: Path, tools: Path) -> bool:
    """Print findings without an answer; false if there are any. Raises EngineError, SandboxError, ScannerFailed."""
    previewed = preview(stack, tools=tools, gate=None)
    if not previewed.ok:
        raise EngineError(previewed.result.reason)
    result = scan(checkov, documents(previewed.change.after.declared))
    left = unanswered(result.findings, answers(), date.today())
    lines = [f"{each.check}  {each.resource}\n    {each.title}" for each in left]
    answered = len(result.findings) - len(left)
    lines.append(
        f"Checkov on {stack.name}: {counted(result.passed, 'check')} passed, {counted(answered, 'finding')} "
        f"answered in second_opinion/answers.csv, {counted(len(left), 'finding')} without an answer"
    )
    console.print("\n".join(lines), highlight=False, soft_wrap=True, markup=False)
    return not left
