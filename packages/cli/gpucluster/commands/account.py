"""What needs a cloud account, or its cluster: runs the ``pulumi`` on PATH, which is logged in, always with the gate.

A plan limits the update to what was reviewed: https://www.pulumi.com/docs/iac/guides/basics/update-plans/
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from facts.concepts.credentials import hidden, hidden_lines
from facts.concepts.foreign_text import without_controls
from gpucluster.shared import BUILD, EXIT_FAIL, ROOT, StackArgument, StackName, bad_input, say_error

if TYPE_CHECKING:
    from account.rows import ShownRow

# Helm has each release in a Secret, and lists all Secrets of the namespace to find it, which a reader may not.
IN_SECRETS: Final = ("**helm.sh/v3:Release::**", "**core/v1:Secret::**")
_LONGEST: Final = 900_000
"""Characters of a plan as text; GitHub refuses a summary of more than 1 MiB."""

Refresh = Annotated[
    bool, typer.Option("--refresh", help="Also undo drift: what was changed by hand.", envvar="REFRESH")
]
Secrets = Annotated[
    bool, typer.Option("--secrets", help="With a refresh: also of charts and Secrets.", envvar="SECRETS")
]


def plan(stack: StackName = "dev", refresh: Refresh = False, secrets: Secrets = False) -> None:
    """Preview against the cloud account, with the gate: build/plan.json, plan.md and plan.events.jsonl."""
    _remove("plan.*")
    _install_pinned_plugins()
    events = BUILD / "plan.events.jsonl"
    flags = ["--diff", "--save-plan", "build/plan.json", *_update_flags(stack, refresh, secrets)]
    command = [*_pulumi(), "preview", *flags, "--event-log", str(events)]
    text = BUILD / "plan.txt"
    with text.open("w", encoding="utf-8") as file:
        code = _run(command, file)
    markdown = as_markdown(stack, text.read_text(encoding="utf-8"), costs_of(events))
    (BUILD / "plan.md").write_text(markdown, encoding="utf-8")
    raise typer.Exit(code)


def deploy(stack: StackName = "dev", refresh: Refresh = False, secrets: Secrets = False) -> None:
    """Update the cloud account, with the gate, limited to the changes in build/plan.json."""
    _install_pinned_plugins()
    command = [*_pulumi(), "up", "--yes", "--plan", "build/plan.json", *_update_flags(stack, refresh, secrets)]
    raise typer.Exit(subprocess.run(command, cwd=ROOT, check=False).returncode)


def drift(stack: StackName = "dev", secrets: Secrets = False) -> None:
    """What differs between the program, the state and the cloud: build/drift.md, empty if nothing."""
    from rehearsal.report.drift import drift_of

    _remove("drift.*")
    events = BUILD / "drift.events.jsonl"
    flags = [*refresh_flags(secrets), "--suppress-progress", "--stack", stack, "--event-log", str(events)]
    if code := _run([*_pulumi(), "preview", *flags]):
        raise typer.Exit(code)
    lines = drift_of(events.read_text(encoding="utf-8") if events.exists() else "")
    if lines is None:
        say_error(f"{events.relative_to(ROOT)}: the preview did not end, so nothing is known about drift")
        raise typer.Exit(EXIT_FAIL)
    text = "".join(f"{line}\n" for line in lines)
    (BUILD / "drift.md").write_text(text, encoding="utf-8")
    typer.echo(text, nl=False)


def account(stack: StackArgument = "dev") -> None:
    """Ask the cloud's account, with your login, what `pulumi up` will meet: quotas, machines, names, rights.

    It reads, and changes nothing. It also writes the deployer's rights, and a file for `make rehearse ACCOUNT=`.
    """
    from account.asking import AccountError
    from account.command import ask
    from components.settings import from_stack_file

    settings = from_stack_file(_stack_file(stack))
    try:
        code = ask(settings, (BUILD / "account" / settings.stack).relative_to(ROOT), say_line)
    except AccountError as error:
        bad_input(str(error))
    raise typer.Exit(code)


def _stack_file(stack: str) -> Path:
    file = Path(stack) if stack.endswith((".yaml", ".yml")) else ROOT / f"Pulumi.{stack}.yaml"
    if not file.is_file():
        bad_input(f"no stack {stack!r} ({file} does not exist): write its name, or its file")
    return file


def prove(
    stack: StackArgument = "dev",
    part: Annotated[
        Literal["cluster", "stack", "account"],
        typer.Option(
            "--part",
            help="cluster: a kubeconfig is enough. stack: needs Pulumi's state. stack and account: need your login.",
        ),
    ] = "cluster",
    pools: Annotated[
        str | None, typer.Option("--pools", help="Only these GPU pools, as t4-1,t4-4.", show_default="all")
    ] = None,
    max_usd: Annotated[
        float | None,
        typer.Option("--max-usd", min=0, help="The most that it may cost.", show_default="the price that it asks for"),
    ] = None,
    minutes: Annotated[
        int, typer.Option("--minutes", min=1, max=240, help="How long each job may take, its node's start included.")
    ] = 20,
    namespace: Annotated[
        str | None, typer.Option("--namespace", "-n", help="Where its jobs are.", show_default="the context's")
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", help="A context of your kubeconfig.", show_default="the current one")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needs --max-usd.")] = False,
) -> None:
    """Show on the cluster of your kubeconfig what a rehearsal shows; asks for the price first.

    Nodes as declared, a first job per GPU pool from zero, pods that stay Pending, back to zero. Everything that it
    creates is a Job in one namespace, which ends and is deleted by itself, also if this command is killed.

    With --part stack: that a second `pulumi up` changes nothing, by a preview. With --part account, after `pulumi
    destroy`: that nothing of the stack is left in the account, by requests that read.
    """
    from account.prove.command import ProveOptions
    from account.prove.command import prove as prove_cluster
    from account.prove.plan import ProveError
    from facts.concepts.offer import OfferError
    from gpu.cluster import ClusterClient, ClusterError

    # A rehearsal's copy of the file may have a longer name.
    name = Path(stack).stem.rpartition("Pulumi.")[2]
    if part == "stack":
        raise typer.Exit(_prove_stack(name, _stack_file(stack)))
    if part == "account":
        raise typer.Exit(_prove_account(_stack_file(stack)))
    options = ProveOptions(
        stack=name,
        folder=BUILD / "prove" / name,
        rehearsal=BUILD / "rehearsal" / name / "report.json",
        pools=tuple(pools.split(",")) if pools else (),
        minutes=minutes,
        max_usd=max_usd,
        yes=yes,
    )
    try:
        code = prove_cluster(ClusterClient(context, namespace), options, say=say_line, confirm=typer.confirm)
    except ProveError as error:
        bad_input(str(error))
    except (ClusterError, OfferError) as error:
        say_error(str(error))
        code = EXIT_FAIL
    raise typer.Exit(code)


def say_line(line: str) -> None:
    """Print a line, as wide as the terminal, else 80 columns: paths stay whole, nothing is a command to it."""
    line = without_controls(line)
    indent = line[: len(line) - len(line.lstrip())]
    lines = textwrap.wrap(
        line,
        shutil.get_terminal_size().columns,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    typer.echo("\n".join(lines))


def _prove_stack(stack: str, file: Path) -> int:
    """Part *stack* of ``prove``: 0 if a preview with this stack file has no changes."""
    from account.prove import report
    from rehearsal.report.drift import drift_of

    _remove("prove.*")
    events, now = BUILD / "prove.events.jsonl", datetime.now(timezone.utc)
    which = ("--stack", stack, "--config-file", str(file.absolute()))
    code = _run([*_pulumi(), "preview", *which, "--suppress-progress", "--event-log", str(events)])
    log = events.read_text(encoding="utf-8") if events.exists() else ""
    rows = [report.of_changes(None if code else drift_of(log))]
    engine = subprocess.run(["pulumi", "version"], capture_output=True, text=True, check=False).stdout.strip()
    return _reported(report.rows_json("stack", stack, rows, {"pulumi": engine}, now), rows)


def _prove_account(file: Path) -> int:
    """Part *account* of ``prove``: 0 if nothing is left but what stays on purpose."""
    from account.asking import AccountError
    from account.left import leftovers_of, rows_left
    from account.prove import report
    from components.settings import from_stack_file

    settings, now = from_stack_file(file), datetime.now(timezone.utc)
    try:
        account = leftovers_of(settings)
    except AccountError as error:
        bad_input(str(error))
    say_line(f"{settings.cloud}, {settings.region}: {account.caller}. Nothing is changed.")
    rows = rows_left(account)
    return _reported(report.rows_json("account", settings.stack, rows, {}, now), rows)


def _reported(content: dict[str, Any], rows: Sequence[ShownRow]) -> int:
    """Write and print the report of a part that has rows and nothing else; its exit code."""
    from account.prove import report
    from account.rows import lines, passed

    stack = content["stack"]
    written = report.write(content, BUILD / "prove" / stack)
    for line in lines(rows):
        say_line(line)
    say_line(f"Not shown by this part: {'; '.join(content['notShown'])}.")
    say_line(f"{content['verdict'].upper()} {stack}. Report: {written.relative_to(ROOT)}")
    return 0 if passed(rows) else EXIT_FAIL


def stack_place(stack: StackName = "dev") -> None:
    """Check a stack file and print its cloud and region."""
    from components.settings.__main__ import main

    raise typer.Exit(main([f"Pulumi.{stack}.yaml"]))


def refresh_flags(secrets: bool) -> list[str]:
    """Flags of ``pulumi`` that compare with the cloud, by default without what only a Secret's reader can compare."""
    return ["--refresh", *(() if secrets else (f"--exclude={glob}" for glob in IN_SECRETS))]


