"""What GKE refuses in a node pool, one rule per reason."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import TABLE
from rehearsal.providers.gke.nodes import gpu_called
from rehearsal.providers.labels import bad_label
from rehearsal.providers.values import at

POOL_RULES: Final = TABLE.rules("node-pool")

MAX_LIFETIME_SECONDS: Final = 7 * 24 * 3600
MAX_LABEL_CHARACTERS: Final = 1024


@POOL_RULES.add("autoscaling-limits-ordered")
def _limits_ordered(pool: Properties, cloud: SimulatedCloud) -> str | None:
    scaling = pool.get("autoscaling")
    if not scaling:
        return None
    for low, high in (("minNodeCount", "maxNodeCount"), ("totalMinNodeCount", "totalMaxNodeCount")):
        if int(scaling.get(low) or 0) > int(scaling.get(high) or 0):
            limit = scaling.get(high) or 0
            return f"autoscaling.{low} ({scaling[low]}) must not be greater than autoscaling.{high} ({limit})."
    if not scaling.get("maxNodeCount") and not scaling.get("totalMaxNodeCount"):
        return "autoscaling.maxNodeCount or autoscaling.totalMaxNodeCount must be greater than 0."
    return None


@POOL_RULES.add("machine-exists")
def _machine(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_ = at(pool, "nodeConfig.machineType")
    if type_ is None or cloud.catalog.machines.get(type_) is not None:
        return None
    return f"Machine type '{type_}' is not known to this rehearsal, whose catalogue of machine types is not Google's."


@POOL_RULES.add("machine-on-demand")
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


@POOL_RULES.add("accelerator-exists")
def _accelerator(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        if gpu_called(cloud, accelerator["type"]) is None:
            known = ", ".join(sorted(a.name for a in cloud.catalog.accelerators.values()))
            return f"Accelerator type '{accelerator['type']}' is not known to this rehearsal. Known: {known}."
    return None


@POOL_RULES.add("accelerator-fits-machine")
def _fits(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_ = at(pool, "nodeConfig.machineType") or "e2-medium"
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        gpu, count = gpu_called(cloud, accelerator["type"]), int(accelerator["count"])
        if gpu is not None and cloud.catalog.machines.with_gpus(type_, gpu, count) is None:
            return f"Machine type '{type_}' cannot have {count} accelerators of type '{accelerator['type']}'."
    return None


@POOL_RULES.add("driver-latest-on-cos")
def _driver(pool: Properties, cloud: SimulatedCloud) -> str | None:
    image = at(pool, "nodeConfig.imageType") or "COS_CONTAINERD"
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        if at(accelerator, "gpuDriverInstallationConfig.gpuDriverVersion") == "LATEST" and not image.startswith("COS"):
            return (
                f"gpu_driver_version LATEST is only supported on Container-Optimized OS, not on {image}: use DEFAULT."
            )
    return None


@POOL_RULES.add("time-sharing-clients")
def _sharing(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        sharing = accelerator.get("gpuSharingConfig")
        if sharing and not 2 <= int(sharing.get("maxSharedClientsPerGpu") or 0) <= 48:
            return "max_shared_clients_per_gpu must be between 2 and 48."
    return None


@POOL_RULES.add("surge-not-both-zero")
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


@POOL_RULES.add("labels-valid")
def _labels(pool: Properties, cloud: SimulatedCloud) -> str | None:
    labels = at(pool, "nodeConfig.labels") or {}
    return next(filter(None, (bad_label("label", key, value) for key, value in labels.items())), None)


@POOL_RULES.add("labels-length")
def _labels_length(pool: Properties, cloud: SimulatedCloud) -> str | None:
    characters = sum(len(key) + len(value) for key, value in (at(pool, "nodeConfig.labels") or {}).items())
    if characters <= MAX_LABEL_CHARACTERS:
        return None
    return f"The node labels have {characters} characters in all, at most {MAX_LABEL_CHARACTERS} are allowed."


@POOL_RULES.add("labels-allowed")
def _roles(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for key in at(pool, "nodeConfig.labels") or {}:
        if key.startswith("node-role.kubernetes.io/"):
            return f"Applying kubernetes label is not allowed: {key}."
    return None


@POOL_RULES.add("taints-valid")
def _taints(pool: Properties, cloud: SimulatedCloud) -> str | None:
    taints: list[dict[str, Any]] = at(pool, "nodeConfig.taints") or []
    unique: set[tuple[str, str]] = set()
    for taint in taints:
        identity = (taint.get("key", ""), taint.get("effect", ""))
        if identity in unique:
            return f"Duplicate taint: key '{identity[0]}' with effect {identity[1]} appears twice."
        unique.add(identity)
        if taint.get("effect") not in ("NO_SCHEDULE", "PREFER_NO_SCHEDULE", "NO_EXECUTE"):
            return (
                f"Taint '{identity[0]}' has effect '{identity[1]}'; use NO_SCHEDULE, PREFER_NO_SCHEDULE or NO_EXECUTE."
            )
    bad = (bad_label("taint", taint.get("key", ""), taint.get("value", "")) for taint in taints)
    return next(filter(None, bad), None)


@POOL_RULES.add("max-run-duration")
def _lifetime(pool: Properties, cloud: SimulatedCloud) -> str | None:
    text = at(pool, "nodeConfig.maxRunDuration")
    if text is None or 0 < float(str(text).removesuffix("s")) <= MAX_LIFETIME_SECONDS:
        return None
    return f"max_run_duration {text} must be more than 0 and at most {MAX_LIFETIME_SECONDS}s (7 days)."
