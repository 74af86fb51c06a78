"""Versions of what was real in a rehearsal, and of what was simulated."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rehearsal.engine.engine import Engine
    from rehearsal.engine.program import ForeignProgram
    from rehearsal.engine.stack import Stack

_MACHINES: Final = "kwok"
"""The program that plays kubelets."""


def real_programs(stack: Stack | ForeignProgram, engine: Engine) -> dict[str, str]:
    """Program → version. Pulumi may be the user's own."""
    pinned = {name: version for module in stack.tools for name, version in module.versions.items()}
    return {name: version for name, version in (pinned | {"pulumi": engine.version()}).items() if name != _MACHINES}


def simulated_interfaces(stack: Stack | ForeignProgram) -> dict[str, str]:
    """Provider plugin whose API is simulated, or program that plays machines → version."""
    plugins = [f"pulumi-{plugin}" for plugin in (*stack.plugins, "kubernetes")]
    machines = {name: version for module in stack.tools for name, version in module.versions.items()}
    return {plugin: metadata.version(plugin) for plugin in plugins} | {_MACHINES: machines[_MACHINES]}
