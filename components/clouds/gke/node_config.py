"""What every node of the cluster has in common, whichever pool it is in.

https://cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pulumi

from concepts.kubernetes import Taint
from concepts.pool import Image

if TYPE_CHECKING:
    from schemas import gke

IMAGE_TYPES: Final[Mapping[Image, str]] = {"cos": "COS_CONTAINERD", "ubuntu": "UBUNTU_CONTAINERD"}

# Families whose virtual machines take no Persistent Disk:
# https://cloud.google.com/compute/docs/disks/hyperdisks#machine-type-support
_HYPERDISK_ONLY: Final = ("a3-ultragpu-", "a4-", "a4x-", "c4-", "c4a-", "c4d-", "g4-", "n4-", "n4a-", "n4d-")

_EFFECTS: Final = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}


def node_config(
    *,
    machine_type: str,
    disk_gb: int,
    service_account: pulumi.Input[str],
    labels: Mapping[str, str],
    taints: Sequence[Taint] = (),
    resource_labels: Mapping[str, str],
    image: Image = "cos",
    spot: bool = False,
    secure_boot: bool = True,
) -> gke.NodePoolNodeConfig:
    """A ``nodeConfig`` block: ``disk_gb`` in GB, ``labels`` for the node object, ``resource_labels`` for the bill."""
    return {
        "machineType": machine_type,
        "imageType": IMAGE_TYPES[image],
        "diskSizeGb": disk_gb,
        "diskType": "hyperdisk-balanced" if machine_type.startswith(_HYPERDISK_ONLY) else "pd-balanced",
        "serviceAccount": service_account,
        # What the nodes may do is decided by their account's roles, not by scopes.
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "metadata": {"disable-legacy-endpoints": "true"},
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "shieldedInstanceConfig": {"enableSecureBoot": secure_boot, "enableIntegrityMonitoring": True},
        "spot": spot,
        "labels": dict(labels),
        "taints": [gke_taint(taint) for taint in taints],
        "resourceLabels": dict(resource_labels),
    }


def gke_taint(taint: Taint) -> gke.NodeTaint:
    """A taint in GKE's spelling (``NO_SCHEDULE``)."""
    return {"key": taint.key, "value": taint.value or "", "effect": _EFFECTS[taint.effect]}
