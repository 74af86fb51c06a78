"""What GKE refuses in a node pool, one rule per reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import Rules
from rehearsal.providers.gke.nodes import gpu_called
from rehearsal.providers.values import at

POOL_RULES: Final = Rules()

REST: Final = (
    "https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/projects.locations.clusters.nodePools"
)
NODE_CONFIG: Final = "https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/NodeConfig"
GPUS: Final = "https://cloud.google.com/kubernetes-engine/docs/how-to/gpus"
SURGE: Final = "https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies#surge"
TIME_SHARING: Final = "https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus"
QUEUED: Final = "https://cloud.google.com/kubernetes-engine/docs/concepts/dws"
TOOLKIT: Final = "https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/main"
PROVIDER: Final = (
    "https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/services/container/"
    "resource_container_node_pool.go.tmpl"
)

NAME: Final = re.compile(r"[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?")
LABEL_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
LABEL_PREFIX: Final = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
# https://cloud.google.com/kubernetes-engine/docs/concepts/node-images
IMAGES: Final = ("COS_CONTAINERD", "UBUNTU_CONTAINERD", "WINDOWS_LTSC_CONTAINERD", "WINDOWS_SAC_CONTAINERD")
MAX_LIFETIME_SECONDS: Final = 7 * 24 * 3600
# As container.v1beta1's discovery document says: 15 GB from 1.36.2-gke.2933000 on, later than the rehearsal's version.
SMALLEST_DISK_GB: Final = 12
# https://cloud.google.com/compute/docs/disks/persistent-disks
LARGEST_DISK_GB: Final = 65536
MAX_LABEL_CHARACTERS: Final = 1024


@POOL_RULES.add("pool-name", "https://github.com/pulumi/pulumi-gcp/issues/1510", "name")
def _name(pool: Properties, cloud: SimulatedCloud) -> str | None:
    if NAME.fullmatch(pool["name"]):
        return None
    return (
        f"Invalid value for field \"node_pool.name\": '{pool['name']}'. "
        "Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?)' (only lowercase alphanumerics and '-' "
        "allowed, must start with a letter and end with an alphanumeric, and must be no longer than 40 characters)"
    )


@POOL_RULES.add("pool-counts-exclusive", PROVIDER, "nodeCount", "initialNodeCount")
def _counts(pool: Properties, cloud: SimulatedCloud) -> str | None:
    if pool.get("nodeCount") and pool.get("initialNodeCount"):
        return f"Cannot set both initial_node_count and node_count on node pool {pool['name']}"
    return None


@POOL_RULES.add("autoscaling-limits-exclusive", f"{REST}#NodePool.NodePoolAutoscaling", "autoscaling")
def _limits_exclusive(pool: Properties, cloud: SimulatedCloud) -> str | None:
    scaling = pool.get("autoscaling") or {}
    per_zone = any(scaling.get(key) for key in ("minNodeCount", "maxNodeCount"))
    total = any(scaling.get(key) for key in ("totalMinNodeCount", "totalMaxNodeCount"))
    if per_zone and total:
        return (
            "Per-zone limits (min/max_node_count) and total limits (total_min/max_node_count) cannot be used together."
        )
    return None


@POOL_RULES.add("autoscaling-limits-ordered", f"{REST}#NodePool.NodePoolAutoscaling", "autoscaling")
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


@POOL_RULES.add("spot-preemptible-exclusive", f"{NODE_CONFIG}", "nodeConfig.spot", "nodeConfig.preemptible")
def _spot(pool: Properties, cloud: SimulatedCloud) -> str | None:
    if at(pool, "nodeConfig.spot") and at(pool, "nodeConfig.preemptible"):
        return "Spot and preemptible are mutually exclusive: keep node_config.spot."
    return None


@POOL_RULES.add(
    "spot-reservation-exclusive",
    "https://cloud.google.com/compute/docs/instances/spot#limitations",
    "nodeConfig.spot",
    "nodeConfig.preemptible",
    "nodeConfig.reservationAffinity",
)
def _reservation(pool: Properties, cloud: SimulatedCloud) -> str | None:
    kind = at(pool, "nodeConfig.reservationAffinity.consumeReservationType")
    if (at(pool, "nodeConfig.spot") or at(pool, "nodeConfig.preemptible")) and kind not in (None, "NO_RESERVATION"):
        return "Spot and preemptible nodes cannot consume reservations: use NO_RESERVATION or on-demand nodes."
    return None


@POOL_RULES.add("reservation-named", f"{NODE_CONFIG}#ReservationAffinity", "nodeConfig.reservationAffinity")
def _reservation_named(pool: Properties, cloud: SimulatedCloud) -> str | None:
    affinity = at(pool, "nodeConfig.reservationAffinity") or {}
    if affinity.get("consumeReservationType") != "SPECIFIC_RESERVATION":
        return None
    if affinity.get("key") == "compute.googleapis.com/reservation-name" and affinity.get("values"):
        return None
    return (
        "SPECIFIC_RESERVATION needs key 'compute.googleapis.com/reservation-name' and the reservation's name in values."
    )


@POOL_RULES.add("machine-exists", "https://cloud.google.com/compute/docs/machine-resource", "nodeConfig.machineType")
def _machine(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_ = at(pool, "nodeConfig.machineType")
    if type_ is None or cloud.catalog.machines.get(type_) is not None:
        return None
    return f"Machine type '{type_}' is not known to this rehearsal, whose catalogue of machine types is not Google's."


@POOL_RULES.add(
    "machine-on-demand",
    "https://cloud.google.com/compute/docs/accelerator-optimized-machines"
    "#consumption_option_availability_by_machine_type",
    "nodeConfig.machineType",
    "nodeConfig.spot",
    "nodeConfig.preemptible",
    "nodeConfig.flexStart",
    "nodeConfig.reservationAffinity",
    "queuedProvisioning",
)
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


@POOL_RULES.add("accelerator-exists", "https://cloud.google.com/compute/docs/gpus", "nodeConfig.guestAccelerators")
def _accelerator(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        if gpu_called(cloud, accelerator["type"]) is None:
            known = ", ".join(sorted(a.name for a in cloud.catalog.accelerators.values()))
            return f"Accelerator type '{accelerator['type']}' is not known to this rehearsal. Known: {known}."
    return None


@POOL_RULES.add(
    "accelerator-fits-machine",
    "https://cloud.google.com/compute/docs/gpus#general_comparison_chart",
    "nodeConfig.guestAccelerators",
    "nodeConfig.machineType",
)
def _fits(pool: Properties, cloud: SimulatedCloud) -> str | None:
    type_ = at(pool, "nodeConfig.machineType") or "e2-medium"
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        gpu, count = gpu_called(cloud, accelerator["type"]), int(accelerator["count"])
        if gpu is not None and cloud.catalog.machines.with_gpus(type_, gpu, count) is None:
            return f"Machine type '{type_}' cannot have {count} accelerators of type '{accelerator['type']}'."
    return None


@POOL_RULES.add("accelerators-of-one-type", GPUS, "nodeConfig.guestAccelerators")
def _one_type(pool: Properties, cloud: SimulatedCloud) -> str | None:
    if len(at(pool, "nodeConfig.guestAccelerators") or []) > 1:
        return "A node pool can have accelerators of one type only."
    return None


@POOL_RULES.add(
    "driver-latest-on-cos",
    f"{GPUS}#create-gpu-pool-auto-drivers",
    "nodeConfig.guestAccelerators",
    "nodeConfig.imageType",
)
def _driver(pool: Properties, cloud: SimulatedCloud) -> str | None:
    image = at(pool, "nodeConfig.imageType") or "COS_CONTAINERD"
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        if at(accelerator, "gpuDriverInstallationConfig.gpuDriverVersion") == "LATEST" and not image.startswith("COS"):
            return (
                f"gpu_driver_version LATEST is only supported on Container-Optimized OS, not on {image}: use DEFAULT."
            )
    return None


@POOL_RULES.add("time-sharing-clients", f"{TIME_SHARING}#limitations", "nodeConfig.guestAccelerators")
def _sharing(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for accelerator in at(pool, "nodeConfig.guestAccelerators") or []:
        sharing = accelerator.get("gpuSharingConfig")
        if sharing and not 2 <= int(sharing.get("maxSharedClientsPerGpu") or 0) <= 48:
            return "max_shared_clients_per_gpu must be between 2 and 48."
    return None


@POOL_RULES.add(
    "image-exists", "https://cloud.google.com/kubernetes-engine/docs/concepts/node-images", "nodeConfig.imageType"
)
def _image(pool: Properties, cloud: SimulatedCloud) -> str | None:
    image = at(pool, "nodeConfig.imageType")
    if image is None or image.upper() in IMAGES:
        return None
    return f"Image type '{image}' is not supported. Supported: {', '.join(IMAGES)}."


@POOL_RULES.add("disk-size", f"{NODE_CONFIG}", "nodeConfig.diskSizeGb")
def _disk(pool: Properties, cloud: SimulatedCloud) -> str | None:
    size = at(pool, "nodeConfig.diskSizeGb")
    if size is None or SMALLEST_DISK_GB <= size <= LARGEST_DISK_GB:
        return None
    return (
        f"Invalid value for field 'node_config.disk_size_gb': {size}. "
        f"A boot disk has {SMALLEST_DISK_GB} to {LARGEST_DISK_GB} GB."
    )


@POOL_RULES.add(
    "max-pods", "https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr", "maxPodsPerNode"
)
def _max_pods(pool: Properties, cloud: SimulatedCloud) -> str | None:
    pods = pool.get("maxPodsPerNode")
    if pods is None or 8 <= pods <= 256:
        return None
    return f"Invalid value for max_pods_per_node: {pods}. Must be between 8 and 256."


@POOL_RULES.add("surge-not-both-zero", SURGE, "upgradeSettings")
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


@POOL_RULES.add(
    "labels-valid", "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/", "nodeConfig.labels"
)
def _labels(pool: Properties, cloud: SimulatedCloud) -> str | None:
    return _first_bad(("label", key, value) for key, value in (at(pool, "nodeConfig.labels") or {}).items())


@POOL_RULES.add("labels-length", NODE_CONFIG, "nodeConfig.labels")
def _labels_length(pool: Properties, cloud: SimulatedCloud) -> str | None:
    characters = sum(len(key) + len(value) for key, value in (at(pool, "nodeConfig.labels") or {}).items())
    if characters <= MAX_LABEL_CHARACTERS:
        return None
    return f"The node labels have {characters} characters in all, at most {MAX_LABEL_CHARACTERS} are allowed."


@POOL_RULES.add(
    "labels-allowed", "https://github.com/hashicorp/terraform-provider-google/issues/6003", "nodeConfig.labels"
)
def _roles(pool: Properties, cloud: SimulatedCloud) -> str | None:
    for key in at(pool, "nodeConfig.labels") or {}:
        if key.startswith("node-role.kubernetes.io/"):
            return f"Applying kubernetes label is not allowed: {key}."
    return None


@POOL_RULES.add(
    "taints-valid", "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/", "nodeConfig.taints"
)
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
    return _first_bad(("taint", taint.get("key", ""), taint.get("value", "")) for taint in taints)


@POOL_RULES.add(
    "queued-provisioning",
    QUEUED,
    "queuedProvisioning",
    "nodeConfig.spot",
    "nodeConfig.preemptible",
    "nodeConfig.reservationAffinity",
    "autoscaling",
)
def _queued(pool: Properties, cloud: SimulatedCloud) -> str | None:
    if not at(pool, "queuedProvisioning.enabled"):
        return None
    if at(pool, "nodeConfig.reservationAffinity.consumeReservationType") != "NO_RESERVATION":
        return "Queued provisioning needs reservation_affinity NO_RESERVATION."
    if at(pool, "nodeConfig.spot") or at(pool, "nodeConfig.preemptible"):
        return "Queued provisioning cannot be used with spot or preemptible nodes."
    if at(pool, "autoscaling.minNodeCount") or at(pool, "autoscaling.totalMinNodeCount"):
        return "Queued provisioning needs a minimum of 0 nodes."
    return None


@POOL_RULES.add(
    "flex-start",
    QUEUED,
    "nodeConfig.flexStart",
    "nodeConfig.spot",
    "nodeConfig.preemptible",
    "nodeConfig.reservationAffinity",
    "management",
    "nodeCount",
    "autoscaling",
)
def _flex(pool: Properties, cloud: SimulatedCloud) -> str | None:
    """The preconditions of the pool: ``modules/compute/gke-node-pool/main.tf`` of Google's cluster-toolkit."""
    if not at(pool, "nodeConfig.flexStart"):
        return None
    if at(pool, "nodeConfig.reservationAffinity.consumeReservationType") != "NO_RESERVATION":
        return "Flex-start needs reservation_affinity NO_RESERVATION."
    if pool.get("nodeCount"):
        return "Flex-start nodes come one by one: node_count cannot be given, only autoscaling."
    if at(pool, "autoscaling.locationPolicy") == "BALANCED":
        return "Flex-start does not support the location policy BALANCED: use ANY."
    if at(pool, "nodeConfig.spot") or at(pool, "nodeConfig.preemptible"):
        return "Flex-start cannot be used with spot or preemptible nodes."
    if at(pool, "management.autoRepair"):
        return "Flex-start nodes do not support auto-repair: set management.auto_repair to false."
    return None


