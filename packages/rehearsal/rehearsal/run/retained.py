"""A cluster that keeps running after its rehearsal: how to use it. And a clean-up that ignores Ctrl-C."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.cluster.pki import write_private
from rehearsal.engine.engine import Engine

_FILE_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class RetainedCluster:
    """``environment`` is a file for a shell: PATH, KUBECONFIG, Pulumi's variables; ``jobs`` are files of manifests."""

    environment: Path
    kubeconfig: Path
    jobs: tuple[Path, ...]
    stack: str

    @classmethod
    def prepare(cls, engine: Engine, run_dir: Path, kubeconfig: Path) -> RetainedCluster:
        """Write the files into the run's folder; only the user can read the environment, which has the passphrase."""
        folder = run_dir / "jobs"
        folder.mkdir(exist_ok=True)
        jobs = []
        for pool, manifest in engine.outputs()["gpuJobs"].items():
            path = folder / f"{_FILE_NAME.sub('-', pool)}.yaml"
            path.write_text(manifest)
            jobs.append(path)
        own = engine.environment()
        variables = {name: own[name] for name in sorted(own) if name.startswith("PULUMI_")}
        variables |= {"KUBECONFIG": str(kubeconfig), "PYTHONDONTWRITEBYTECODE": "1"}
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        # The interpreter's own folder has the command `gpu`.
        first = os.pathsep.join(map(str, (*engine.path, Path(sys.executable).parent)))
        lines.append(f'export PATH={shlex.quote(first)}:"$PATH"')
        environment = run_dir / "environment.sh"
        write_private(environment, "\n".join(lines) + "\n")
        return cls(environment, kubeconfig, tuple(jobs), engine.stack)

    def next_steps(self) -> Iterator[str]:
        """Instructions for the user, one per line; commands are indented."""
        # Commands without comments: an interactive zsh takes a comment for arguments.
        yield "The cluster keeps running. This puts its kubeconfig, kubectl, pulumi and gpu into a shell:"
        yield f"  . {self.environment}"
        for job in self.jobs[:3]:
            yield f"  kubectl apply -f {job}"
        yield "  kubectl get pods,nodes --watch"
        yield "  gpu pools"
        yield f"  pulumi stack output -s {self.stack} autoscaling"
        yield "Containers are simulated: a job succeeds after 3 seconds, `sleep 60` after 60 (or as the pod annotation"
        yield "rehearsal.gpucluster.dev/seconds says). Logs have one line; exec and port-forward are refused."
        yield f"The kubeconfig alone: {self.kubeconfig}. All commands of gpu: docs/workloads.md."
        yield "`make rehearse-stop` stops the cluster."


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C inside the block: a second Ctrl-C must not cut off the clean-up after the first."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
