"""What GKE refuses in a node pool, machine family, disks, GPU partitions and image included; one rule per reason."""

from __future__ import annotations

import re
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import TABLE
from rehearsal.providers.gke.compute_classes import CLASS_LABEL
from rehearsal.providers.gke.nodes import EFFECTS, PARTITIONS, gpu_called
from rehearsal.providers.rules import bad_labels, bad_taints
from rehearsal.providers.values import at

MAX_LIFETIME_SECONDS: Final = 7 * 24 * 3600
MAX_LABEL_CHARACTERS: Final = 1024
WITHOUT_PERSISTENT_DISK: Final = re.compile(r"(a3-ultragpu|a4|a4x|c4|c4a|c4d|g4|n4|n4a|n4d)-.*")
WITHOUT_HYPERDISK_BALANCED: Final = re.compile(r"(a2|c2|c2d|custom|e2|f1|g1|g2|n1|n2|n2d|t2a|t2d)-.*")
WITHOUT_LOCAL_SSD: Final = re.compile(r"(custom|e2|f1|g1|t2a|t2d|n4|n4a|n4d)-.*")
SSD_COUNTS: Final = (
    "nodeConfig.localSsdCount",
    "nodeConfig.ephemeralStorageLocalSsdConfig.localSsdCount",
    "nodeConfig.localNvmeSsdBlockConfig.localSsdCount",
)


@TABLE.check("node-pool", "machine-on-demand")
def _on_demand(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_ = at(pool, "nodeConfig.machineType")
    machine = cloud.catalog.machines.get(type_) if type_ else None
    if machine is None or machine.provisioning == "any":
        return None
    ways = [at(pool, f"nodeConfig.{key}") for key in ("spot", "preemptible", "flexStart")]
    if any(ways) or at(pool, "queuedProvisioning.enabled"):
        return None
    reserved = at(pool, "nodeConfig.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION"
    if reserved and machine.provisioning == "spot-or-reservation":
        return None
    return f"Machine type '{type_}' is not available on demand: use spot, flex-start or (large sizes) a reservation."


@TABLE.check("node-pool", "accelerator-exists")
def _accelerator(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        if gpu_called(cloud, accelerator["type"]) is None:
            known = ", ".join(sorted(a.name for a in cloud.catalog.accelerators.values()))
            return f"Accelerator type '{accelerator['type']}' is not known to this rehearsal. Known: {known}."
    return None


@TABLE.check("node-pool", "accelerator-fits-machine")
def _fits(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_ = at(pool, "nodeConfig.machineType") or "e2-medium"
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        gpu, count = gpu_called(cloud, accelerator["type"]), int(accelerator["count"])
        if gpu is not None and cloud.catalog.machines.with_gpus(type_, gpu, count) is None:
            return f"Machine type '{type_}' cannot have {count} accelerators of type '{accelerator['type']}'."
    return None


@TABLE.check("node-pool", "surge-not-both-zero")
def _surge(pool: Properties, cloud: SimulatedCloud) -> str | None:
    settings = pool.get("upgradeSettings")
    if not settings or settings.get("strategy", "SURGE") != "SURGE":
        return None
    surge, unavailable = int(settings.get("maxSurge") or 0), int(settings.get("maxUnavailable") or 0)
    if surge + unavailable == 0:
        return "upgrade_settings: max_surge and max_unavailable cannot both be 0."
    if surge + unavailable > 20:
        return f"upgrade_settings: max_surge plus max_unavailable is {surge + unavailable}, at most 20 is allowed."
    return None


@TABLE.check("node-pool", "labels-valid")
def _labels(pool: Properties, cloud: SimulatedCloud) -> str | None:
    return bad_labels(at(pool, "nodeConfig.labels") or {})


@TABLE.check("node-pool", "labels-length")
def _labels_length(pool: Properties, cloud: SimulatedCloud) -> str | None:
    characters = sum(len(key) + len(value) for key, value in (at(pool, "nodeConfig.labels") or {}).items())
    if characters <= MAX_LABEL_CHARACTERS:
        return None
    return f"The node labels have {characters} characters in all, at most {MAX_LABEL_CHARACTERS} are allowed."


@TABLE.check("node-pool", "label-of-a-class")
def _label_of_a_class(pool: Properties, cloud: SimulatedCloud) -> str | None:
    key = CLASS_LABEL
    name = (at(pool, "nodeConfig.labels") or {}).get(key)
    taint = {"key": key, "value": name, "effect": "NO_SCHEDULE"}
    if name is None or any(taint.items() <= each.items() for each in at(pool, "nodeConfig.taints") or []):
        return None
    return f'Node labels with key "{key}" are managed by GKE or Kubernetes and must not be manually specified.'


@TABLE.check("node-pool", "taints-valid")
def _taints(pool: Properties, cloud: SimulatedCloud) -> str | None:
    taints: list[dict[str, Any]] = at(pool, "nodeConfig.taints") or []
    for taint in taints:
        if taint["effect"] not in EFFECTS:
            return f"Taint '{taint['key']}' has effect '{taint['effect']}'; use {', '.join(EFFECTS)}."
    return bad_taints(taints)


@TABLE.check("node-pool", "max-run-duration")
def _lifetime(pool: Properties, cloud: SimulatedCloud) -> str | None:
    text = at(pool, "nodeConfig.maxRunDuration")
    if text is None or 0 < float(str(text).removesuffix("s")) <= MAX_LIFETIME_SECONDS:
        return None
    return f"max_run_duration {text} must be more than 0 and at most {MAX_LIFETIME_SECONDS}s (7 days)."


@TABLE.check("node-pool", "disk-fits-machine")
def _disk_fits(pool: Properties, cloud: SimulatedCloud) -> str | None:
    machine, disk = at(pool, "nodeConfig.machineType") or "e2-medium", at(pool, "nodeConfig.diskType") or "pd-balanced"
    lacking = WITHOUT_PERSISTENT_DISK if disk.startswith("pd-") else WITHOUT_HYPERDISK_BALANCED
    if disk.startswith(("pd-", "hyperdisk-balanced")) and lacking.fullmatch(machine):
        return f"[{disk}] features are not compatible for creating instance with machine type {machine}."
    return None


@TABLE.check("node-pool", "local-ssd-on-machine")
def _local_ssd(pool: Properties, cloud: SimulatedCloud) -> str | None:
    machine = at(pool, "nodeConfig.machineType") or "e2-medium"
    if any(at(pool, path) for path in SSD_COUNTS) and WITHOUT_LOCAL_SSD.fullmatch(machine):
        return f"Machine type '{machine}' takes no local SSD."
    known = cloud.catalog.machines.get(machine)
    counts = [count for path in SSD_COUNTS if (count := at(pool, path))]
    if known is not None and known.local_ssds and any(count != known.local_ssds for count in counts):
        return f"Machine type '{machine}' has {known.local_ssds} local SSDs, no other number."
    return None


@TABLE.check("node-pool", "partition-size")
def _partition(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        size, sizes = accelerator.get("gpuPartitionSize"), PARTITIONS.get(accelerator["type"], ())
        if size and size not in sizes:
            known = f"It has {', '.join(sizes)}" if sizes else "It cannot be partitioned"
            return f"Accelerator '{accelerator['type']}' has no partition size '{size}'. {known}."
    return None
