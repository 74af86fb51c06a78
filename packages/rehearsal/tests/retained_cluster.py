"""A cluster that a rehearsal leaves running, as a person's shell has it, for the tests of several files."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from packages.gpu.tests.readme import ASKS, Session, comparable
from packages.rehearsal.tests.listeners import Listener, listeners, wrong
from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, rehearse
from packages.rehearsal.tests.simulated_cluster import PATIENCE
from rehearsal.engine.stack import ROOT
from rehearsal.sandbox import client
from tests.other_user import OtherUser


@dataclass(frozen=True)
class RetainedCluster:
    """``printed``: what the rehearsal said at its end; ``variables``: those of a shell that has read its file.

    ``folder``: where commands run.
    """

    printed: str
    variables: Mapping[str, str]
    folder: Path = ROOT

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return Path(self.variables["KUBECONFIG"])

    @property
    def run_dir(self) -> Path:
        """The folder of its run."""
        return self.kubeconfig.parents[1]

    def given_away(self, user: OtherUser) -> dict[Listener, frozenset[str]]:
        """What another user gets of it, and should not; fails if a file of the run can be read."""
        for file in ("sandbox.json", "control-plane/kubeconfig", "pulumi/home"):
            with pytest.raises(PermissionError):
                user.read(str(self.run_dir / file))
        listening = [*listeners(client.processes(self.run_dir))]
        assert {"etcd", "kube-apiserver", "sandbox"} <= {each.process for each in listening}
        return wrong(listening, user)

    def output(self, command: str, code: int = 0) -> str:
        """What a command prints as its answer; it has to end with ``code``."""
        return self._run(command, code, subprocess.DEVNULL)

    def _run(self, command: str, code: int, stdin: int) -> str:
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=self.folder,
            env=self.variables,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def shell(self, command: str, code: int = 0) -> str:
        """All that people see of it."""
        return self.output(f"exec 2>&1\n{command}", code)

    def terminal(self, command: str, code: int = 0) -> str:
        """All that people see of it in a terminal, at which nobody types."""
        keyboard, terminal = os.openpty()
        try:
            return self._run(f"exec 2>&1\n{command}", code, terminal)
        finally:
            os.close(terminal)
            os.close(keyboard)

    def as_developer(self) -> RetainedCluster:
        """The same for who may edit what is in the namespace, and no more."""
        kubeconfig = str(self.kubeconfig.with_name("developer.kubeconfig"))
        return replace(self, variables={**self.variables, "KUBECONFIG": kubeconfig})

    def with_gpu_of(self, home: Path, folder: Path) -> RetainedCluster:
        """The same in ``folder``, for who has installed the command in the virtual environment ``home`` alone."""
        own = Path(sys.executable).parent
        path = [str(home / "bin"), *(each for each in self.variables["PATH"].split(os.pathsep) if Path(each) != own)]
        variables = {name: value for name, value in self.variables.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        return replace(self, variables={**variables, "PATH": os.pathsep.join(path)}, folder=folder)

    def replay(self, session: Session, name: str) -> None:
        """Its commands print what the page shows, in their order; the stack is called ``name`` here."""
        for command, shown in session.steps:
            expected = comparable(command, shown.replace(session.stack.stem, name))
            assert self._answer(command, expected) == expected, command

    def _answer(self, command: str, expected: str) -> str:
        """What it prints; of what may be asked again the first answer that is expected, or else the last."""
        # Nothing fits; and kubectl opens no shell where no program runs.
        code = 1 if expected.startswith("no pool fits") or command.startswith("gpu dev") else 0
        deadline = time.monotonic() + (PATIENCE if command.split()[1] in ASKS else 0)
        seen = self.terminal if command.startswith("gpu dev") else self.shell
        while (answer := comparable(command, seen(command, code))) != expected and time.monotonic() < deadline:
            time.sleep(0.5)
        return answer


def variables_of(environment: Path) -> dict[str, str]:
    """Those of a shell that has read the file, at 80 columns."""
    read = subprocess.run(["sh", "-ec", f". {environment} && env -0"], capture_output=True, text=True, check=True)
    return {**dict(pair.split("=", 1) for pair in read.stdout.split("\0") if pair), "COLUMNS": "80"}


@contextlib.contextmanager
def retained_cluster(stack: Path, *arguments: str) -> Iterator[RetainedCluster]:
    """The stack rehearsed with further ``arguments`` and kept, then stopped.

    ``stop`` ends all rehearsals of the file's name, so that has to be its own.
    """
    output, _ = (process := rehearse("rehearse", str(stack), "--keep", *arguments)).communicate(timeout=LONGEST)
    try:
        assert process.returncode == 0, output
        line = next(line for line in output.splitlines() if line.startswith("  . "))
        environment = Path(line.split()[1])
        assert environment.stat().st_mode & 0o077 == 0, "it holds the state's passphrase"
        yield RetainedCluster(output, variables_of(environment))
    finally:
        stopped, _ = rehearse("stop", str(stack)).communicate(timeout=PATIENCE)
    assert "stopped" in stopped
    assert client.processes(REPORTS / stack.stem) == {}
