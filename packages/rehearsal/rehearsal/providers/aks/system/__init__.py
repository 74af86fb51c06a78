"""The pods that every new AKS cluster has: manifests in this folder, applied by the fleet with the control plane."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.providers.base import Properties
from rehearsal.providers.values import at

MANIFESTS: Final = Path(__file__).parent


def system_objects(cluster: Properties) -> list[dict[str, Any]]:
    """Every object of the new cluster's system, in the order in which they can be applied."""
    files = ["deployments", "nodes"]
    if at(cluster, "networkProfile.networkPlugin") == "azure":
        files.append("azure_cni")
    if at(cluster, "securityProfile.workloadIdentity.enabled"):
        files.append("workload_identity")
    return [copy.deepcopy(each) for name in files for each in _objects(name)]


@cache
def _objects(name: str) -> list[dict[str, Any]]:
    text = (MANIFESTS / f"{name}.yaml").read_text("utf-8")
    return [document for document in yaml.safe_load_all(text) if document]
