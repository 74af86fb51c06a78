"""The example of a research lab on every cloud: only account, place and names of the cloud's own are other ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from tests.stacks import ROOT, stack_file

EXAMPLE: Final = ROOT / "examples" / "research-lab.yaml"

_SUBSCRIPTION: Final = "00000000-0000-0000-0000-000000000000"
_GROUP: Final = f"/subscriptions/{_SUBSCRIPTION}/resourceGroups/group-data/providers"
_DATA: Final = f"{_GROUP}/Microsoft.Storage/storageAccounts/mygroupdata/blobServices/default/containers"
_SECRET: Final = f"{_GROUP}/Microsoft.KeyVault/vaults/group/secrets/wandb-key"
# Cloud → what the example must write differently there. T4s come by one and four, not by two, in the machines there.
WORDS: Final[dict[str, dict[str, Any]]] = {
    "eks": {
        "aws:region": "us-west-2",
        "gpucluster:region": "us-west-2",
        # Which works with the queue.
        "gpucluster:autoscaling": {"autoscaler": "cluster-autoscaler"},
    },
    "aks": {
        "azure-native:subscriptionId": _SUBSCRIPTION,
        "gpucluster:region": "eastus",
        "gpucluster:identities": [
            {"serviceAccount": "default/trainer", "read": [f"{_DATA}/datasets"], "secrets": [_SECRET]},
            {"serviceAccount": "serving/model", "read": [f"{_DATA}/models"]},
        ],
    },
}
CLOUDS: Final = ("gke", *WORDS)


def file(cloud: str) -> Path:
    """The stack file on disk; it lives as long as the process."""
    if cloud == "gke":
        return EXAMPLE
    example: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())["config"]
    (pool,) = example["gpucluster:gpuPools"]
    (service,) = example["gpucluster:workloads"]["services"]
    pool["gpusPerNode"] = [1, 4]
    service["image"] = "registry.example/jobs:serve-1"
    config = {**example, "gpucluster:cloud": cloud, **WORDS[cloud]}
    config.pop("gcp:project")
    config.pop("gpucluster:adminPool")
    return stack_file(f"research-lab-{cloud}", config)
