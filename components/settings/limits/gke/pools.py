"""Valid pool settings that GKE does not support."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.limits.common import oldest_version, shared_reservations
from components.settings.pools.settings import Settings
from facts.catalog.gke.networks import NAME, PROJECT
from facts.concepts.counts import counted
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import CapacityType
from facts.concepts.pool import CLASS_LABEL, Pool
from facts.concepts.unknown import at

_UPGRADED_AT_ONCE: Final = 20
_ORDER: Final[tuple[CapacityType, ...]] = ("reserved", "spot", "on-demand")

# A block or sub-block of a dense reservation, of this project or of another that shares it:
# https://github.com/GoogleCloudPlatform/cluster-toolkit/tree/main/modules/compute/gke-node-pool#using-gce-reservations
_RESERVATION: Final = re.compile(
    rf"(projects/{PROJECT}/reservations/)?{NAME}(/reservationBlocks/{NAME}(/reservationSubBlocks/{NAME})?)?"
)

_ANY_ORDER: Final = "For any order add computeClass: true; pods must then select the class, as `gpu submit` does"
_RESERVED_CLASS: Final = re.compile("default|autopilot(-.*)?")

_TPU7X: Final = "tpu7x-"

# https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-confidential-nodes, with G4 since 2026-07-07:
# https://docs.cloud.google.com/release-notes#July_07_2026
_CONFIDENTIAL: Final = ("a3-highgpu-1g", "g4-")

# https://github.com/GoogleCloudPlatform/cluster-toolkit/pull/6068: not on A3 High and A3 Mega.
_COMPACT_FLEX_START: Final = ("a3-ultragpu-", "a4-", "h4d-")


def pool_problems(settings: Settings) -> Iterator[Problem]:
    """The pool settings that GKE does not support."""
    yield from _reservations(settings)
    yield from _fallback_orders(settings)
    yield from _compute_classes(settings)
    yield from _upgrades(settings)
    yield from _placement(settings)
    yield from _too_old(settings)
    yield from _minimum(settings)
    yield from _confidential(settings)
    for pool in settings.gpu_pools:
        yield from _slice(pool)


def _confidential(settings: Settings) -> Iterator[Problem]:
    """Confidential nodes on machines with GPUs that cannot be such; all nodes are, if those of the cluster are."""
    whole = at(settings.raw, "confidentialNodes", "enabled") is True
    for pool in settings.gpu_pools:
        if not (whole or at(pool.raw, "nodeConfig", "confidentialNodes", "enabled") is True):
            continue
        if not pool.nodes.machine_type.startswith(_CONFIDENTIAL):
            yield Problem(
                "raw.confidentialNodes" if whole else f"{pool.declared_at}.raw.nodeConfig.confidentialNodes",
                f"GKE has no confidential nodes of {pool.nodes.machine_type} ({pool.name}), of machines with GPUs only "
                f"{' and '.join(f'{name}*' if name.endswith('-') else name for name in _CONFIDENTIAL)}",
                "Leave it out, or choose these machines"
                + (" and write it in raw.nodeConfig of their pools" if whole else ""),
            )


def _reservations(settings: Settings) -> Iterator[Problem]:
    """Names as in ``gke-node-pool/main.tf`` of https://github.com/GoogleCloudPlatform/cluster-toolkit; their zone:
    https://cloud.google.com/compute/docs/instances/reservations-overview"""
    for pool in settings.gpu_pools:
        reservation, where = pool.scaling.reservation, f"{pool.declared_at}.reservation"
        if reservation is None:
            continue
        if not _RESERVATION.fullmatch(reservation):
            yield Problem(
                where,
                f"'{reservation}' is not the name of a reservation",
                "Write its name, after projects/<project>/reservations/ if another project shares it, and with "
                "/reservationBlocks/<block>[/reservationSubBlocks/<sub-block>] for a part of it",
            )
        elif len(pool.nodes.zones) > 1:
            yield Problem(
                where,
                f"a reservation is in one zone, but the pool is in {', '.join(pool.nodes.zones)}",
                f"Write zones: [{pool.nodes.zones[0]}] if that is the reservation's, or reservation: "
                f"{{name: {reservation}, zone: {pool.nodes.zones[0]}}} if only the reserved nodes are there",
            )
    yield from shared_reservations(
        (f"{_whole_reservation(pool.scaling.reservation, settings.project)} in {pool.nodes.zones}", pool)
        for pool in settings.gpu_pools
        if pool.scaling.reservation is not None
    )


def _whole_reservation(written: str, project: str) -> str:
    """Without blocks, and without the stack's own ``project``. Reservations of a name in two zones are two."""
    return written.removeprefix(f"projects/{project}/reservations/").partition("/reservationBlocks/")[0]