def _update_flags(stack: str, refresh: bool, secrets: bool) -> list[str]:
    """The same flags for the plan and for the update that it limits. Ends with 1 if the gate's file is not valid."""
    from policies.config import ConfigError, file_for, main, note_on

    try:
        file = file_for(stack)
    except ConfigError as error:
        bad_input(str(error))
    if note := note_on(stack, file):
        typer.echo(note, err=True)
    if code := main([str(file)]):
        raise typer.Exit(code)
    flags = ["--stack", stack, *(refresh_flags(secrets) if refresh else ())]
    return [*flags, "--policy-pack", "policies", "--policy-pack-config", str(file)]


def _pulumi() -> list[str]:
    if shutil.which("pulumi") is None:
        bad_input("no pulumi on PATH: install it (https://www.pulumi.com/docs/install), or add the folder that "
                  "`make engine` prints")  # fmt: skip
    return ["pulumi", "--non-interactive", "--color", "never"]


def _install_pinned_plugins() -> None:
    """Download the plugins that have a hash and are not there, and install those that agree with it.

    ``pulumi`` installs a plugin by itself without a hash, and its ``--checksum`` misses what comes with the end of an
    answer: https://github.com/pulumi/pulumi/blob/v3.200.0/sdk/go/common/workspace/plugins.go (``checksumReader``)
    """
    from facts.catalog.pins import PLATFORM, digests
    from facts.catalog.plugins import plugin_version

    pinned = {name: digest for (kind, name), digest in digests().items() if kind == "plugin"}
    wanted = [name.split(" ") for name in pinned if name.endswith(f" {PLATFORM}")]
    missing = [(package, version) for package, version, _ in wanted if plugin_version(package) == version]
    if not missing:
        return
    listed = subprocess.run([*_pulumi(), "plugin", "ls", "--json"], capture_output=True, check=True)
    there = {(each["name"], each.get("version")) for each in json.loads(listed.stdout) or ()}
    for package, version in (each for each in missing if each not in there):
        _install_plugin(package, version, pinned[f"{package} {version} {PLATFORM}"])


