"""``make faults STACK=… SEED=…``: faults in a real update against the simulated clouds, and what they leave behind."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import datetime, timezone
from os import getpid
from pathlib import Path
from typing import Final

from rich.console import Console

from proof.faults import situations
from proof.faults.calls import ROTATIONS, clean_run, disturbed_run, planned
from proof.faults.judge import result_table
from proof.faults.session import FaultSession
from rehearsal.cluster.api import Api
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import ROOT, Stack
from rehearsal.sandbox import client
from rehearsal.sandbox.client import SandboxHandle

FOLDER: Final = ROOT / "build" / "faults"
WIDTH: Final = 80


def run(stack: Stack, console: Console, tools: Path, *, seed: int = 0, most: int = 0, every: bool = False) -> bool:
    """Inject faults; true if each happened and left nothing behind. ``most``: at most so many calls are disturbed.

    ``every``: each call in every way. Raises ``FaultsFailed``, ``EngineError``, ``SandboxError``.
    """
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S")
    run_dir = (FOLDER / stack.name / f"{stamp}-{getpid()}").absolute()
    run_dir.mkdir(mode=0o700, parents=True)
    report = run_dir / "report.txt"

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)
        with report.open("a") as file:
            file.write(f"{text}\n")

    inside, existing = stack.only_from_inside, stack.with_existing
    with SandboxHandle(run_dir, tools=tools, clouds=stack.plugins, inside=inside, existing=existing) as sandbox:
        name, file, secret = stack.name, stack.file, stack.passphrase
        engine = Engine.create(
            project=ROOT, stack=name, stack_file=file, run_dir=run_dir, path=(tools,), passphrase=secret
        )
        facts = sandbox.ready()
        assert facts.kubeconfig is not None
        admin = Api(Kubeconfig.parse(facts.kubeconfig.read_text()))
        engine = replace(engine, home=facts.pulumi_home, path=(facts.plugins, tools))
        session = FaultSession(engine, sandbox, admin, say)
        say(f"{stack.name}: first a run without faults")
        calls = clean_run(session)
        for rotation in range(ROTATIONS if every else 1):
            more = situations.play if rotation == 0 else None
            disturbed_run(session, planned(calls, seed, rotation=rotation, most=most), more)
    rows = [row for row in session.rows.values() if row.planned or not row.ok]
    passed = all(row.ok for row in rows)
    with report.open("a") as file:
        for output in (console.file, file):
            Console(width=WIDTH, file=output).print(result_table(rows))
    if passed:
        delete_all_but(report)
    client.delete_old_runs(run_dir.parent)
    console.print(f"Report: {report}", highlight=False, soft_wrap=True)
    return passed


def delete_all_but(report: Path) -> None:
    """Empty the report's folder."""
    for each in report.parent.iterdir():
        if each.is_dir():
            shutil.rmtree(each, ignore_errors=True)
        elif each != report:
            each.unlink()