def _fallback_orders(settings: Settings) -> Iterator[Problem]:
    """GKE's autoscaler has an order of its own (docs/adr/0004-fallback-pools.md), unless a ComputeClass sets one:
    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#operating_criteria"""
    for path, pools in _sizes([pool for pool in settings.pools if pool.scaling.compute_class is None]):
        capacity_types = list(dict.fromkeys(pool.scaling.capacity_type for pool in pools))
        if len(capacity_types) == 1:
            continue
        unknown = [capacity_type for capacity_type in capacity_types if capacity_type not in _ORDER]
        expected = [capacity_type for capacity_type in _ORDER if capacity_type in capacity_types]
        if unknown:
            yield Problem(
                f"{path}.capacity",
                f"{unknown[0]} has no documented place in the fallback order of GKE's autoscaler, which may wait for "
                "it without trying the others",
                f"{_ANY_ORDER}. Or write capacity: {unknown[0]} in a separate pool that jobs select",
            )
        elif capacity_types != expected:
            yield Problem(
                f"{path}.capacity",
                f"GKE's autoscaler has a fixed fallback order: {', '.join(_ORDER)}",
                f"Write [{', '.join(expected)}]. {_ANY_ORDER}",
            )
        for pool in pools:
            if pool.gpus.per_node and "/" in (pool.scaling.reservation or ""):
                yield Problem(
                    f"{path}.reservation",
                    f"GKE's autoscaler tries a reservation first only if it is in this project and names no block, "
                    f"unlike {pool.scaling.reservation}",
                    f"{_ANY_ORDER}. Or write it in a separate pool with capacity: reserved that jobs select",
                )


def _sizes(pools: Sequence[Pool]) -> Iterator[tuple[str, list[Pool]]]:
    """The entries of ``pools`` with the pools of each size."""
    sizes: dict[tuple[str, int], list[Pool]] = {}
    for pool in pools:
        sizes.setdefault((pool.declared_at, pool.gpus.per_node), []).append(pool)
    yield from ((path, alike) for (path, _), alike in sizes.items())


def _compute_classes(settings: Settings) -> Iterator[Problem]:
    """https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes; the names of GKE's
    own classes: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-built-in-compute-classes"""
    for path, (pool, *others) in _sizes(
        [pool for pool in settings.gpu_pools if pool.scaling.compute_class is not None]
    ):
        name, taints = (
            pool.scaling.compute_class or "",
            [taint for taint in pool.nodes.taints if taint.key == CLASS_LABEL],
        )
        if not others:
            yield Problem(
                f"{path}.computeClass",
                f"there is nothing to order: the entry has one capacity type, {pool.scaling.capacity_type}",
                "Leave it out, or write several capacity types",
            )
        if _RESERVED_CLASS.fullmatch(name):
            yield Problem(f"{path}.name", f"GKE has a ComputeClass '{name}' of its own", "Write another name")
        if pool.nodes.labels[CLASS_LABEL] != name or taints != [Taint(CLASS_LABEL, name, "NoSchedule")]:
            yield Problem(
                f"{path}.computeClass",
                f"the nodes get the label and the taint {CLASS_LABEL}={name}, and can have no other value",
                f"Leave {CLASS_LABEL} out of labels and taints",
            )


def _placement(settings: Settings) -> Iterator[Problem]:
    """https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement, whose machines include no N1; for
    zones: https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/main/modules/compute/gke-node-pool/main.tf"""
    for pool in settings.gpu_pools:
        if pool.nodes.compact and len(pool.nodes.zones) > 1:
            yield Problem(
                f"{pool.declared_at}.placement",
                f"compact placement needs one zone, but the pool is in {', '.join(pool.nodes.zones)}",
                f"Write zones: [{pool.nodes.zones[0]}], or leave placement out",
            )
        # https://cloud.google.com/compute/docs/instances/define-instance-placement: of a single project only
        if pool.nodes.compact and _whole_reservation(pool.scaling.reservation or "", settings.project).count("/"):
            yield Problem(
                f"{pool.declared_at}.placement",
                f"machines of a reservation that another project shares ({pool.scaling.reservation}) have no compact "
                "placement of this project",
                "Use a reservation of this project, or leave placement out",
            )
        if pool.nodes.compact and pool.nodes.machine_type.startswith(("n1-", "custom-")):
            yield Problem(
                f"{pool.declared_at}.placement",
                f"compact placement does not support N1 machines, and {pool.gpus.type} runs on N1 only",
                "Leave it out, or write gpu: nvidia-l4, or a newer GPU",
            )
        elif (
            pool.nodes.compact
            and pool.scaling.capacity_type == "flex-start"
            and not pool.nodes.machine_type.startswith(_COMPACT_FLEX_START)
        ):
            yield Problem(
                f"{pool.declared_at}.placement",
                f"flex-start does not place {pool.nodes.machine_type} nodes close together, "
                "only those with H200 or B200",
                "Leave it out, or use another capacity",
            )


