"""What commands share: the argument for a stack, the console, messages and exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from facts.concepts.foreign_text import without_controls

if TYPE_CHECKING:
    from rehearsal.tools.modules import Module

ROOT: Final = Path(__file__).resolve().parents[3]
BUILD: Final = ROOT / "build"
EXIT_FAIL: Final = 1
EXIT_BAD_INPUT: Final = 2
EXIT_INTERRUPTED: Final = 130
_WIDTH_WITHOUT_TERMINAL: Final = 120


def stacks() -> list[str]:
    """Names and files of all stacks, for the shell's completion."""
    from rehearsal.engine.stack import available

    return available()


StackArgument = Annotated[
    str,
    typer.Argument(
        help="A stack's name (dev) or file (examples/gke-tips.yaml).", envvar="STACK", autocompletion=stacks
    ),
]
StackName = Annotated[str, typer.Argument(help="A stack's name.", envvar="STACK")]
Base = Annotated[str, typer.Option("--base", help="The commit that the change is compared with.", envvar="BASE")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of what is drawn.", envvar="SEED")]
Sample = Annotated[int | None, typer.Option("--n", help="How many, drawn.", envvar="N", show_default="all", min=0)]


def tools(modules: tuple[Module, ...]) -> Path:
    """The folder of the binaries of ``modules``, installed if need be, on a machine that can run them."""
    from rehearsal.run.options import require_loopback
    from rehearsal.tools import provide

    require_loopback()
    return provide(modules)


def console() -> Console:
    """Wide enough for the tables where there is no terminal to ask."""
    output = Console()
    return output if output.is_terminal else Console(width=_WIDTH_WITHOUT_TERMINAL)


def say_error(text: str) -> None:
    """One message on stderr, of which nothing is a command to the terminal."""
    Console(stderr=True).print(f"[bold red]error:[/] {escape(without_controls(text))}", soft_wrap=True, highlight=False)


def bad_input(text: str) -> NoReturn:
    """End with a message about what the user wrote."""
    say_error(text)
    sys.exit(EXIT_BAD_INPUT)
