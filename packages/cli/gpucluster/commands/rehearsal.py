"""Rehearsals, previews and what they report: no account, no cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from gpu.commands.record import takes
from gpucluster.make import VARIABLES
from gpucluster.shared import BUILD, EXIT_FAIL, ROOT, Base, StackArgument, bad_input, console, stacks, tools

if TYPE_CHECKING:
    from rehearsal.engine.stack import Stack

_REPORTS = BUILD / "rehearsal"
DayTwo = Literal["none", "brief", "all"]
_DAY_TWO: dict[str, DayTwo] = {
    "none": "none",
    "0": "none",
    "no": "none",
    "false": "none",
    "brief": "brief",
    "1": "brief",
    "yes": "brief",
    "true": "brief",
    "all": "all",
}


def _day_two(value: str) -> DayTwo:
    if value not in _DAY_TWO:
        raise typer.BadParameter(f"{value!r}: write one of {' '.join(_DAY_TWO)}")
    return _DAY_TWO[value]


ClusterOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--cluster",
        help="The Pulumi program in Python that makes the existing cluster: its folder, or a stack file in it.",
        envvar="CLUSTER",
        show_default="a cluster of the stack file's name, as in examples/other-programs",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RehearseOptions:
    """The options of ``rehearse``."""

    stack: StackArgument = "dev"
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help="Keep the cluster running and print its KUBECONFIG; on own machines, open a shell.",
            envvar="KEEP",
        ),
    ] = False
    plugins: Annotated[
        Path | None,
        typer.Option(
            "--plugins",
            help="A directory of real provider plugins to use instead of the simulated ones.",
            envvar="PLUGINS",
        ),
    ] = None
    apply: Annotated[
        Path | None,
        typer.Option(
            "--apply", help="A folder of your own Kubernetes manifests to apply after `pulumi up`.", envvar="APPLY"
        ),
    ] = None
    account: Annotated[
        Path | None,
        typer.Option(
            "--account", help="A file with your account's quotas, reservations, keys and permissions.", envvar="ACCOUNT"
        ),
    ] = None
    cluster: ClusterOption = None
    day_two: Annotated[
        DayTwo | None,
        typer.Option(
            "--day-two",
            help="Settings to change while a job runs.",
            envvar="DAYTWO",
            metavar="[none|brief|all]",
            parser=_day_two,
            show_default="brief; none with --keep",
        ),
    ] = None
    place: Annotated[
        Literal["outside", "inside"] | None,
        typer.Option(
            "--from",
            help="Where the program runs.",
            envvar="FROM",
            show_default="inside a network only if it has to",
        ),
    ] = None
    seed: Annotated[
        int, typer.Option("--seed", help="Seed for the order of jobs, which is not guaranteed.", envvar="SEED")
    ] = 0
    program: Annotated[
        Path | None,
        typer.Option(
            "--program",
            help="The folder of another Pulumi program in Python; STACK is one of its stacks.",
            envvar="PROGRAM",
        ),
    ] = None
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            help="The commit or tag that is deployed: update a stack of it while a job runs.",
            envvar="BASE",
        ),
    ] = None


@takes(RehearseOptions)
def rehearse(asked: RehearseOptions) -> None:
    """Rehearse a stack: update, jobs, GPU nodes 0 → N → 0 → N, changes, destroy. Exit code 0 if every check passes."""
    from components.settings.quotas import quotas
    from facts.concepts.autoscaler import KARPENTERS
    from rehearsal.engine.engine import gate_for
    from rehearsal.engine.stack import resolve
    from rehearsal.own_machines.command import on_own_machines
    from rehearsal.providers import account_limits
    from rehearsal.run.options import Options
    from rehearsal.run.program import rehearse_program
    from rehearsal.run.rehearsal import Rehearsal
    from rehearsal.run.their_cluster import OnTheirCluster
    from rehearsal.run.upgrade import deployed
    from rehearsal.scenario.manifests import ManifestsError, read
    from rehearsal.tools.own_autoscaler import own_autoscaler

    terminal = console()
    if asked.program is not None:
        if asked != RehearseOptions(stack=asked.stack, program=asked.program):
            bad_input("--program goes with a stack's name alone: leave the other options out")
        raise typer.Exit(rehearse_program(asked.program, asked.stack, terminal))
    if asked.plugins is not None and not asked.plugins.is_dir():
        bad_input(f"--plugins {asked.plugins}: no such directory")
    if asked.apply is not None:
        try:
            read(asked.apply)
        except ManifestsError as error:
            bad_input(f"--apply: {error}")
    chosen = resolve(asked.stack)
    autoscaler = own_autoscaler()
    if autoscaler is not None and (chosen.own_machines or chosen.settings.autoscaler in KARPENTERS):
        terminal.print(f"No cluster-autoscaler scales {chosen.name}: {autoscaler.path} does not run.", markup=False)
        autoscaler = None
    existing = chosen.settings.existing_cluster is not None
    if asked.cluster is not None:
        _require_existing(chosen)
    if asked.account is not None:
        account_limits.read(asked.account, [quota.name for quota in quotas(chosen.settings)])
    if chosen.own_machines:
        raise typer.Exit(on_own_machines(chosen, asked.base, terminal, keep=asked.keep))
    with deployed(asked.base) as version:
        options = Options(
            tools=tools(chosen.tools),
            gate=gate_for(ROOT, chosen.name),
            base=version,
            plugins=asked.plugins,
            keep=asked.keep,
            apply=asked.apply,
            account=asked.account,
            cluster=asked.cluster,
            # What the account lacks fails every job: the first failure is enough.
            fail_fast=asked.account is not None,
            seed=asked.seed,
            day_two=asked.day_two or ("none" if asked.keep else "brief"),
            inside=chosen.only_from_inside if asked.place is None else asked.place == "inside",
            autoscaler=autoscaler,
        )
        finished = (OnTheirCluster if existing else Rehearsal)(chosen, options, terminal).run()
    if finished.retained is not None:
        terminal.print()
        for line in finished.retained.next_steps():
            terminal.print(line, highlight=False, soft_wrap=True, markup=False)
    raise typer.Exit(finished.exit_code)


def _require_existing(stack: Stack) -> None:
    if stack.settings.existing_cluster is None:
        bad_input(f"--cluster: {stack.file.name} has no existingCluster, so the stack makes its own cluster")


def rehearse_changed(base: Base = "origin/main") -> None:
    """Rehearse the stacks that differ from a commit, one after the other, until one fails."""
    from rehearsal.engine.changed_stacks import changed_since, stack_files, to_rehearse

    changed = to_rehearse(changed_since(base), stack_files())
    typer.echo(f"to rehearse: {' '.join(changed) or 'none'}")
    # Make's other variables are not about every stack; `programs` has read this one for all commands.
    others = {*VARIABLES, "MAKEFLAGS"} - {"CLUSTER_AUTOSCALER"}
    own = {name: value for name, value in os.environ.items() if name not in others}
    for stack in changed:
        command = [sys.executable, "-m", "gpucluster", "rehearse", stack]
        if code := subprocess.run(command, cwd=ROOT, env=own, check=False).returncode:
            raise typer.Exit(code)


def preview(
    stack: StackArgument = "dev",
    base: Annotated[
        str | None,
        typer.Option("--base", help="A commit: also show what changes against its program.", envvar="BASE"),
    ] = None,
    cluster: ClusterOption = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Also print Pulumi's whole output.")] = False,
) -> None:
    """Preview a stack with the policy gate, offline: pools, prices, quotas. Exit code 0 if the gate passes."""
    if base is not None and cluster is not None:
        bad_input("--base and --cluster do not go together: leave one out")
    raise typer.Exit(0 if _preview(stack, base, cluster, verbose=verbose) else EXIT_FAIL)


def _preview(stack: str, base: str | None = None, cluster: Path | None = None, *, verbose: bool = False) -> bool:
    """Whether the gate passes a stack's preview, which is shown."""
    from rehearsal.engine.stack import resolve

    chosen = resolve(stack)  # a mistake in the file is reported before anything large is imported
    from rehearsal.engine.changed_stacks import checkout
    from rehearsal.engine.engine import gate_for
    from rehearsal.report.report import write_atomically
    from rehearsal.run import preview as previews
    from rehearsal.run.owners_program import OwnersProgram
    from rehearsal.tools.modules import PREVIEW

    terminal, folder = console(), BUILD / "preview"
    if cluster is not None:
        _require_existing(chosen)
        owners = OwnersProgram(chosen, cluster)
        gate = gate_for(ROOT, chosen.name)
        result = previews.preview(chosen, tools=tools(chosen.tools), gate=gate, owners=owners)
    elif base is None:
        result = previews.preview(chosen, tools=tools(PREVIEW), gate=gate_for(ROOT, chosen.name))
    else:
        with checkout(base, folder) as project:
            result = previews.against(chosen, project)
    if result.change.complete:
        previews.show_stack(terminal, result.change)
    previews.show(terminal, chosen.name, result, verbose=verbose)
    file = folder / f"{chosen.name}.json"
    write_atomically(file, previews.to_json(chosen.name, result.change))
    terminal.print(f"{previews.SIMULATED}.\nAs JSON: {file.relative_to(ROOT)}", highlight=False, soft_wrap=True)
    return result.ok


