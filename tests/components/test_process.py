"""The program's process ends at once when interrupted, even while a thread waits for an answer that never comes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

from components.process import end_without_delay

STUCK = """
import concurrent.futures, gc, threading
from components.process import end_without_delay
end_without_delay()
executor = concurrent.futures.ThreadPoolExecutor()
executor.submit(threading.Event().wait)
print("waiting" if gc.get_freeze_count() and gc.isenabled() else "collecting", flush=True)
executor.shutdown(wait=True)
"""


def test_a_program_of_the_engine_ends_while_a_thread_is_stuck() -> None:
    root = Path(__file__).resolve().parent.parent.parent
    environment = {**os.environ, "PULUMI_CONFIG": "{}"}
    program = subprocess.Popen([sys.executable, "-c", STUCK], cwd=root, env=environment, stdout=subprocess.PIPE)
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"waiting\n"
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=240) == -signal.SIGINT
    finally:
        program.kill()
        program.wait()


def test_other_processes_keep_their_own_handling() -> None:
    before = signal.getsignal(signal.SIGINT)
    kept = gc.get_freeze_count()
    assert gc.isenabled()
    end_without_delay()
    assert signal.getsignal(signal.SIGINT) is before
    assert gc.get_freeze_count() == kept
    assert gc.isenabled()
