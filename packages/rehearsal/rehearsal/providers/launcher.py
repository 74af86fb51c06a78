"""The executables the engine starts as provider plugins: they print the rehearsal's port and end with the engine.

They are laid out as the engine's plugin cache, so that with ``PULUMI_HOME`` set to the directory above, the engine
uses them without a warning. An executable of the same name on PATH wins, with one: that is how another plugin
replaces a simulated one
(https://github.com/pulumi/pulumi/blob/v3.200.0/sdk/go/common/workspace/plugins.go, getPluginInfoAndPath).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rehearsal.providers.base import Provider

# The engine closes a plugin's standard input when it ends, in whichever way, and interrupts it before.
_SCRIPT: Final = """\
#!/bin/sh
if ! kill -0 {pid} 2>/dev/null; then
  echo "the rehearsal (process {pid}) that serves {name} is gone; start another" >&2
  exit 1
fi
echo {port}
exec cat
"""


def write_launchers(plugins: Path, ports: Mapping[Provider, int], pid: int | None = None) -> None:
    """Write a launcher per provider into ``plugins``, whose parent the engine must get as ``PULUMI_HOME``.

    ``pid`` (default: this process) is the process that serves; once it is gone the launchers refuse with a sentence.
    """
    for provider, port in ports.items():
        directory = plugins / f"resource-{provider.name}-v{provider.version}"
        directory.mkdir(parents=True, exist_ok=True)
        launcher = directory / f"pulumi-resource-{provider.name}"
        launcher.write_text(_SCRIPT.format(pid=pid or os.getpid(), name=provider.name, port=port))
        launcher.chmod(0o755)
