"""Stacks with ``workloads`` and ``identities``, on each cloud, as the real program registers them."""

from __future__ import annotations

import copy
import functools
from typing import Any, Final

import yaml

from tests import recorder
from tests.stacks import ROOT, run_with

CLOUDS: Final = ("gke", "eks", "aks")
BUCKETS: Final = {
    "gke": "gcp:storage/bucket:Bucket",
    "eks": "aws:s3/bucket:Bucket",
    "aks": "azure-native:storage:StorageAccount",
}
REGISTRIES: Final = {
    "gke": "gcp:artifactregistry/repository:Repository",
    "eks": "aws:ecr/repository:Repository",
    "aks": "azure-native:containerregistry:Registry",
}
ACCOUNT: Final = "kubernetes:core/v1:ServiceAccount"


@functools.cache
def _research(cloud: str) -> dict[str, Any]:
    written: dict[str, Any] = yaml.safe_load((ROOT / "examples" / f"{cloud}-research.yaml").read_text())["config"]
    return written


def config(cloud: str, **changes: Any) -> dict[str, Any]:
    """The research example of a cloud with ``changes`` of its keys; ``None`` leaves one out."""
    changed = {**copy.deepcopy(_research(cloud)), **{f"gpucluster:{key}": value for key, value in changes.items()}}
    return {key: value for key, value in changed.items() if value is not None}


@recorder.remembered
def run(cloud: str, **changes: Any) -> recorder.Recording:
    return run_with(config(cloud, **changes), "research")


def only(cloud: str, **workloads: Any) -> recorder.Recording:
    """A stack with these ``workloads`` and no identities."""
    return run(cloud, workloads=workloads, identities=None)


def accounts(recording: recorder.Recording) -> list[recorder.Registration]:
    """The service accounts of pods that users run, but for that of ``gpu submit --notify``."""
    metadata = [(each, each.inputs["metadata"]) for each in recording.of_type(ACCOUNT)]
    return [each for each, its in metadata if its["namespace"] != "kube-system" and its["name"] != "gpu-notifier"]