def _install_plugin(package: str, version: str, digest: str) -> None:
    from account.registry import PLUGINS, RegistryError, download
    from facts.catalog.pins import PLATFORM

    name = f"pulumi-resource-{package}-v{version}-{PLATFORM}.tar.gz"
    archive = BUILD / name
    BUILD.mkdir(exist_ok=True)
    try:
        received = download(f"{PLUGINS}/{name}", archive)
        if received != digest:
            say_error(f"{name} is {received}, the pin in facts/catalog/pins.csv is {digest}: find out why")
            raise typer.Exit(EXIT_FAIL)
        if code := _run([*_pulumi(), "plugin", "install", "resource", package, f"v{version}", "--file", str(archive)]):
            raise typer.Exit(code)
    except RegistryError as error:
        say_error(f"{name}: {error}")
        raise typer.Exit(EXIT_FAIL) from None
    finally:
        archive.unlink(missing_ok=True)


def _run(command: Sequence[str], copy: IO[str] | None = None) -> int:
    """Run a preview, which prints as it goes, without credentials; with ``copy``, into that file, too."""
    environment = {**os.environ, "PULUMI_DEBUG_COMMANDS": "true"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        for text in hidden_lines(line.decode(errors="replace") for line in process.stdout):
            if copy is not None:
                copy.write(text)
            sys.stdout.write(text)
            sys.stdout.flush()
    return process.returncode


def costs_of(events: Path) -> str:
    """What the stack costs an hour, and cost before; empty where the preview did not end."""
    from rehearsal.engine.events import read_events
    from rehearsal.report.changes import stack_change
    from rehearsal.report.pull_request import costs

    change = stack_change(read_events(events) if events.exists() else [])
    return costs(change) if change.complete else ""


def as_markdown(stack: str, text: str, costs: str = "") -> str:
    """The plan for people: in a fence, which no line of it can end. ``costs`` is Markdown above it."""
    shortened = "Shortened: read the whole in this job's log.\n" if len(text) > _LONGEST else ""
    body = re.sub(r"^[ \t]*~~~", "    ~~~", hidden(text[:_LONGEST]), flags=re.MULTILINE)
    above = f"\n{costs}\n\n" if costs else ""
    return f"### Update of stack {stack}\n{above}{shortened}~~~~~~diff\n{body}\n~~~~~~\n"


def _remove(pattern: str) -> None:
    BUILD.mkdir(exist_ok=True)
    for file in BUILD.glob(pattern):
        file.unlink()
