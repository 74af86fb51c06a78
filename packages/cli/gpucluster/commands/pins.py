"""``pins``: the digests of what a stack installs."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpucluster.shared import EXIT_FAIL, StackArgument, console, say_error, tools

if TYPE_CHECKING:
    from facts.catalog.pins import Digests, Installed
    from rehearsal.providers.kubernetes.helm.contents import StackContents


def pins(
    stack: StackArgument = "dev",
    update: Annotated[
        bool, typer.Option("--update", help="Ask the registries, and write digests that are missing.", envvar="UPDATE")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print rows: kind, name, digest, note.")] = False,
) -> None:
    """List every image, chart and plugin that a stack installs, with its digest or "not pinned".

    Images of charts are listed if CHARTS= is a folder with the charts' archives. With --update, exit code 1 if a
    registry has another digest than facts/catalog/pins.csv, or none.
    """
    from facts.catalog.pins import PINNED_KINDS

    found = _contents(stack)
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("kind", "name", "digest", "note"))
        writer.writerows((row.kind, row.name, row.digest, row.note) for row in found.rows)
    else:
        _show(found)
    if update and not _updated([row for row in found.rows if row.kind in PINNED_KINDS and not row.note and row.name]):
        raise typer.Exit(EXIT_FAIL)


def _contents(stack: str) -> StackContents:
    from rehearsal.engine.stack import resolve

    chosen = resolve(stack)
    from rehearsal.providers.kubernetes.helm.charts import FOLDER, ChartError
    from rehearsal.providers.kubernetes.helm.contents import ChartChanged, contents
    from rehearsal.run.preview import preview
    from rehearsal.tools.modules import HELM, PREVIEW

    charts = bool(os.environ.get(FOLDER))
    folder = tools((*PREVIEW, *((HELM,) if charts else ())))
    previewed = preview(chosen, tools=folder, gate=None)
    if not previewed.change.complete:
        say_error(f"the preview of {chosen.name} did not end: {previewed.result.reason}")
        raise typer.Exit(EXIT_FAIL)
    resources = [(each.type, each.properties) for each in previewed.change.after.declared]
    try:
        return contents(resources, folder / "helm" if charts else None)
    except (ChartChanged, ChartError) as error:
        say_error(str(error))
    except subprocess.CalledProcessError as error:
        say_error(f"helm template: {error.stderr.strip()}")
    raise typer.Exit(EXIT_FAIL)


def _show(found: StackContents) -> None:
    from facts.catalog.pins import PINNED_KINDS
    from rehearsal.report.summary import new_table

    table = new_table("What the stack installs", "kind", "name", "digest")
    for row in found.rows:
        table.add_row(row.kind, row.name or "–", row.digest or row.note or "not pinned")
    terminal = console()
    terminal.print(table, highlight=False)
    countable = [row for row in found.rows if row.kind in PINNED_KINDS and (row.digest or not row.note)]
    pinned = sum(bool(row.digest) for row in countable)
    terminal.print(f"{pinned} of {len(countable)} images, charts and plugins have a digest.", highlight=False)
    if found.unread:
        charts = ", ".join(found.unread)
        terminal.print(f"Images of these charts are not listed; give their archives, CHARTS=DIR: {charts}",
                       highlight=False, soft_wrap=True)  # fmt: skip


def _updated(rows: list[Installed]) -> bool:
    """Whether all rows have the digest of their registry; new ones are written."""
    from account.registry import ask
    from facts.catalog.pins import PINS

    answers = ask(rows)
    for row, digest in answers.changed:
        say_error(f"{row.kind} {row.name}: the registry has {digest}, the pin is {row.digest}. Find out why; "
                  f"to accept it, change the pin")  # fmt: skip
    for row, reason in answers.failed:
        say_error(f"{row.kind} {row.name}: {reason}")
    if answers.new:
        write(PINS, answers.new)
        typer.echo(f"{len(answers.new)} written to {PINS.name}: review and commit it", err=True)
    return not answers.changed and not answers.failed


def write(file: Path, new: Digests) -> None:
    """Add rows to a file of digests, sorted, below its comments."""
    from facts.catalog.pins import read

    text = file.read_text(encoding="utf-8")
    head = "".join(line for line in text.splitlines(keepends=True) if line.startswith(("#", "kind,")))
    rows = sorted(f"{kind},{name},{digest}\n" for (kind, name), digest in {**read(text), **new}.items())
    # A program that reads it meanwhile sees the old one.
    written = file.with_suffix(".new")
    written.write_text(head + "".join(rows), encoding="utf-8")
    written.replace(file)