def _too_old(settings: Settings) -> Iterator[Problem]:
    """https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra"""
    version = settings.kubernetes.version or ""
    # From 1.34.1-gke.1829001 on GKE has the classes of devices, and from 1.34.0-gke.2201000 on TPU7x:
    # https://docs.cloud.google.com/kubernetes-engine/docs/concepts/tpu-ironwood
    if not version or int(version.removeprefix("v").split(".")[1]) >= 34:
        return
    for pool in settings.gpu_pools:
        needs = {"fabric": pool.nodes.fabric is not None, "gpu": pool.nodes.machine_type.startswith(_TPU7X)}
        for where in (f"{pool.declared_at}.{key}" for key, needed in needs.items() if needed):
            message = f"GKE {version} does not offer the devices by itself"
            remedy = f"Write kubernetes.version: '{oldest_version(settings, 34)}' or newer, or leave it out"
            yield Problem(where, message, remedy)


def _slice(pool: Pool) -> Iterator[Problem]:
    """What pools of TPUs do not have, of what others may ask for. How large a slice is, and that it is in one zone:
    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/tpus#create-node-pool"""
    gpus, nodes = pool.gpus, pool.gpus.slice_nodes
    if gpus.topology is None:
        return
    # Flex-start: "Terraform provider bug when using TPU Flex Start", for which Google's modules autoscale per zone:
    # https://github.com/GoogleCloudPlatform/cluster-toolkit/blob/main/modules/compute/gke-node-pool/main.tf
    unsupported = {
        "drivers": (gpus.drivers != "managed", "GKE's node image has the driver and the device plugin of TPUs"),
        "driverVersion": (gpus.driver_version != "default", "the driver of TPUs comes with GKE's node image"),
        "image": (pool.nodes.image != "cos", "nodes with TPUs run Container-Optimized OS"),
        "timeSharing": (gpus.time_sharing is not None, "a pod has all TPU chips of a node"),
        "mps": (gpus.mps is not None, "a pod has all TPU chips of a node"),
        "placement": (pool.nodes.compact, "GKE places the nodes of a slice by its topology"),
        "fabric": (pool.nodes.fabric is not None, "the chips of a slice have a network of their own"),
        "capacity": (pool.scaling.capacity_type == "flex-start", "flex-start with TPUs is not supported yet"),
    }
    for key, (wrong, message) in unsupported.items():
        if wrong:
            yield Problem(f"{pool.declared_at}.{key}", message, "Leave it out")
    if pool.nodes.machine_type.startswith(_TPU7X) and pool.nodes.hourly_usd is None:
        remedy = "Write hourlyUsd: …, what Google bills you for one node, an hour"
        yield Problem(f"{pool.declared_at}.hourlyUsd", f"no list price of {pool.nodes.machine_type} is known", remedy)
    if nodes > 1 and pool.scaling.max_nodes != nodes:
        yield Problem(
            f"{pool.declared_at}.maxNodes",
            f"a slice {gpus.topology} is {nodes} nodes, which start and end together, not {pool.scaling.max_nodes}",
            f"Write maxNodes: {nodes}; another slice is another entry",
        )
    if nodes > 1 and len(pool.nodes.zones) > 1:
        message = f"a slice is in one zone, but the pool is in {', '.join(pool.nodes.zones)}"
        yield Problem(f"{pool.declared_at}.zones", message, f"Write zones: [{pool.nodes.zones[0]}]")


def _upgrades(settings: Settings) -> Iterator[Problem]:
    """https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies#surge"""
    for pool in settings.pools:
        if pool.nodes.upgrade is None:
            continue
        at_once = (pool.nodes.upgrade.max_surge or 0) + (pool.nodes.upgrade.max_unavailable or 0)
        if not 1 <= at_once <= _UPGRADED_AT_ONCE:
            yield Problem(
                f"{pool.declared_at}.upgrade",
                f"maxSurge and maxUnavailable together must be 1 to {_UPGRADED_AT_ONCE} nodes on GKE",
                "Write for example maxUnavailable: 1",
            )


def _minimum(settings: Settings) -> Iterator[Problem]:
    """GKE starts a pool with the same number of nodes in every zone, and later never adds nodes to reach its minimum:
    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#minimum_and_maximum_node_pool_size"""
    for pool in settings.cpu_pools:
        zones = len(pool.nodes.zones)
        started = math.ceil(pool.scaling.min_nodes / zones) * zones
        if started > pool.scaling.max_nodes:
            fewer = next(
                n for n in range(zones, 0, -1) if math.ceil(pool.scaling.min_nodes / n) * n <= pool.scaling.max_nodes
            )
            yield Problem(
                f"{pool.declared_at}.minNodes",
                f"{counted(pool.scaling.min_nodes, 'node')} over {counted(zones, 'zone')}: GKE starts the same "
                f"number in every zone, so {started}, but maxNodes is {pool.scaling.max_nodes}",
                f"Write maxNodes: {started} or more, or zones: [{', '.join(pool.nodes.zones[:fewer])}]",
            )
