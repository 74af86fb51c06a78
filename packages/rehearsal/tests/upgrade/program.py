"""A version of the program in a process of its own, and the version that is deployed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from components.settings import WITHOUT_ACCOUNT

Answer = Callable[..., Any]
"""What the program asks of the engine → what it gets; raises what the engine refuses."""


class Program:
    """The program in the folder ``project``."""

    def __init__(self, project: Path) -> None:
        self._pipe, other = Pipe()
        worker = Path(__file__).with_name("worker.py")
        # Without the folders of this process: the program's packages have the names of today's.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment[WITHOUT_ACCOUNT] = "1"
        self._process = subprocess.Popen(
            [sys.executable, worker, project, str(other.fileno())], pass_fds=[other.fileno()], env=environment
        )
        other.close()

    def run(self, stack: str, config: Mapping[str, Any], secrets: Collection[str], answer: Answer) -> str:
        """Run it as ``stack`` with the keys ``config`` of a stack file, of which ``secrets`` are encrypted.

        Returns why it failed, or an empty text.
        """
        values = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
        self._pipe.send(("run", stack, values, secrets))
        while (question := self._pipe.recv())[0] != "end":
            try:
                self._pipe.send((answer(*question), ""))
            except Exception as error:
                self._pipe.send((None, str(error) or repr(error)))
        return str(question[1])

    def loads(self, config: Mapping[str, Any], stack: str, account: str) -> bool:
        """Whether its settings accept the keys ``config``, which are without a namespace."""
        self._pipe.send(("load", config, stack, account))
        return not self._pipe.recv()

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.wait()
