"""What the answers of a cluster show: nodes against the published pools, system pods, waiting jobs. Pure.

Independent of the rehearsal: it reads what Kubernetes says, and what the stack has published.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from facts.concepts.kubernetes import gpu_limit, quantity
from facts.concepts.offer import Offer, PoolOffer
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import at

Object = Mapping[str, Any]

MACHINE_TYPE: Final = "node.kubernetes.io/instance-type"
ZONE: Final = "topology.kubernetes.io/zone"
"""https://kubernetes.io/docs/reference/labels-annotations-taints/"""
_MIB: Final = 1024 * 1024
_ENDED: Final = ("Succeeded", "Failed")


def pool_name(node: Object) -> str | None:
    """The pool in the node's label."""
    return at(node, "metadata", "labels", POOL_LABEL)


def is_ready(node: Object) -> bool:
    """Whether the kubelet reports Ready."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in at(node, "status", "conditions") or ())


def offered(node: Object, resource: str) -> int:
    """How much of an extended resource the node offers to pods."""
    return int((at(node, "status", "allocatable") or {}).get(resource, 0))


def has_devices(node: Object, pool: PoolOffer) -> bool:
    """Whether the node offers all devices that are published."""
    return all(offered(node, resource) == count for resource, count in pool.devices.items())


def differences(node: Object, pool: PoolOffer, offer: Offer, pods: Sequence[Object] | None) -> Iterator[str]:
    """In what a Ready node differs from the pool as it is published; nothing if in nothing.

    ``pods``: of all namespaces, by which room for jobs is known; ``None`` for a user who may not list them. An
    undeclared taint is no difference: the first job shows whether it matters.
    """
    name, labels = node["metadata"]["name"], at(node, "metadata", "labels") or {}
    for key, value in {**pool.nodes.labels, **pool.nodes.cloud_labels}.items():
        if labels.get(key) != value:
            yield f"{name}: label {key} is {_shown(labels.get(key))}, declared is {value!r}"
    taints = {(each["key"], each.get("value") or "", each["effect"]) for each in at(node, "spec", "taints") or ()}
    for taint in pool.nodes.taints:
        if (taint.key, taint.value or "", taint.effect) not in taints:
            yield f"{name}: taint {taint.key}={taint.value}:{taint.effect} is missing"
    if labels.get(MACHINE_TYPE, pool.nodes.machine_type) not in pool.nodes.machine_types:
        yield f"{name}: machine type {labels[MACHINE_TYPE]}, declared is {' or '.join(pool.nodes.machine_types)}"
    if (zone := labels.get(ZONE)) and pool.nodes.zones and not _in_zones(zone, pool.nodes.zones, offer.region):
        yield f"{name}: zone {zone}, declared is {' or '.join(pool.nodes.zones)}"
    for resource, count in pool.devices.items():
        if offered(node, resource) != count:
            yield f"{name}: {offered(node, resource)} {resource} allocatable, declared are {count}"
    own = None if pods is None else [pod for pod in pods if _daemon(pod) and at(pod, "spec", "nodeName") == name]
    for resource, published, unit, of in _rooms(pool):
        # Rounded: 15.046 cores are 15046 milli-CPU, and floating point has a little less.
        room = round(free(node, own or (), resource) / unit, 3)
        if published is not None and room < published:
            yield f"{name}: {room:.0f} {of} for jobs, published are {published}"


def _rooms(pool: PoolOffer) -> tuple[tuple[str, int | None, float, str], ...]:
    """Resource, how much of it is published, in which unit, and its name."""
    return (
        ("cpu", pool.milli_cpu, 0.001, "milli-CPU"),
        ("memory", pool.memory_mib, _MIB, "MiB of memory"),
        ("ephemeral-storage", pool.disk_mib, _MIB, "MiB of disk"),
    )


def free(node: Object, daemons: Iterable[Object], resource: str) -> float:
    """What the node has of a resource beside its DaemonSets' pods, in cores or bytes."""
    whole = float(quantity((at(node, "status", "allocatable") or {}).get(resource, "0")))
    return whole - sum(_requested(pod, resource) for pod in daemons)


def _requested(pod: Object, resource: str) -> float:
    """https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers"""
    spec = pod["spec"]

    def of(container: Object) -> float:
        return float(quantity(at(container, "resources", "requests", resource) or "0"))

    first = spec.get("initContainers") or ()
    beside = sum(of(each) for each in first if each.get("restartPolicy") == "Always")
    once = max((of(each) for each in first if each.get("restartPolicy") != "Always"), default=0.0)
    extra = float(quantity(at(spec, "overhead", resource) or "0"))
    return max(sum(of(each) for each in spec["containers"]), once) + beside + extra


def _in_zones(zone: str, zones: Sequence[str], region: str) -> bool:
    # Some clouds' zones are numbers, and their nodes' labels begin with the region.
    return zone in zones or any(zone == f"{region}-{each}" for each in zones)


def _shown(value: str | None) -> str:
    return "missing" if value is None else repr(value)


def _daemon(pod: Object) -> bool:
    owners = at(pod, "metadata", "ownerReferences") or ()
    return any(each["kind"] in ("DaemonSet", "Node") for each in owners)


def strangers(pods: Iterable[Object], node: str) -> list[str]:
    """Pods on a GPU node that are neither a DaemonSet's nor request its devices: they keep the node from its end."""
    return [
        pod_name(pod)
        for pod in on_node(pods, node)
        if not _daemon(pod) and not gpu_limit(pod["spec"]) and not at(pod, "spec", "resourceClaims")
    ]


def holders(pods: Iterable[Object], node: str) -> list[str]:
    """Pods that keep a node: all that are there but those of DaemonSets."""
    return [pod_name(pod) for pod in on_node(pods, node) if not _daemon(pod)]


def on_node(pods: Iterable[Object], node: str) -> list[Object]:
    """The pods of a node that have not ended."""
    return [pod for pod in pods if at(pod, "spec", "nodeName") == node and at(pod, "status", "phase") not in _ENDED]


def pod_name(pod: Object) -> str:
    """``namespace/name``."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
