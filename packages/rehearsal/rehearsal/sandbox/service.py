"""Runs a sandbox as a process: its command line, its requests on standard input, its end."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from types import FrameType
from typing import Final

from rehearsal.cluster.processes import ProcessError
from rehearsal.fleet import FleetError
from rehearsal.providers import CLOUD_PLUGINS, account_limits
from rehearsal.providers.account_limits import UNLIMITED, AccountFileError
from rehearsal.sandbox.sandbox import Sandbox
from rehearsal.tools import ToolsError, folder

_TICK_SECONDS: Final = 0.3
_log = logging.getLogger("rehearsal.sandbox")


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run a sandbox until it is told to end."""
    parser = argparse.ArgumentParser(prog="python -m rehearsal.sandbox", description="The background of a rehearsal.")
    parser.add_argument("--run-dir", type=Path, required=True, help="everything of this sandbox is written here")
    parser.add_argument("--tools", type=Path, help="folder with the programs (default: the installed ones)")
    parser.add_argument("--no-control-plane", action="store_true", help="simulated providers only, for previews")
    parser.add_argument(
        "--cloud", action="append", choices=CLOUD_PLUGINS, help="a cloud plugin to simulate; repeatable (default: all)"
    )
    parser.add_argument("--no-cloud", action="store_true", help="no cloud is simulated: the machines are real")
    parser.add_argument("--inside", action="store_true", help="the program runs in the cluster's network")
    parser.add_argument("--account", type=Path, help="a file of the account's quotas, reservations and rights")
    parser.add_argument("--existing", type=Path, help="a stack file whose existing network is created first")
    parser.add_argument("--package", action="append", help="name=version of a plugin of another program; repeatable")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s", level=logging.INFO)

    end, asked = threading.Event(), SimpleQueue[str]()
    _end_on_signals(end)
    threading.Thread(target=_end_with_input, args=(end, asked), name="input", daemon=True).start()
    try:
        tools = None if options.no_control_plane else options.tools or folder()
        clouds = () if options.no_cloud else options.cloud or CLOUD_PLUGINS
        run_dir = options.run_dir.absolute()
        limits = UNLIMITED if options.account is None else account_limits.read(options.account)
        packages = None if options.package is None else dict(each.split("=", 1) for each in options.package)
        with Sandbox(
            run_dir,
            tools=tools,
            clouds=clouds,
            inside=options.inside,
            existing=options.existing,
            limits=limits,
            packages=packages,
        ) as sandbox:
            while not end.wait(_TICK_SECONDS):
                sandbox.check()
                sandbox.write_facts()
                while not asked.empty():
                    _answer(sandbox, asked.get())
    except (ProcessError, FleetError, ToolsError, AccountFileError, OSError) as error:
        _log.error("%s", error)
        return 1
    return 0


def _end_on_signals(end: threading.Event) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        end.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)


def _end_with_input(end: threading.Event, asked: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        if line.strip() == "keep":
            return
        asked.put(line)
    end.set()


def _answer(sandbox: Sandbox, line: str) -> None:
    word, *rest = line.split()
    if word == "inventory":
        sandbox.write_inventory()
    elif word == "exhaust":
        sandbox.exhaust(rest)
    elif word == "inject":
        sandbox.inject(Path(*rest))
    elif word == "calls":
        sandbox.write_calls()
    elif word == "reclaim":
        sandbox.reclaim(*rest)
    elif word == "maintain":
        sandbox.maintain()
