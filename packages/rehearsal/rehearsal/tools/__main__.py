"""``python3 -m rehearsal.tools [MODULE …]``: install or check the binaries; the last line is their folder.

Without arguments all of them but those of own machines and of other languages, else only those of the modules named
(``actionlint``, ``kubernetes``, …).
Progress goes to stderr, the folder to stdout.
"""

from __future__ import annotations

import signal
import sys
import time

from rehearsal.tools.install import install
from rehearsal.tools.modules import LAB, LANGUAGES, MODULES, Module
from rehearsal.tools.progress import Progress, ToolsError, duration


def main() -> int:
    """Exit code 0 when everything is installed, 1 when something failed, 130 after Ctrl-C or SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    progress, start = Progress(), time.monotonic()
    try:
        folder = install(progress, modules=_named(sys.argv[1:]))
    except ToolsError as error:
        progress.say(f"tools: {error}")
        return 1
    except KeyboardInterrupt:
        progress.say("tools: interrupted. Nothing is half-installed; run it again to go on.")
        return 130
    progress.say(f"tools: ready after {duration(time.monotonic() - start)}")
    print(folder)
    return 0


def _named(names: list[str]) -> tuple[Module, ...]:
    known = {module.name: module for module in (*MODULES, *LAB, *LANGUAGES)}
    if unknown := sorted(set(names) - set(known)):
        raise ToolsError(f"no module called {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(known[name] for name in names) or MODULES


if __name__ == "__main__":
    sys.exit(main())
