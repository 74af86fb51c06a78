"""Puts the rehearsal's binaries on PATH, where the tests marked ``rehearsal`` look for them.

``make test`` names their folder (``GPUCLUSTER_TOOLS``): then a binary that is missing ends the run, so that no test is
skipped unseen. A plain ``pytest`` without binaries skips those tests.
"""

from __future__ import annotations

import contextlib
import os
import signal

from rehearsal.tools import ToolsMissing, folder

with contextlib.ExitStack() as missing_is_fine:
    if "GPUCLUSTER_TOOLS" not in os.environ:
        missing_is_fine.enter_context(contextlib.suppress(ToolsMissing))
    os.environ["PATH"] = os.pathsep.join((str(folder()), os.environ["PATH"]))

# A shell starts background jobs with SIGINT ignored, and children inherit that: tests of Ctrl-C need it to arrive.
signal.signal(signal.SIGINT, signal.default_int_handler)
