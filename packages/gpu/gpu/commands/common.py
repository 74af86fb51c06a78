"""What all subcommands share: exit codes, output."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from typing import Any, Final, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from facts.concepts.foreign_text import output_line, without_controls
from gpu.cluster import ClusterClient

EXIT_NO: Final = 1
"""No pool fits, or the job failed."""
EXIT_BAD_INPUT: Final = 2
EXIT_CLUSTER: Final = 3
"""The cluster cannot be reached, or refuses."""
EXIT_INTERRUPTED: Final = 130


class PlainConsole(Console):
    """A console on which texts of the cluster are no commands to the terminal: anybody may create an event.

    A mark takes the place of each control character: without it, an escaped text might become markup.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Every text on its way to the screen, those in tables as well."""
        return super().render_str(without_controls(text, "\N{REPLACEMENT CHARACTER}"), **options)


def out() -> Console:
    """Standard output, as wide as the terminal, else 80 columns."""
    return PlainConsole(highlight=False)


def err() -> Console:
    """Standard error: everything that is not the answer."""
    return PlainConsole(stderr=True, highlight=False, soft_wrap=True)


def show_line(text: str) -> None:
    """A line of a job's output. A terminal gets its text and colours."""
    typer.echo(output_line(text) if sys.stdout.isatty() else text)


def table_of(*columns: str, numbers: Collection[str] = ()) -> Table:
    """An empty table without lines; ``numbers`` are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return table


def print_json(value: Any) -> None:
    """One JSON document."""
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")


def fail(message: str, code: int) -> NoReturn:
    """Print an error and exit with ``code``."""
    err().print(f"[bold red]error:[/] {escape(message)}")
    raise typer.Exit(code)


def problem_of(error: Exception) -> str:
    """Why a file cannot be read, without Python's number and the name, which the message has."""
    return str(getattr(error, "strerror", None) or error)


def name_cluster(cluster: ClusterClient) -> None:
    """Say on standard error which cluster answers, where the kubeconfig has several."""
    if cluster.others:
        err().print(f"[dim]context {escape(cluster.context)}, namespace {escape(cluster.namespace)}[/]")


def dollars(amount: float | None, *, at_most: bool = False) -> str:
    """``$1.20``, ``at most $1.20`` where that is an upper limit, or ``?`` if unknown."""
    if amount is None:
        return "?"
    figure = f"${amount:.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"
    return f"at most {figure}" if at_most else figure