@POOL_RULES.add("max-run-duration", f"{NODE_CONFIG}", "nodeConfig.maxRunDuration")
def _lifetime(pool: Properties, cloud: SimulatedCloud) -> str | None:
    text = at(pool, "nodeConfig.maxRunDuration")
    if text is None or 0 < float(str(text).removesuffix("s")) <= MAX_LIFETIME_SECONDS:
        return None
    return f"max_run_duration {text} must be more than 0 and at most {MAX_LIFETIME_SECONDS}s (7 days)."


@POOL_RULES.add(
    "compact-in-one-zone",
    f"{TOOLKIT}/modules/compute/gke-node-pool/main.tf",
    "placementPolicy",
    "nodeLocations",
)
def _compact(pool: Properties, cloud: SimulatedCloud) -> str | None:
    if at(pool, "placementPolicy.type") == "COMPACT" and len(pool.get("nodeLocations") or ["one"]) > 1:
        return "Compact placement is only available for node pools in a single zone."
    return None


@POOL_RULES.add(
    "compact-goes-with",
    f"{TOOLKIT}/docs/gke-consumption-options.md",
    "placementPolicy",
    "nodeConfig.machineType",
    "nodeConfig.flexStart",
    "queuedProvisioning",
    "upgradeSettings",
)
def _compact_with(pool: Properties, cloud: SimulatedCloud) -> str | None:
    """Also ``modules/compute/gke-node-pool/main.tf``; no N1 is among the machines of
    https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement."""
    if at(pool, "placementPolicy.type") != "COMPACT":
        return None
    machine = at(pool, "nodeConfig.machineType") or "e2-medium"
    if machine.startswith(("n1-", "custom-")):
        return f"Compact placement is not supported for machine type {machine}."
    if at(pool, "nodeConfig.flexStart") and not machine.startswith(("a3-ultragpu-", "a4-", "h4d-")):
        return "Compact placement with flex-start is only supported for A3 Ultra, A4 and H4D machine types."
    if at(pool, "queuedProvisioning.enabled"):
        return "Compact placement cannot be used with queued provisioning."
    if at(pool, "upgradeSettings.strategy") == "BLUE_GREEN":
        return "Compact placement cannot be used with blue-green upgrades."
    return None


def _first_bad(pairs: Iterable[tuple[str, str, str]]) -> str | None:
    for what, key, value in pairs:
        prefix, slash, name = key.rpartition("/")
        if not LABEL_NAME.fullmatch(name) or (slash and not LABEL_PREFIX.fullmatch(prefix)):
            return f"Invalid {what} key '{key}': it must be [prefix/]name of letters, digits, '-', '_' and '.'."
        if value and not LABEL_NAME.fullmatch(value):
            return f"Invalid {what} value '{value}' of key '{key}': at most 63 letters, digits, '-', '_' and '.'."
    return None