def scan(stack: StackArgument = "dev") -> None:
    """Write the gate's findings as SARIF for code scanning, build/gate.sarif; no account needed."""
    from policies.scan import main as with_places

    BUILD.mkdir(exist_ok=True)
    result = BUILD / "gate.sarif"
    result.unlink(missing_ok=True)
    os.environ["GPUCLUSTER_GATE_RESULT"] = str(result)
    passed = _preview(stack)
    raise typer.Exit(with_places([str(result.relative_to(ROOT)), stack]) or (0 if passed else EXIT_FAIL))


def quota(stack: StackArgument = "dev") -> None:
    """List the quotas that a stack at its maximum needs and where to ask, on GKE also APIs and roles."""
    from components.settings import from_stack_file
    from components.settings.quotas import listed
    from rehearsal.engine.stack import locate

    typer.echo(listed(from_stack_file(locate(stack))))


def report(stack: StackArgument = "dev") -> None:
    """Write the page of a stack's last rehearsal again, from its report.json."""
    from rehearsal.report.page import publish

    content, folder = _last_report(stack)
    publish(content, folder, console())


def compare(
    stacks: Annotated[
        list[str], typer.Argument(help="Stacks' names or files.", envvar="STACKS", autocompletion=stacks)
    ],
) -> None:
    """Write a page that shows the last rehearsals of several stacks side by side."""
    from rehearsal.report.page import render_comparison
    from rehearsal.report.report import replace_file

    names = ",".join(stacks).split(",")
    if len(names) < 2:
        bad_input("write at least two stacks, such as dev prod")
    reports = [_last_report(name) for name in names]
    page = _REPORTS / f"compare-{'-'.join(folder.name for _, folder in reports)}.html"
    try:
        replace_file(page, render_comparison([content for content, _ in reports]).encode())
    except (LookupError, TypeError, ValueError) as error:
        bad_input(f"a report is damaged, or of another version ({error!r}): rehearse its stack again")
    typer.echo(f"Comparison: {page.relative_to(ROOT)}")


