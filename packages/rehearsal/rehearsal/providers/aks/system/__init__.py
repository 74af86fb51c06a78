"""The pods that every new AKS cluster has: manifests in this folder, applied by the fleet with the control plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rehearsal.providers.base import Properties, at
from rehearsal.providers.resource import manifests


def system_objects(cluster: Properties) -> list[dict[str, Any]]:
    """Every object of the new cluster's system, in the order in which they can be applied."""
    files = ["deployments", "nodes"]
    # Azure's own is the default: tests/providers/aks/recorded.
    if at(cluster, "networkProfile.networkPlugin") in (None, "azure"):
        files.append("azure_cni")
    if at(cluster, "securityProfile.workloadIdentity.enabled"):
        files.append("workload_identity")
    return [*manifests(Path(__file__).parent, *files), *_storage(cluster)]


def _storage(cluster: Properties) -> list[dict[str, Any]]:
    """The drivers and StorageClasses. "When you deploy AKS clusters across multiple availability zones, AKS now uses
    zone-redundant storage": https://learn.microsoft.com/azure/aks/create-volume-azure-disk. Azure says nothing of zones
    that come with a later pool: here those of the cluster's own pools count.
    """
    profile: Properties = cluster.get("storageProfile") or {}
    switches = {"disk.csi.azure.com": "diskCSIDriver", "file.csi.azure.com": "fileCSIDriver"}
    absent = {driver for driver, switch in switches.items() if at(profile, f"{switch}.enabled") is False}
    zones = {zone for pool in cluster.get("agentPoolProfiles") or () for zone in pool.get("availabilityZones") or ()}
    objects = manifests(Path(__file__).parent, "storage")
    for each in objects:
        if len(zones) > 1 and each.get("provisioner") == "disk.csi.azure.com":
            each["parameters"]["skuname"] = each["parameters"]["skuname"].replace("_LRS", "_ZRS")
    return [each for each in objects if {each["metadata"]["name"], each.get("provisioner")}.isdisjoint(absent)]
