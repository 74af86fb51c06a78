"""The policy gate's files: each command prints what the module of its name in ``policies/`` says."""

from __future__ import annotations

from typing import Annotated

import typer

from gpucluster.shared import Base, StackName


def gate_config(stack: StackName = "dev") -> None:
    """Check the gate's configuration of a stack; the last line is its file."""
    from policies.config import main

    raise typer.Exit(main(["--stack", stack]))


def gate_diff(base: Base = "origin/main") -> None:
    """Fail if the changes since a commit loosen the gate, and list what they loosen."""
    from policies.gate_diff import main

    raise typer.Exit(main([base]))


def policy_pack(
    pack: Annotated[str, typer.Argument(help="The folder to write.", envvar="PACK")] = "build/policy-pack",
) -> None:
    """Export the gate as a folder for other programs, to run or to publish; the last line is the folder."""
    from policies.bundle import main

    raise typer.Exit(main([pack]))
