"""An interrupted program ends at once, even while one of its threads waits for an answer that never comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from components.interrupt import end_at_once_when_interrupted

STUCK = """
import concurrent.futures, threading
from components.interrupt import end_at_once_when_interrupted
end_at_once_when_interrupted()
executor = concurrent.futures.ThreadPoolExecutor()
executor.submit(threading.Event().wait)
print("waiting", flush=True)
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
    end_at_once_when_interrupted()
    assert signal.getsignal(signal.SIGINT) is before
