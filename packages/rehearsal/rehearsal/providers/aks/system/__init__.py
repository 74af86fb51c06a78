"""The pods that every new AKS cluster has: manifests in this folder, applied by the fleet with the control plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rehearsal.providers.base import Properties, at
from rehearsal.providers.resource import manifests


def system_objects(cluster: Properties) -> list[dict[str, Any]]:
    """Every object of the new cluster's system, in the order in which they can be applied."""
    files = ["deployments", "nodes"]
    if at(cluster, "networkProfile.networkPlugin") == "azure":
        files.append("azure_cni")
    if at(cluster, "securityProfile.workloadIdentity.enabled"):
        files.append("workload_identity")
    return manifests(Path(__file__).parent, *files)