def _last_report(stack: str) -> tuple[dict[str, Any], Path]:
    """The report of a stack's last rehearsal, and its folder."""
    from rehearsal.engine.stack import locate, stack_name
    from rehearsal.report.page import REPORT

    folder = _REPORTS / stack_name(locate(stack))
    if not (folder / REPORT).is_file():
        bad_input(f"no report of {stack} in {folder}: run `make rehearse STACK={stack}` first")
    content: dict[str, Any] = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    return content, folder


def pr_report(
    chosen: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STACKS]…", envvar="STACK", show_default="those that differ from BASE", autocompletion=stacks
        ),
    ] = None,
    base: Base = "origin/main",
    events: Annotated[
        Path | None,
        typer.Option(
            "--events", help="The event log of one stack's preview, in place of a simulated one.", envvar="EVENTS"
        ),
    ] = None,
) -> None:
    """Write the comment on a pull request, build/pr-report.md. Exit code 0 also if the gate refuses the change."""
    from rehearsal.engine.changed_stacks import checkout
    from rehearsal.report.pull_request import comment
    from rehearsal.run.preview import OUTPUT, changed_stacks, reports

    names, removed = (chosen, []) if chosen else changed_stacks(base)
    if events is not None and (len(names) != 1 or not events.is_file()):
        bad_input(f"--events {events}: write a file, and the one stack that it is of")
    with checkout(base, BUILD / "preview") if events is None else nullcontext(events) as source:
        text = comment([*reports(names, source)], removed=removed, pages=_rules_page())
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(text, encoding="utf-8")
    typer.echo(OUTPUT)


