"""The command ``gpucluster rehearse | preview | quota | …``; the Makefile calls it as ``python -m rehearsal``."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from components.settings import SettingsError, from_stack_file
from components.settings.problems import instead
from components.settings.quotas import listed, quotas
from gpu.commands.record import takes
from rehearsal.day_two.edits import DayTwoSet
from rehearsal.engine.changed_stacks import NoSuchCommit
from rehearsal.engine.engine import EngineError, gate_for
from rehearsal.engine.stack import ROOT, StackError, available, locate, resolve, stack_name
from rehearsal.faults.command import faults
from rehearsal.providers.account_limits import AccountFileError
from rehearsal.run.options import BUILD, LoopbackDown, require_loopback
from rehearsal.sandbox.client import SandboxError, stop_left_behind
from rehearsal.tools import ToolsError, provide
from rehearsal.tools.modules import MODULES, PREVIEW

if TYPE_CHECKING:
    pass

EXIT_FAIL = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
_WIDTH_WITHOUT_TERMINAL = 120

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Rehearse a GPU cluster on this machine: no cloud account, no network, no cost.

    The unchanged Pulumi program runs against a simulated cloud. Pulumi, the policy gate, the Kubernetes control plane
    and the autoscaler are real; cloud APIs, machines and time are simulated. A rehearsal submits jobs, observes GPU
    nodes start and stop, and reports what it observed.""",
)
app.command()(faults)


def _stacks() -> list[str]:
    return available()


StackArgument = Annotated[
    str,
    typer.Argument(help="A stack's name (dev) or file (examples/gke-tips.yaml).", autocompletion=_stacks),
]


@dataclass(frozen=True, kw_only=True)
class RehearseOptions:
    """The options of ``rehearse``."""

    stack: StackArgument = "dev"
    keep: Annotated[bool, typer.Option("--keep", help="Keep the cluster running and print its KUBECONFIG.")] = False
    plugins: Annotated[
        Path | None,
        typer.Option("--plugins", help="A directory of real provider plugins to use instead of the simulated ones."),
    ] = None
    apply: Annotated[
        Path | None,
        typer.Option("--apply", help="A folder of your own Kubernetes manifests to apply after `pulumi up`."),
    ] = None
    account: Annotated[
        Path | None,
        typer.Option("--account", help="A file with your account's quotas, reservations, keys and permissions."),
    ] = None
    day_two: Annotated[
        DayTwoSet | None,
        typer.Option("--day-two", help="Settings to change while a job runs.", show_default="brief; none with --keep"),
    ] = None
    place: Annotated[
        Literal["outside", "inside"] | None,
        typer.Option("--from", help="Where the program runs.", show_default="inside a network only if it has to"),
    ] = None
    seed: Annotated[int, typer.Option("--seed", help="Seed for the order of jobs, which is not guaranteed.")] = 0
    program: Annotated[
        Path | None,
        typer.Option("--program", help="The folder of another Pulumi program in Python; STACK is one of its stacks."),
    ] = None
    base: Annotated[
        str | None,
        typer.Option("--base", help="The commit or tag that is deployed: update a stack of it while a job runs."),
    ] = None


@app.command()
@takes(RehearseOptions)
def rehearse(asked: RehearseOptions) -> None:
    """Rehearse a stack: update, jobs, GPU nodes 0 → N → 0 → N, changes, destroy. Exit code 0 if every check passes."""
    from rehearsal.own_machines.command import on_own_machines
    from rehearsal.providers import account_limits
    from rehearsal.run.options import Options
    from rehearsal.run.program import rehearse_program
    from rehearsal.run.rehearsal import Rehearsal
    from rehearsal.run.upgrade import deployed
    from rehearsal.scenario.manifests import ManifestsError, read

    console = _console()
    if asked.program is not None:
        if asked != RehearseOptions(stack=asked.stack, program=asked.program):
            _bad_input("--program goes with a stack's name alone: leave the other options out")
        raise typer.Exit(rehearse_program(asked.program, asked.stack, console))
    if asked.plugins is not None and not asked.plugins.is_dir():
        _bad_input(f"--plugins {asked.plugins}: no such directory")
    if asked.apply is not None:
        try:
            read(asked.apply)
        except ManifestsError as error:
            _bad_input(f"--apply: {error}")
    chosen = resolve(asked.stack)
    if asked.account is not None:
        account_limits.read(asked.account, [quota.name for quota in quotas(chosen.settings)])
    if chosen.own_machines:
        raise typer.Exit(on_own_machines(chosen, asked.base, console))
    with deployed(asked.base) as version:
        options = Options(
            tools=provide(chosen.tools),
            gate=gate_for(ROOT, chosen.name),
            base=version,
            plugins=asked.plugins,
            keep=asked.keep,
            apply=asked.apply,
            account=asked.account,
            # What the account lacks fails every job: the first failure is enough.
            fail_fast=asked.account is not None,
            seed=asked.seed,
            day_two=asked.day_two or ("none" if asked.keep else "brief"),
            inside=chosen.only_from_inside if asked.place is None else asked.place == "inside",
        )
        finished = Rehearsal(chosen, options, console).run()
    if finished.retained is not None:
        console.print()
        for line in finished.retained.next_steps():
            console.print(line, highlight=False, soft_wrap=True, markup=False)
    raise typer.Exit(finished.exit_code)


