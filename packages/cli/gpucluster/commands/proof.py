"""The makers' laboratories (packages/proof): how good are the checks, the simulated clouds and the tests themselves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from gpucluster.commands.rehearsal import fault
from gpucluster.shared import (
    BUILD,
    EXIT_FAIL,
    Sample,
    Seed,
    StackArgument,
    bad_input,
    console,
    say_error,
    stacks,
    tools,
)


def mutants(
    stack: StackArgument = "dev",
    sample: Sample = None,
    seed: Seed = None,
    update: Annotated[
        bool, typer.Option("--update", help="Write the results into the stack's table.", envvar="UPDATE")
    ] = False,
    objects: Annotated[
        bool, typer.Option("--objects", help="Change objects in the cluster instead.", envvar="OBJECTS")
    ] = False,
) -> None:
    """Change inputs of the program one by one and show who notices. Exit code 1 if somebody noticed more before."""
    from proof.mutants.trials import run
    from rehearsal.engine.stack import resolve

    chosen = resolve(stack)
    how = {"update": update, "objects": objects}
    passed = run(chosen, console(), tools(chosen.tools), sample=sample or 0, seed=seed or 0, **how)
    raise typer.Exit(0 if passed else EXIT_FAIL)


def faults(
    stack: Annotated[
        str | None,
        typer.Argument(
            help="A stack's name or file.", envvar="STACK", show_default="a fault of the program", autocompletion=stacks
        ),
    ] = None,
    sample: Sample = None,
    seed: Seed = None,
    every: Annotated[
        bool, typer.Option("--all", help="Disturb each call in every way, one run per way.", envvar="ALL")
    ] = False,
    case: Annotated[str | None, typer.Option("--case", help="As `gpucluster fault CASE`.", envvar="CASE")] = None,
) -> None:
    """Let clouds and engine fail while a stack is updated. Exit code 0 if each fault leaves nothing behind."""
    from proof.faults.run import run
    from rehearsal.engine.stack import resolve

    if stack is None and sample is None and seed is None and not every:
        fault(case)
        return
    chosen = resolve(stack or "dev")
    if chosen.own_machines:
        bad_input(f"{stack}: faults are injected into simulated clouds, and this stack has its own machines")
    passed = run(chosen, console(), tools(chosen.tools), seed=seed or 0, most=sample or 0, every=every)
    raise typer.Exit(0 if passed else EXIT_FAIL)


def checkov(stack: StackArgument = "dev") -> None:
    """Show what Checkov, another project's scanner, reports on the resources that a stack declares."""
    from gpucluster.commands.develop import install_client
    from proof.second_opinion.report import report
    from rehearsal.engine.stack import resolve
    from rehearsal.tools.modules import PREVIEW

    install_client("checkov")
    program = BUILD / "clients" / "checkov" / "bin" / "checkov"
    raise typer.Exit(0 if report(console(), resolve(stack), program, tools(PREVIEW)) else EXIT_FAIL)


def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="One repetition with small numbers, to test the benchmark itself.")
    ] = False,
) -> None:
    """Measure ratios to baselines of the same run: previews, growth per pool, rehearsal stages, scheduling."""
    from proof.bench import run_bench
    from rehearsal.tools.modules import MODULES

    if errors := run_bench(console(), tools=tools(MODULES), quick=quick):
        say_error("\n".join(str(error) for error in errors))
        raise typer.Exit(EXIT_FAIL)


def bench_load(
    nodes: Annotated[
        int, typer.Option("--nodes", help="Nodes with eight GPUs each that the Jobs fill.", envvar="NODES", min=1)
    ] = 50,
    jobs: Annotated[int, typer.Option("--jobs", help="How many Jobs.", envvar="JOBS", min=1)] = 500,
    seconds: Annotated[
        int | None,
        typer.Option(
            "--seconds",
            help="The time within which they are submitted.",
            envvar="SECONDS",
            min=1,
            show_default="0.24 a Job",
        ),
    ] = None,
) -> None:
    """Print how late pods start and end in a large simulated fleet. Exit code 1 if that is too late."""
    from proof.bench.load import SECONDS_PER_JOB, run
    from rehearsal.tools.modules import KARPENTER, KUBERNETES, KWOK

    within = math.ceil(jobs * SECONDS_PER_JOB) if seconds is None else seconds
    raise typer.Exit(0 if run(tools((KUBERNETES, KARPENTER, KWOK)), nodes, jobs, within) else EXIT_FAIL)


def bench_trace(
    stack: StackArgument = "dev",
    trace: Annotated[
        Path | None, typer.Option("--trace", help="A list of jobs.", envvar="TRACE", show_default="a generated one")
    ] = None,
    seed: Seed = None,
) -> None:
    """Compare what a list of jobs costs on published designs, a stack's pools and those of `gpu plan`."""
    from proof.bench.traces import run_trace_bench
    from rehearsal.engine.stack import StackError, resolve

    chosen = resolve(stack)
    if chosen.own_machines:
        raise StackError(f"stack {chosen.name} rents no machines; name a stack on a cloud")
    run_trace_bench(console(), chosen.settings, chosen.name, trace, 1 if seed is None else seed)
