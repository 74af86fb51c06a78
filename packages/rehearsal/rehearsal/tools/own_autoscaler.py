"""A cluster-autoscaler of the user's own: the variable ``CLUSTER_AUTOSCALER`` names the program.

It must be built with the provider ``externalgrpc``:
https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/externalgrpc#readme
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.tools.progress import ToolsError

NAME: Final = "cluster-autoscaler"
_VARIABLE: Final = "CLUSTER_AUTOSCALER"
_VERSION: Final = re.compile(r"Cluster Autoscaler (\d+)\.(\d+)\S*")
_TRIAL: Final = ("--v=1", "--cloud-provider=externalgrpc", "--leader-elect=false", "--address=127.0.0.1:0")
"""Without a cluster it reports its version and ends."""

_TRIAL_SECONDS: Final = 60


@dataclass(frozen=True)
class AutoscalerProgram:
    """A built cluster-autoscaler. ``version`` is as it reports it, ``release`` its first two numbers."""

    path: Path
    version: str
    release: tuple[int, int]


def own_autoscaler() -> AutoscalerProgram | None:
    """The cluster-autoscaler that the environment names, if any.

    Raises ToolsError: it is not a program, or not a cluster-autoscaler with the provider ``externalgrpc``.
    """
    name = os.environ.get(_VARIABLE)
    if not name:
        return None
    path, remedy = Path(name).absolute(), "name a built cluster-autoscaler, or leave it out"
    if path.is_dir() or not os.access(path, os.X_OK):
        raise ToolsError(f"{_VARIABLE}={name} is not a program: {remedy}")
    try:
        manual, trial = _output(path, "--help"), _output(path, *_TRIAL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolsError(f"{_VARIABLE}={name} does not run ({error}): {remedy}") from error
    if (version := _VERSION.search(trial)) is None:
        last = (trial.strip().splitlines() or ["it prints nothing"])[-1]
        raise ToolsError(f"{_VARIABLE}={name} is no cluster-autoscaler ({last[:200]}): {remedy}")
    if "externalgrpc" not in manual:
        raise ToolsError(f"{_VARIABLE}={name} lacks the provider externalgrpc: build it with -tags externalgrpc")
    return AutoscalerProgram(path, version[0].rpartition(" ")[2], (int(version[1]), int(version[2])))


def _output(path: Path, *flags: str) -> str:
    done = subprocess.run(
        [path, *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_TRIAL_SECONDS,
        check=False,
    )
    return done.stdout.decode(errors="replace")
