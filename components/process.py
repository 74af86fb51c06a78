"""How the program's process runs and ends: imported before the rest of the program."""

from __future__ import annotations

import gc
import os
import signal
from typing import Any, Final

import pulumi

# The language host sets it for the program's process: tests that run the program keep their own Ctrl-C.
_OF_THE_ENGINE: Final = "PULUMI_CONFIG" in os.environ

DEBUG: Final = "GPUCLUSTER_DEBUG"
"""If this environment variable is set, the SDK sends its debug messages, for ``pulumi up --debug``."""

if _OF_THE_ENGINE:
    gc.disable()  # during imports, which leave no garbage; ``run_without_delay`` enables it again


def run_without_delay() -> None:
    """Avoid delays when the process runs and exits. Call it after all imports, and only in a process of the engine.

    When a policy refuses a resource, the engine never answers the program's request for it, and interrupts the program.
    Python would wait for that answer before it exits, and the engine waits 5 s for Python before it kills it. So an
    interrupt ends the process at once. Nothing is lost: the engine holds the state, and Ctrl-C reaches the program only
    through the engine.

    Imported objects live until the end. Frozen, they are not searched for garbage, which saves a twelfth of a small
    preview (https://docs.python.org/3/library/gc.html#gc.freeze).

    The SDK sends the engine a debug message for every step of every resource, and waits until the engine has it
    (https://github.com/pulumi/pulumi/blob/master/sdk/python/lib/pulumi/log.py): a fifteenth of a small preview, for
    output that only ``--debug`` shows. They are not sent unless ``GPUCLUSTER_DEBUG`` is set.
    """
    if not _OF_THE_ENGINE:
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.freeze()
    gc.enable()
    if not os.environ.get(DEBUG):
        pulumi.log.debug = _drop


def _drop(*_: Any, **__: Any) -> None:
    """In place of ``pulumi.log.debug``."""
