"""The program's process loses no time, and ends at once when interrupted, even while a thread waits for ever."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pulumi
import pytest

from components.process import DEBUG, run_without_delay

ROOT = Path(__file__).resolve().parent.parent.parent
STUCK = """
import concurrent.futures, gc, threading
from components.process import run_without_delay
run_without_delay()
executor = concurrent.futures.ThreadPoolExecutor()
executor.submit(threading.Event().wait)
print("waiting" if gc.get_freeze_count() and gc.isenabled() else "collecting", flush=True)
executor.shutdown(wait=True)
"""
TALKING = """
import pulumi
from pulumi.runtime import settings

class Engine:
    def Log(self, request):
        print(request.message)

settings.get_engine = Engine
from components.process import run_without_delay
run_without_delay()
pulumi.log.debug("a step")
pulumi.log.info("news")
pulumi.log.warn("a warning")
"""


def environment(**more: str) -> dict[str, str]:
    """This process's, as the engine gives it to a program."""
    return {**{key: value for key, value in os.environ.items() if key != DEBUG}, "PULUMI_CONFIG": "{}", **more}


def test_a_program_of_the_engine_ends_while_a_thread_is_stuck() -> None:
    program = subprocess.Popen([sys.executable, "-c", STUCK], cwd=ROOT, env=environment(), stdout=subprocess.PIPE)
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"waiting\n"
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=240) == -signal.SIGINT
    finally:
        program.kill()
        program.wait()


@pytest.mark.parametrize(
    ("more", "sent"), [({}, ["news", "a warning"]), ({DEBUG: "1"}, ["a step", "news", "a warning"])]
)
def test_debug_messages_are_sent_to_those_who_ask_for_them(more: dict[str, str], sent: list[str]) -> None:
    command = [sys.executable, "-c", TALKING]
    process = subprocess.run(command, cwd=ROOT, env=environment(**more), capture_output=True, text=True, check=True)
    assert process.stdout.splitlines() == sent


def test_other_processes_keep_their_own_handling() -> None:
    before = (signal.getsignal(signal.SIGINT), gc.get_freeze_count(), gc.isenabled(), pulumi.log.debug)
    run_without_delay()
    assert (signal.getsignal(signal.SIGINT), gc.get_freeze_count(), gc.isenabled(), pulumi.log.debug) == before
