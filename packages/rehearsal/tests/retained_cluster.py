"""A cluster that a rehearsal leaves running, as a person's shell has it, for the tests of several files."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, rehearse
from packages.rehearsal.tests.simulated_cluster import PATIENCE
from rehearsal.engine.stack import ROOT
from rehearsal.sandbox import leftovers


@dataclass(frozen=True)
class RetainedCluster:
    """``printed``: what the rehearsal said at its end; ``variables``: those of a shell that has read its file."""

    printed: str
    variables: Mapping[str, str]

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return Path(self.variables["KUBECONFIG"])

    def output(self, command: str, code: int = 0) -> str:
        """What a command prints as its answer; it has to end with ``code``."""
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=ROOT,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def shell(self, command: str, code: int = 0) -> str:
        """All that people see of it in a terminal."""
        return self.output(f"exec 2>&1\n{command}", code)

    def as_developer(self) -> RetainedCluster:
        """The same for who may edit what is in the namespace, and no more."""
        kubeconfig = str(self.kubeconfig.with_name("developer.kubeconfig"))
        return replace(self, variables={**self.variables, "KUBECONFIG": kubeconfig})


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
        read = subprocess.run(["sh", "-ec", f". {environment} && env -0"], capture_output=True, text=True, check=True)
        variables = dict(pair.split("=", 1) for pair in read.stdout.split("\0") if pair)
        yield RetainedCluster(output, {**variables, "COLUMNS": "80"})
    finally:
        stopped, _ = rehearse("stop", str(stack)).communicate(timeout=PATIENCE)
    assert "stopped" in stopped
    assert leftovers.processes(REPORTS / stack.stem) == {}
