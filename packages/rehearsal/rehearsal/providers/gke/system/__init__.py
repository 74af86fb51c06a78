"""What every new GKE cluster has: manifests in this folder, applied by the fleet with the control plane."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from rehearsal.providers.base import Properties, at
from rehearsal.providers.gke.rules import VERSION, not_newer
from rehearsal.providers.resource import manifests

_DYNAMIC_DISKS: Final = "1.35.3-gke.1290000"


def system_objects(cluster: Properties, version: str = VERSION) -> list[dict[str, Any]]:
    """Every object of the new cluster's system, in the order in which they can be applied; ``version``: its own."""
    files = ["quota", "deployments", "nodes", "gpus", "compute_classes"]
    files.append("dataplane_v2" if cluster.get("datapathProvider") == "ADVANCED_DATAPATH" else "kube_proxy")
    if at(cluster, "addonsConfig.dnsCacheConfig.enabled") is not False:
        files.append("dns_cache")
    # https://cloud.google.com/stackdriver/docs/managed-prometheus/setup-managed
    prometheus = at(cluster, "monitoringConfig.managedPrometheus.enabled") is not False
    if prometheus:
        files.append("prometheus")
    # By itself in clusters made since 1.32.1: https://cloud.google.com/kubernetes-engine/docs/how-to/dcgm-metrics
    components = at(cluster, "monitoringConfig.enableComponents")
    if prometheus if components is None else "DCGM" in components:
        files.append("gpu_metrics")
    # On unless a program says otherwise: https://cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/gce-pd-csi-driver
    if at(cluster, "addonsConfig.gcePersistentDiskCsiDriverConfig.enabled") is not False:
        files += ["storage", "dynamic_storage"] if not_newer(_DYNAMIC_DISKS, version) else ["storage"]
    # https://cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/filestore-csi-driver
    if at(cluster, "addonsConfig.gcpFilestoreCsiDriverConfig.enabled"):
        files.append("filestore")
    objects = manifests(Path(__file__).parent, *files)
    if forbidden := _forbidden_subjects(cluster):
        policy, binding = manifests(Path(__file__).parent, "bindings")
        policy["spec"]["variables"][0]["expression"] = json.dumps(forbidden)
        objects += [policy, binding]
    return objects


def _forbidden_subjects(cluster: Properties) -> list[str]:
    """Users and groups to which nobody may bind a role: each of the two switches is on by default."""
    switches = cluster.get("rbacBindingConfig") or {}
    subjects = {
        "enableInsecureBindingSystemAuthenticated": ["system:authenticated"],
        "enableInsecureBindingSystemUnauthenticated": ["system:unauthenticated", "system:anonymous"],
    }
    return [name for switch, names in subjects.items() if switches.get(switch) is False for name in names]
