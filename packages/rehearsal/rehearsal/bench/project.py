"""Project directories and stacks to measure, in a folder that goes away."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import ROOT
from rehearsal.providers import CLOUD_PLUGINS
from rehearsal.sandbox.client import SandboxFacts, SandboxHandle

_EMPTY_PROJECT = {"name": "empty", "runtime": {"name": "python", "options": {"virtualenv": ".venv"}}}

PLACES: Final[dict[str, dict[str, Any]]] = {
    "gke": {"gcp:project": "bench-project", "gpucluster:region": "us-central1", "gpucluster:zones": ["us-central1-a"]},
    "eks": {"aws:region": "us-west-2", "gpucluster:region": "us-west-2", "gpucluster:zones": ["us-west-2a"]},
    "aks": {
        "azure-native:subscriptionId": "00000000-0000-0000-0000-000000000000",
        "gpucluster:region": "eastus",
        "gpucluster:zones": ["eastus-1"],
    },
}
"""Cloud → where the measured stacks are; the rest of them is the same on every cloud."""


@contextmanager
def workspace(name: str) -> Iterator[Path]:
    """A fresh folder below ``build/bench``, removed afterwards."""
    parent = ROOT / "build" / "bench"
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def preview_sandbox(folder: Path, tools: Path) -> Iterator[SandboxFacts]:
    """The simulated providers without a control plane, shared by all previews of a measurement."""
    with SandboxHandle(folder / "sandbox", tools=tools, clouds=CLOUD_PLUGINS, control_plane=False) as sandbox:
        yield sandbox.ready()


def empty_project(folder: Path) -> Path:
    """A project whose program does nothing: what every preview costs at least."""
    project = folder / "empty"
    project.mkdir()
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(_EMPTY_PROJECT))
    (project / "Pulumi.dev.yaml").write_text("config: {}\n")
    (project / "__main__.py").write_text("")
    (project / ".venv").symlink_to(ROOT / ".venv")
    return project


def engine_for(name: str, folder: Path, facts: SandboxFacts, tools: Path, project: Path, stack_file: Path) -> Engine:
    """An engine with a stack of its own, named after the stack file."""
    engine = Engine.create(
        project=project,
        stack=stack_file.stem.removeprefix("Pulumi."),
        stack_file=stack_file,
        run_dir=folder / f"engine-{name}",
        path=(tools,),
    )
    return replace(engine, home=facts.pulumi_home, path=(facts.plugins, tools))


def stack_with(folder: Path, name: str, changes: dict[str, Any], cloud: str = "gke") -> Path:
    """The dev stack on ``cloud``, with some keys of the namespace ``gpucluster`` replaced."""
    content = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    del content["config"]["gcp:project"]
    content["config"].update({"gpucluster:cloud": cloud, **PLACES[cloud]})
    content["config"].update({f"gpucluster:{key}": value for key, value in changes.items()})
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(content))
    return file
