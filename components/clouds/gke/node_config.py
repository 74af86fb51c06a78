"""What every node of the cluster has in common, whichever pool it is in.

https://cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pulumi

from components.settings import Settings
from facts import catalog
from facts.catalog.gke.machines import boot_disk
from facts.concepts.kubernetes import CLOUD_EFFECTS, Taint
from facts.concepts.parts import Image
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import gke

IMAGE_TYPES: Final[Mapping[Image, str]] = {"cos": "COS_CONTAINERD", "ubuntu": "UBUNTU_CONTAINERD"}

OWN_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
# GKE does not use their local SSDs by default; here they become ephemeral storage. Machines of the third generation and
# later (A3, A4 …) use theirs by default:
# https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/NodeConfig#ephemeralstoragelocalssdconfig
_SSDS_UNUSED: Final = "a2-ultragpu-"


def node_config(
    settings: Settings, service_account: pulumi.Input[str], machine_type: str, disk_gb: int, pool: Pool | None = None
) -> gke.NodePoolNodeConfig:
    """The ``nodeConfig`` of ``pool``, or of one without labels and taints; ``disk_gb`` in GB.

    The stack's labels are for the bill, and its key of disks for all of them
    (https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek).
    """
    image: Image = "cos" if pool is None else pool.nodes.image
    disk_key = settings.security.disk_key
    config: gke.NodePoolNodeConfig = {
        "machineType": machine_type,
        "imageType": IMAGE_TYPES[image],
        "diskSizeGb": disk_gb,
        "diskType": boot_disk(machine_type),
        "serviceAccount": service_account,
        # Roles of the nodes' service account limit their permissions, not scopes.
        "oauthScopes": [*OWN_SCOPES],
        "metadata": {"disable-legacy-endpoints": "true"},
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        # Google signs the driver it builds for COS; the one for Ubuntu is built on the node and would not load.
        "shieldedInstanceConfig": {"enableSecureBoot": image == "cos", "enableIntegrityMonitoring": True},
        "spot": pool is not None and pool.scaling.spot,
        "labels": {} if pool is None else _labels(pool),
        "taints": [] if pool is None else [gke_taint(taint) for taint in pool.nodes.taints],
        "resourceLabels": dict(settings.labels),
    }
    if disk_key is not None:
        config["bootDiskKmsKey"] = disk_key
    if image == "cos":
        # Above 32 Gbit/s (A2, N1 with GPUs) only gVNIC reaches the machine's bandwidth:
        # https://cloud.google.com/compute/docs/networking/using-gvnic
        config["gvnic"] = {"enabled": True}
    if machine_type.startswith(_SSDS_UNUSED) and (machine := catalog.of("gke").machines.get(machine_type)) is not None:
        config["ephemeralStorageLocalSsdConfig"] = {"localSsdCount": machine.local_ssds}
    return config


def _labels(pool: Pool) -> dict[str, str]:
    """Those of the pool without those that GKE sets by itself."""
    return {key: value for key, value in pool.nodes.labels.items() if key not in pool.nodes.cloud_labels}


def gke_taint(taint: Taint) -> gke.NodeTaint:
    """A taint in GKE's spelling (``NO_SCHEDULE``)."""
    return {"key": taint.key, "value": taint.value or "", "effect": CLOUD_EFFECTS[taint.effect]}
