"""``python -m rehearsal.second_opinion STACK CHECKOV TOOLS``: Checkov reads what a stack declares."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from facts.concepts.counts import counted
from rehearsal.engine.engine import EngineError
from rehearsal.engine.stack import StackError, resolve
from rehearsal.run.preview import preview
from rehearsal.sandbox.client import SandboxError
from rehearsal.second_opinion.findings import ScannerFailed, answers, documents, scan, unanswered


def main(arguments: Sequence[str]) -> int:
    """Print findings without an answer; 0 if there are none, 1 if there are, 2 if something did not run."""
    stack, checkov, tools = arguments
    try:
        previewed = preview(resolve(stack), tools=Path(tools), gate=None)
        if not previewed.ok:
            raise EngineError(previewed.result.reason)
        result = scan(Path(checkov), documents(previewed.change.after.declared))
    except (EngineError, SandboxError, ScannerFailed, StackError) as error:
        sys.stderr.write(f"{stack}: {error}\n")
        return 2
    left = unanswered(result.findings, answers(), date.today())
    sys.stdout.writelines(f"{each.check}  {each.resource}\n    {each.title}\n" for each in left)
    answered = len(result.findings) - len(left)
    sys.stdout.write(
        f"Checkov on {stack}: {counted(result.passed, 'check')} passed, {counted(answered, 'finding')} answered in "
        f"second_opinion/answers.csv, {counted(len(left), 'finding')} without an answer\n"
    )
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
