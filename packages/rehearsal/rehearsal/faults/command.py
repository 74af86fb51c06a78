"""The command ``gpucluster faults``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from rehearsal.engine.engine import EngineError
from rehearsal.engine.stack import resolve
from rehearsal.tools import provide


def faults(
    stack: Annotated[str, typer.Argument(help="A stack's name (dev) or file (examples/gke-tips.yaml).")] = "dev",
    seed: Annotated[int, typer.Option("--seed", help="Seed that chooses the faults.")] = 0,
    sample: Annotated[int, typer.Option("--n", help="How many calls to disturb.", show_default="all", min=0)] = 0,
    every: Annotated[bool, typer.Option("--all", help="Disturb each call in every way, one run per way.")] = False,
) -> None:
    """Let clouds and engine fail while a stack is updated. Exit code 0 if each fault leaves nothing behind."""
    from rehearsal.faults.run import run

    chosen = resolve(stack)
    if chosen.own_machines:
        raise EngineError(f"{stack}: faults are injected into simulated clouds, and this stack has its own machines")
    passed = run(chosen, Console(), provide(chosen.tools), seed=seed, most=sample, every=every)
    raise typer.Exit(0 if passed else 1)
