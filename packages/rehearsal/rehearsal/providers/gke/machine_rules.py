"""What GKE refuses to combine in a node pool: machine family, disks, GPU partitions and image."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import TABLE
from rehearsal.providers.values import at

MACHINE_RULES: Final = TABLE.rules("machine")

WITHOUT_PERSISTENT_DISK: Final = re.compile(r"(a3-ultragpu|a4|a4x|c4|c4a|c4d|g4|n4|n4a|n4d)-.*")
WITHOUT_HYPERDISK_BALANCED: Final = re.compile(r"(a2|c2|c2d|custom|e2|f1|g1|g2|n1|n2|n2d|t2a|t2d)-.*")
WITHOUT_LOCAL_SSD: Final = re.compile(r"(custom|e2|f1|g1|t2a|t2d|n4|n4a|n4d)-.*")
# Accelerator → the partitions that one GPU of it is divided into.
PARTITION_SIZES: Final[Mapping[str, tuple[str, ...]]] = {
    "nvidia-tesla-a100": ("1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"),
    "nvidia-a100-80gb": ("1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"),
    "nvidia-h100-80gb": ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb"),
    "nvidia-h100-mega-80gb": ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb"),
    "nvidia-h200-141gb": ("1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "7g.141gb"),
    "nvidia-b200": ("1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "7g.180gb"),
}
LABEL_KEY: Final = re.compile(r"[a-z][-_a-z0-9]{0,62}")
LABEL_VALUE: Final = re.compile(r"[-_a-z0-9]{0,63}")
SSD_COUNTS: Final = (
    "nodeConfig.localSsdCount",
    "nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount",
    "nodeConfig.localNvmeSsdBlockConfig.localSsdCount",
)


@MACHINE_RULES.add("disk-fits-machine")
def _disk_fits(pool: Properties, cloud: SimulatedCloud) -> str | None:
    machine, disk = at(pool, "nodeConfig.machineType") or "e2-medium", at(pool, "nodeConfig.diskType") or "pd-balanced"
    lacking = WITHOUT_PERSISTENT_DISK if disk.startswith("pd-") else WITHOUT_HYPERDISK_BALANCED
    if disk.startswith(("pd-", "hyperdisk-balanced")) and lacking.fullmatch(machine):
        return f"[{disk}] features are not compatible for creating instance with machine type {machine}."
    return None


@MACHINE_RULES.add("local-ssd-on-machine")
def _local_ssd(pool: Properties, cloud: SimulatedCloud) -> str | None:
    machine = at(pool, "nodeConfig.machineType") or "e2-medium"
    if any(at(pool, path) for path in SSD_COUNTS) and WITHOUT_LOCAL_SSD.fullmatch(machine):
        return f"Machine type '{machine}' takes no local SSD."
    known = cloud.catalog.machines.get(machine)
    counts = [count for path in SSD_COUNTS if (count := at(pool, path))]
    if known is not None and known.local_ssds and any(count != known.local_ssds for count in counts):
        return f"Machine type '{machine}' has {known.local_ssds} local SSDs, no other number."
    return None


@MACHINE_RULES.add("partition-size")
def _partition(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        size, sizes = accelerator.get("gpuPartitionSize"), PARTITION_SIZES.get(accelerator["type"], ())
        if size and size not in sizes:
            known = f"It has {', '.join(sizes)}" if sizes else "It cannot be partitioned"
            return f"Accelerator '{accelerator['type']}' has no partition size '{size}'. {known}."
    return None


@MACHINE_RULES.add("node-resource-labels")
def _resource_labels(pool: Properties, cloud: SimulatedCloud) -> str | None:
    return bad_resource_label(at(pool, "nodeConfig.resourceLabels") or {})


def bad_resource_label(labels: Mapping[str, str]) -> str | None:
    """The error in labels of Compute Engine resources: lower case, at most 63 characters each."""
    for key, value in labels.items():
        if not LABEL_KEY.fullmatch(key):
            return f"Invalid label key '{key}': a lower-case letter, then letters, digits, '-' and '_'; at most 63."
        if not LABEL_VALUE.fullmatch(value):
            return f"Invalid value '{value}' of label '{key}': lower-case letters, digits, '-' and '_'; at most 63."
    return None