def _rules_page() -> str:
    """Where the gate's rules are explained; in a job of GitHub an address, because a comment has no folder."""
    server, repository, commit = (os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "SHA"))
    page = "docs/policies.md"
    return f"{server}/{repository}/blob/{commit}/{page}" if server and repository and commit else page


def stop(
    stack: Annotated[
        str | None,
        typer.Argument(
            help="Only clusters of this stack.", envvar="STACK", show_default="all stacks", autocompletion=stacks
        ),
    ] = None,
) -> None:
    """Stop clusters that `rehearse --keep` kept, and leftovers of killed rehearsals."""
    from rehearsal.engine.stack import locate, stack_name
    from rehearsal.sandbox.client import stop_left_behind

    stopped = stop_left_behind(BUILD if stack is None else _REPORTS / stack_name(locate(stack)))
    for run_dir in stopped:
        typer.echo(f"stopped {run_dir}")
    if not stopped:
        typer.echo("nothing was running")


def fault(
    case: Annotated[
        str | None, typer.Argument(help="A case's name.", envvar="CASE", show_default="list all cases")
    ] = None,
    without_gate: Annotated[bool, typer.Option("--rehearse", help="Also rehearse it without the gate.")] = False,
) -> None:
    """Inject a fault into the program and show that the gate refuses it. Exit code 0 if the fault is detected."""
    from components.settings.fields.problems import instead
    from rehearsal.engine.stack import resolve
    from rehearsal.faults.injections import CASES
    from rehearsal.faults.runner import run_case
    from rehearsal.tools.modules import PREVIEW

    if case is None:
        from rehearsal.report.summary import new_table

        table = new_table("", "case", "what is wrong")
        for known in CASES.values():
            table.add_row(known.name, known.title)
        console().print(table)
        return
    if case not in CASES:
        bad_input(f"{case}: no such case. {instead(case, tuple(CASES))}")
    folder = tools(resolve(CASES[case].stack).tools if without_gate else PREVIEW)
    raise typer.Exit(0 if run_case(CASES[case], console(), tools=folder, rehearse=without_gate) else EXIT_FAIL)


def programs(  # noqa: D103 (a docstring would replace the help of all commands)
    charts: Annotated[
        Path | None, typer.Option("--charts", help="A folder with archives of Helm charts.", envvar="CHARTS")
    ] = None,
    autoscaler: Annotated[
        Path | None,
        typer.Option(
            "--cluster-autoscaler", help="A real cluster-autoscaler to rehearse with.", envvar="CLUSTER_AUTOSCALER"
        ),
    ] = None,
) -> None:
    if charts is not None:
        os.environ["GPUCLUSTER_CHARTS"] = str(charts.absolute())
    if autoscaler is not None:
        os.environ["CLUSTER_AUTOSCALER"] = str(autoscaler)