@app.command()
def preview(
    stack: StackArgument = "dev",
    base: Annotated[
        str | None, typer.Option("--base", help="A commit: also show what changes against its program.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Also print Pulumi's whole output.")] = False,
) -> None:
    """Preview a stack with the policy gate, offline: pools, prices, quotas. Exit code 0 if the gate passes."""
    from rehearsal.engine.changed_stacks import checkout
    from rehearsal.report.report import write_atomically
    from rehearsal.run.preview import SIMULATED, against, show, show_stack, to_json
    from rehearsal.run.preview import preview as run_preview

    chosen, console = resolve(stack), _console()
    if base is None:
        result = run_preview(chosen, tools=provide(PREVIEW), gate=gate_for(ROOT, chosen.name))
    else:
        with checkout(base, ROOT / "build" / "preview") as project:
            result = against(chosen, project)
    if result.change.complete:
        show_stack(console, result.change)
    show(console, chosen.name, result, verbose=verbose)
    file = ROOT / "build" / "preview" / f"{chosen.name}.json"
    write_atomically(file, to_json(chosen.name, result.change))
    console.print(f"{SIMULATED}. As JSON: {file}", highlight=False, soft_wrap=True)
    raise typer.Exit(0 if result.ok else EXIT_FAIL)


@app.command()
def quota(stack: StackArgument = "dev") -> None:
    """List the quotas that a stack at its maximum needs and where to ask, on GKE also APIs and roles."""
    typer.echo(listed(from_stack_file(locate(stack))))


@app.command()
def report(stack: StackArgument = "dev") -> None:
    """Write the page of a stack's last rehearsal again, from its report.json."""
    from rehearsal.report.page import publish

    content, folder = _last_report(stack)
    publish(content, folder, _console())


@app.command()
def compare(
    stacks: Annotated[list[str], typer.Argument(help="Stacks' names or files.", autocompletion=_stacks)],
) -> None:
    """Write a page that shows the last rehearsals of several stacks side by side."""
    from rehearsal.report.page import render_comparison

    if len(stacks) < 2:
        _bad_input("write at least two stacks, such as dev prod")
    reports = [_last_report(name)[0] for name in stacks]
    page = BUILD / f"compare-{'-'.join(content['stack'] for content in reports)}.html"
    page.write_text(render_comparison(reports), encoding="utf-8")
    typer.echo(f"Comparison: {page.relative_to(ROOT)}")


def _last_report(stack: str) -> tuple[dict[str, Any], Path]:
    """The report of a stack's last rehearsal, and its folder."""
    from rehearsal.report.page import REPORT

    folder = BUILD / stack_name(locate(stack))
    if not (folder / REPORT).is_file():
        _bad_input(f"no report of {stack} in {folder}: run `make rehearse STACK={stack}` first")
    content: dict[str, Any] = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    return content, folder


@app.command()
def pr_report(
    chosen: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STACKS]…", show_default="those that differ from BASE", autocompletion=_stacks),
    ] = None,
    base: Annotated[str, typer.Option("--base", help="The commit that the change is compared with.")] = "origin/main",
    events: Annotated[
        Path | None,
        typer.Option("--events", help="The event log of one stack's preview, in place of a simulated one."),
    ] = None,
) -> None:
    """Write the comment on a pull request, build/pr-report.md. Exit code 0 also if the gate refuses the change."""
    from rehearsal.engine.changed_stacks import checkout
    from rehearsal.report.pull_request import comment
    from rehearsal.run.preview import OUTPUT, changed_stacks, reports

    # make passes all of them as one argument.
    stacks, removed = (" ".join(chosen).split(), []) if chosen else changed_stacks(base)
    if events is not None and (len(stacks) != 1 or not events.is_file()):
        _bad_input(f"--events {events}: write a file, and the one stack that it is of")
    with checkout(base, ROOT / "build" / "preview") if events is None else nullcontext(events) as source:
        text = comment([*reports(stacks, source)], removed=removed, pages=_rules_page())
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(text, encoding="utf-8")
    typer.echo(OUTPUT)


