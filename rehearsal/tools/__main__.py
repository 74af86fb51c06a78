"""``python3 -m rehearsal.tools``: install or check the binaries; the last line of stdout is their folder."""

from __future__ import annotations

import signal
import sys
import time

from rehearsal.tools.errors import ToolsError
from rehearsal.tools.install import install
from rehearsal.tools.progress import Progress, duration


def main() -> int:
    """Exit code 0 when everything is installed, 1 when something failed, 130 after Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress, start = Progress(), time.monotonic()
    try:
        folder = install(progress)
    except ToolsError as error:
        progress.say(f"tools: {error}")
        return 1
    except KeyboardInterrupt:
        progress.say("tools: interrupted. Nothing is half-installed; run it again to go on.")
        return 130
    progress.say(f"tools: ready after {duration(time.monotonic() - start)}")
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
