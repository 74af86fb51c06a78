"""The background process of a rehearsal, ``python -m rehearsal.sandbox D OPTIONS``, with the
options of ``Sandbox`` as JSON.

It runs until its standard input closes, or until SIGTERM or SIGINT. Lines on standard input are requests:

    keep              from now on only a signal ends the sandbox
    inventory         write inventory.json
    exhaust POOL …    these pools get no further machine, all others do again; then write exhaust.json
    restart PROGRAM   kill a program and start it again; then write restart.json
    reclaim NODE      the cloud takes the node's machine back; then write reclaim.json
    maintain          the cloud's maintenance window comes; then write maintain.json
    break NODE        one of the node's GPUs fails; then write break.json
    cron              run the programs of the cluster's CronJobs once; then write cron.json

Files of the run directory D:

    sandbox.json                          written when the sandbox is ready, and when its processes change
    inventory.json                        what exists in the simulated account, and whom it grants access
    exhaust.json                          the pools that get no further machine
    restart.json                          whether the program ran
    reclaim.json                          the node whose machine was last taken back
    maintain.json                         what the last maintenance did with GPU nodes
    plugins/                              for PATH: the kubeconfigs' credential plugins
    pulumi/home/plugins/resource-*        the engine's plugin cache, for ``PULUMI_HOME=D/pulumi/home``
    cloud/                                the state of a simulated cloud that keeps one on disk
    control-plane/, logs/, fleet.json

Exit code 0 after an ordinary end, 1 if something in the sandbox died or could not start.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Final

from rehearsal.cluster.processes import ProcessError
from rehearsal.fleet import FleetError
from rehearsal.providers.account_limits import AccountFileError
from rehearsal.sandbox.sandbox import Sandbox

_TICK_SECONDS: Final = 0.3
_log = logging.getLogger("rehearsal.sandbox")


def main(run_dir: str, options: str) -> int:
    """Run a sandbox until it is told to end."""
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s", level=logging.INFO)
    end, asked = threading.Event(), SimpleQueue[str]()

    def stop(number: int, frame: FrameType | None) -> None:
        end.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    threading.Thread(target=_end_with_input, args=(end, asked), name="input", daemon=True).start()
    try:
        with Sandbox(Path(run_dir).absolute(), **json.loads(options)) as sandbox:
            while not end.wait(_TICK_SECONDS):
                sandbox.check()
                sandbox.write_facts()
                while not asked.empty():
                    sandbox.answer(*asked.get().split())
    except (ProcessError, FleetError, AccountFileError, OSError) as error:
        _log.error("%s", error)
        return 1
    return 0


def _end_with_input(end: threading.Event, asked: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        if line.strip() == "keep":
            return
        asked.put(line)
    end.set()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
