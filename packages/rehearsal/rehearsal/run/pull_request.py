"""``make pr-report``: the comment on a pull request, from previews of the stacks that it changes.

The engine compares the head's program with deployed resources. Offline these come from the base's own program: it is
deployed in the simulation first. A job with the real state passes the events of its preview in place of that.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from components.settings import SettingsError
from rehearsal.engine.changed_stacks import changed_since, stack_files, to_rehearse
from rehearsal.engine.engine import EngineError, gate_for
from rehearsal.engine.events import read_events
from rehearsal.engine.stack import ROOT, Stack, StackError, locate, resolve, stack_name
from rehearsal.report.changes import compared, stack_change
from rehearsal.report.markdown import hidden
from rehearsal.report.pull_request import StackReport
from rehearsal.run.options import BUILD
from rehearsal.run.preview import Base, BaseNotDeployed, Preview, effects_of, preview
from rehearsal.sandbox.client import SandboxError
from rehearsal.tools import provide
from rehearsal.tools.modules import PREVIEW

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
