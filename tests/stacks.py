"""The stack files of the project, and the real program run on one of them."""

from __future__ import annotations

import functools
import json
import runpy
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import yaml

from components.settings import Settings, from_stack_file
from tests import recorder
from tests.yaml_file import read_yaml

ROOT = Path(__file__).parents[1]
# libyaml's, where PyYAML was built with it: hundreds of files are written.
_SAFE_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
OWN_MACHINES = ROOT / "examples" / "kubeadm.yaml"
"""The one on machines that nobody rents out: tests/program/test_own_machines.py."""
CONTROL_PLANES = ROOT / "examples" / "kubeadm-ha.yaml"
"""The one with three control planes: tests/program/test_own_machines.py."""
EXISTING = ROOT / "examples" / "existing.yaml"
"""The one on a cluster that somebody else made: tests/program/test_existing.py."""
POOLS_ALONE = ROOT / "examples" / "gke-existing-cluster.yaml"
"""The one whose cluster another program makes: components/test_gpu_pools.py, and a rehearsal."""
POOLS_ALONE_ON_EKS = ROOT / "examples" / "eks-existing-cluster.yaml"
"""The same with their Karpenter: components/test_eks_pools.py, and a rehearsal."""
GROUPS_ALONE_ON_EKS = ROOT / "examples" / "eks-groups-existing-cluster.yaml"
"""The same with their cluster-autoscaler: components/test_eks_group_pools.py, and a rehearsal."""
POOLS_ALONE_ON_AKS = ROOT / "examples" / "aks-existing-cluster.yaml"
"""The same with the autoscaler of AKS: components/test_aks_pools.py, and a rehearsal."""
STACK_FILES = sorted(
    {*ROOT.glob("Pulumi.*.yaml"), *(ROOT / "examples").glob("*.yaml")}
    - {OWN_MACHINES, CONTROL_PLANES, EXISTING, POOLS_ALONE, POOLS_ALONE_ON_EKS, GROUPS_ALONE_ON_EKS, POOLS_ALONE_ON_AKS}
)


def stack_name(file: Path) -> str:
    return file.stem.removeprefix("Pulumi.")


def stack_file(name: str, config: dict[str, Any]) -> Path:
    """A stack file on disk; it lives as long as the process."""
    path = Path(_folder().name) / f"Pulumi.{name}.yaml"
    path.write_text(yaml.dump({"config": config}, Dumper=_SAFE_DUMPER))
    return path


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="stacks-")


@functools.cache
def run_program(file: Path) -> recorder.Recording:
    """What ``__main__.py`` registers for a stack file, recorded once per file."""
    return run_with(read_yaml(file)["config"], stack_name(file))


@functools.cache
def settings_of(file: Path) -> Settings:
    """What a stack file says, read once per file; frozen."""
    return from_stack_file(file)


def cloud_of(file: Path) -> str:
    """The cloud of a stack file, without the rest of its settings: those of all files take each worker a second."""
    return str(read_yaml(file)["config"]["gpucluster:cloud"])


def run_with(
    config: dict[str, Any],
    stack: str,
    program: Callable[[], None] | None = None,
    secrets: Collection[str] = (),
    deployed: recorder.Recording | None = None,
    new: Collection[str] | None = None,
) -> recorder.Recording:
    """What ``__main__.py`` registers for these keys, handed over as the engine does: structured values as JSON.

    The keys ``secrets`` are encrypted in the stack file. ``deployed`` is the update before; ``new`` makes it a preview.
    """
    values = {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}
    return recorder.run(program or _program, stack=stack, config=values, secrets=secrets, deployed=deployed, new=new)


def run_with_fault(file: Path, inject: Callable[[Callable[[], None]], None]) -> recorder.Recording:
    """What is registered when ``inject`` runs the program."""
    return run_with(read_yaml(file)["config"], stack_name(file), lambda: inject(_program))


def _program() -> None:
    runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")
