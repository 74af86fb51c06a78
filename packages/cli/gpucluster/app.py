"""The commands of ``gpucluster``, and how an expected error ends them. The Makefile's targets call them by name."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import typer
from rich.console import Console

from gpucluster.commands import account, develop, gate, pins, proof, rehearsal
from gpucluster.make import VARIABLES, UnknownVariable, written
from gpucluster.shared import EXIT_BAD_INPUT, EXIT_FAIL, EXIT_INTERRUPTED, bad_input, say_error

_HELP: Final = (
    "Rehearse, deploy and check a GPU cluster.\n\n"
    # One line a paragraph: the terminal breaks them.
    "A rehearsal needs no cloud account and costs nothing. The unchanged Pulumi program runs on this machine: Pulumi, "
    "the policy gate, the Kubernetes control plane and the autoscaler are real; cloud APIs, machines and time are "
    "simulated. It submits jobs, observes GPU nodes start and stop, and reports what it observed.\n\n"
    "`make TARGET VARIABLE=value` sets up what a command needs, then calls it; an option reads that variable."
)

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=_HELP,
)
app.callback()(rehearsal.programs)

COMMANDS: Final[dict[str, tuple[Callable[..., None], ...]]] = {
    "Rehearse, without an account": (
        *(rehearsal.rehearse, rehearsal.preview, rehearsal.quota, rehearsal.report, rehearsal.compare, rehearsal.stop),
        *(rehearsal.fault, rehearsal.rehearse_changed, rehearsal.pr_report, rehearsal.scan, pins.pins),
    ),
    "Deploy, with an account": (
        *(account.account, account.plan, account.deploy, account.drift, account.prove, account.stack_place),
    ),
    "The policy gate": (gate.gate_config, gate.gate_diff, gate.policy_pack),
    "Laboratories": (*(proof.mutants, proof.faults, proof.checkov, proof.bench, proof.bench_load, proof.bench_trace),),
    "Development": (
        *(develop.check, develop.quick, develop.test, develop.test_clients, develop.test_all, develop.clients),
        *(develop.docs, develop.site, develop.picture, develop.facts, develop.schemas, develop.lock, develop.format_),
        develop.release,
    ),
}
"""Panel of the help → its commands."""

for _panel, _functions in COMMANDS.items():
    for _function in _functions:
        app.command(_function.__name__.strip("_").replace("_", "-"), rich_help_panel=_panel)(_function)


def main() -> None:
    """Run the command line; every expected error is one readable message and an exit code."""
    # Nobody else changes programs and files that these commands write and use again, whatever the user's own umask.
    os.umask(os.umask(0o077) | 0o022)
    # SIGTERM and SIGHUP clean up as Ctrl-C does. A shell ignores SIGINT for its background jobs.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        # A shell between make and here may have changed them.
        os.environ.update({name: value for name, value in written(os.environ).items() if name in VARIABLES})
        app(prog_name="gpucluster")
    except UnknownVariable as error:
        bad_input(str(error))
    except (KeyboardInterrupt, SystemExit) as ended:
        # Typer exits without a word: `Exit(130) from KeyboardInterrupt`. A rehearsal has said where it was.
        if isinstance(ended, SystemExit) and not isinstance(
            getattr(ended.__context__, "__cause__", None), KeyboardInterrupt
        ):
            raise
        Console(stderr=True).print("Interrupted.")
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        say_error(str(error))
        sys.exit(code)


def _exit_code(error: Exception) -> int | None:
    """Of an error whose message is for the user; ``None`` of a defect. Imports late what raised it."""
    from components.settings import SettingsError

    if isinstance(error, SettingsError):
        return EXIT_BAD_INPUT
    if type(error).__module__.partition(".")[0] not in ("facts", "proof", "rehearsal"):
        return None
    from facts.jobs.trace import TraceError
    from proof.second_opinion.findings import ScannerFailed
    from rehearsal.engine.changed_stacks import NoSuchCommit
    from rehearsal.engine.engine import EngineError
    from rehearsal.engine.stack import StackError
    from rehearsal.providers.account_limits import AccountFileError
    from rehearsal.run.options import LoopbackDown
    from rehearsal.sandbox.client import SandboxError
    from rehearsal.tools import ToolsError

    if isinstance(error, (AccountFileError, NoSuchCommit, StackError, ToolsError, TraceError)):
        return EXIT_BAD_INPUT
    return EXIT_FAIL if isinstance(error, (EngineError, LoopbackDown, SandboxError, ScannerFailed)) else None


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