def _rules_page() -> str:
    """Where the gate's rules are explained; in a job of GitHub an address, because a comment has no folder."""
    server, repository, commit = (os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "SHA"))
    page = "docs/policies.md"
    return f"{server}/{repository}/blob/{commit}/{page}" if server and repository and commit else page


@app.command()
def stop(
    stack: Annotated[
        str | None,
        typer.Argument(help="Only clusters of this stack.", show_default="all stacks", autocompletion=_stacks),
    ] = None,
) -> None:
    """Stop clusters that `rehearse --keep` kept, and leftovers of killed rehearsals."""
    root = ROOT / "build" if stack is None else ROOT / "build" / "rehearsal" / stack_name(locate(stack))
    stopped = stop_left_behind(root)
    for run_dir in stopped:
        typer.echo(f"stopped {run_dir}")
    if not stopped:
        typer.echo("nothing was running")


@app.command()
def fault(
    case: Annotated[str | None, typer.Argument(help="A case's name.", show_default="list all cases")] = None,
    without_gate: Annotated[bool, typer.Option("--rehearse", help="Also rehearse it without the gate.")] = False,
) -> None:
    """Inject a fault into the program and show that the gate refuses it. Exit code 0 if the fault is detected."""
    from rehearsal.faults.injections import CASES
    from rehearsal.faults.runner import run_case

    if case is None:
        for known in CASES.values():
            typer.echo(f"{known.name:28} {known.title}")
        return
    if case not in CASES:
        _bad_input(f"{case}: no such case. {instead(case, tuple(CASES))}")
    tools = provide(resolve(CASES[case].stack).tools if without_gate else PREVIEW)
    raise typer.Exit(0 if run_case(CASES[case], _console(), tools=tools, rehearse=without_gate) else EXIT_FAIL)


@app.command()
def mutants(
    stack: StackArgument = "dev",
    sample: Annotated[int, typer.Option("--n", help="How many mutants to judge.", show_default="all", min=0)] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sample and of the groups.")] = 0,
    update: Annotated[bool, typer.Option("--update", help="Write the results into the stack's table.")] = False,
    objects: Annotated[bool, typer.Option("--objects", help="Change objects in the cluster instead.")] = False,
) -> None:
    """Change inputs of the program one by one and show who notices. Exit code 1 if somebody noticed more before."""
    from rehearsal.mutants.trials import run as run_mutants

    chosen = resolve(stack)
    tools, how = provide(chosen.tools), {"update": update, "objects": objects}
    passed = run_mutants(chosen, _console(), tools, sample=sample, seed=seed, **how)
    raise typer.Exit(0 if passed else EXIT_FAIL)


@app.command()
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="One repetition with small numbers, to test the benchmark itself.")
    ] = False,
) -> None:
    """Measure ratios to baselines of the same run: previews, growth per pool, rehearsal stages, scheduling."""
    from rehearsal.bench import run_bench
    from rehearsal.faults.injections import CASES
    from rehearsal.faults.runner import faulty_project

    errors = run_bench(
        _console(), tools=provide(MODULES), quick=quick, faulty_project=faulty_project(CASES["minimum-one"])
    )
    if errors:
        _say_error("\n".join(str(error) for error in errors))
        raise typer.Exit(EXIT_FAIL)


def _console() -> Console:
    """Wide enough for the tables where there is no terminal to ask."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_WITHOUT_TERMINAL)


def main() -> None:
    """Run the command line; every expected error is one readable message and an exit code."""
    # SIGTERM and SIGHUP clean up as Ctrl-C does. A shell ignores SIGINT for its background jobs.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        require_loopback()
        app(prog_name="gpucluster")
    except (AccountFileError, NoSuchCommit, SettingsError, StackError, ToolsError) as error:
        _bad_input(str(error))
    except (EngineError, LoopbackDown, SandboxError) as error:
        _say_error(str(error))
        sys.exit(EXIT_FAIL)
    except (KeyboardInterrupt, SystemExit) as ended:
        # Typer exits without a word: `Exit(130) from KeyboardInterrupt`. A rehearsal has said where it was.
        if isinstance(ended, SystemExit) and not isinstance(
            getattr(ended.__context__, "__cause__", None), KeyboardInterrupt
        ):
            raise
        Console(stderr=True).print("Interrupted.")
        sys.exit(EXIT_INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _say_error(text: str) -> None:
    Console(stderr=True).print(f"[bold red]error:[/] {escape(text)}", soft_wrap=True, highlight=False)


def _bad_input(text: str) -> NoReturn:
    _say_error(text)
    sys.exit(EXIT_BAD_INPUT)
