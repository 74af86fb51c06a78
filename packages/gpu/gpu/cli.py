"""The command line: its commands are in ``commands/``, and every expected failure is one message."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer
from typer.completion import (
    completion_init,  # pyright: ignore[reportPrivateImportUsage]
    get_completion_script,  # pyright: ignore[reportPrivateImportUsage]
)

from facts.concepts.offer import OfferError
from facts.jobs.job import AskError
from facts.jobs.plan import NothingFits
from facts.jobs.sweep import SweepError
from facts.jobs.trace import TraceError
from gpu import __version__
from gpu.cluster import ClusterError
from gpu.commands import copying, dev, fit, jobs, offer, plan, submission, top
from gpu.commands.common import EXIT_BAD_INPUT, EXIT_CLUSTER, EXIT_INTERRUPTED, EXIT_NO, err, fail
from gpu.commands.job_file import ProgramCommand
from gpu.folder import FolderError
from gpu.image import ImageError

_SHELLS: Final = ("bash", "zsh", "fish")

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # tables leave too little room for words at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Work on a GPU cluster whose pools scale from zero: list pools, run jobs, explain why they wait, and show
    what they cost. It uses your kubeconfig and installs nothing in the cluster.""",
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"gpu {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a command; the help text is the app's."""


def completion(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", autocompletion=lambda: list(_SHELLS))
    ],
) -> None:
    """Print a script that completes commands, options and names.

    Source it in your shell's start file.
    """
    if shell not in _SHELLS:
        fail(f"{shell}: write one of {', '.join(_SHELLS)}", EXIT_BAD_INPUT)
    typer.echo(get_completion_script(prog_name="gpu", complete_var="_GPU_COMPLETE", shell=shell))


app.command()(offer.pools)
app.command()(fit.fit)
app.command()(plan.plan)
app.command()(plan.trace)
app.command(cls=ProgramCommand)(submission.submit)
app.command("list")(jobs.list_jobs)
app.command()(jobs.logs)
app.command()(jobs.why)
app.command()(jobs.stop)
app.command()(copying.cp)
app.command()(jobs.cost)
app.command()(top.top)
app.command()(jobs.shell)
app.command()(dev.dev)
app.command()(dev.forward)
app.command()(completion)


def main() -> None:
    """Run the command; every expected failure is one message and an exit code: 1 no, 2 wrong input, 3 the cluster."""
    completion_init()
    try:
        app(prog_name="gpu")
    except (AskError, FolderError, SweepError, TraceError) as error:
        _end(error, EXIT_BAD_INPUT)
    except (NothingFits, ImageError) as error:
        _end(error, EXIT_NO)
    except (ClusterError, OfferError) as error:
        _end(error, EXIT_CLUSTER)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _end(error: Exception, code: int) -> None:
    # Typer's own Exit cannot be used out here.
    err().print("[bold red]error:[/]", end=" ")
    err().print(str(error), markup=False)
    sys.exit(code)
