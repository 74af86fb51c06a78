"""How the program ends when the engine has no more use for it."""

from __future__ import annotations

import os
import signal


def end_at_once_when_interrupted() -> None:
    """Make an interrupt end the program's process at once; only in a process that the engine started for it.

    When a policy refuses a resource, the engine never answers the program's request for it, and interrupts the program.
    Python would wait for that answer before it exits, and the engine waits 5 s for Python before it kills it. Nothing
    is lost: the state is the engine's, and Ctrl-C reaches the program only through the engine.
    """
    # The language host sets it for the program's process: tests that run the program keep their own Ctrl-C.
    if "PULUMI_CONFIG" in os.environ:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
