"""Which of the published pools a pod fits that is in the cluster, and what the others lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from facts.concepts.kubernetes import DEFAULT_NAMESPACE, Toleration, gpu_limit, pod_requests, quantity
from facts.concepts.offer import Offer, PoolOffer
from facts.concepts.pool import POOL_LABEL
from facts.concepts.unknown import at
from facts.jobs.fit import Miss, PodRequest, misses
from gpu.ledger import allowed_pools

Object = Mapping[str, Any]

_OWN_LABELS: Final = "gpucluster.dev/"
# https://kubernetes.io/docs/reference/labels-annotations-taints/#topologykubernetesiozone
_ZONE: Final = "topology.kubernetes.io/zone"
_MACHINE: Final = "node.kubernetes.io/instance-type"
_MIB: Final = 1024 * 1024


def pools_of(pod: Object, offer: Offer) -> list[PoolOffer]:
    """The pools whose nodes the pod selects and whose taints it tolerates, whether or not it fits their nodes."""
    return [pool for pool in offer.pools if _selects(pod, pool) and _tolerates(pod, pool)]


def misses_of(pod: Object, offer: Offer, *, gpus_alone: bool = False) -> list[Miss]:
    """What keeps the pod off all of its pools, the nearest first; empty if it fits one of them.

    ``gpus_alone``: as if it requested no memory, CPU and disk. What is published of them is what a pod can rely on, so
    some nodes have more.
    """
    pools = pools_of(pod, offer)
    lacking = [
        miss for pool in pools for miss in misses(replace(offer, pools=(pool,)), _request(pod, pool, gpus_alone))
    ]
    return lacking if len(lacking) == len(pools) else []


def measured(offer: Offer, nodes: Sequence[Object]) -> Offer:
    """The offer, with what its largest nodes have where it publishes no CPU, memory or disk.

    Of pools of own machines alone: an autoscaler may add larger nodes than those that are up.
    """
    return replace(offer, pools=tuple(_measured(pool, nodes) if pool.scaling.owned else pool for pool in offer.pools))


def _measured(pool: PoolOffer, nodes: Sequence[Object]) -> PoolOffer:
    own = [node for node in nodes if at(node, "metadata", "labels", POOL_LABEL) == pool.name]
    sizes = {
        "milli_cpu": ("cpu", 1000),
        "memory_mib": ("memory", 1 / _MIB),
        "disk_mib": ("ephemeral-storage", 1 / _MIB),
    }
    unknown = {name: how for name, how in sizes.items() if own and getattr(pool, name) is None}
    most = {
        name: max(float(quantity(str(at(node, "status", "allocatable", resource) or 0))) for node in own) * factor
        for name, (resource, factor) in unknown.items()
    }
    return replace(pool, **{name: int(amount) for name, amount in most.items() if amount})


def _request(pod: Object, pool: PoolOffer, gpus_alone: bool) -> PodRequest:
    """What the pod requests, as a request for this pool."""
    asked = pod_requests({} if gpus_alone else pod["spec"])
    return PodRequest(
        gpu=pool.gpus.type,
        gpus=gpu_limit(pod["spec"]),
        milli_cpu=int(asked.get("cpu", 0) * 1000),
        memory_mib=int(asked.get("memory", 0) / _MIB),
        disk_mib=int(asked.get("ephemeral-storage", 0) / _MIB),
        workers=max(1, pool.gpus.slice_nodes),
        namespace=pod["metadata"].get("namespace", DEFAULT_NAMESPACE),
    )


def _selects(pod: Object, pool: PoolOffer) -> bool:
    """Labels that only the cloud knows are taken as matching."""
    named = allowed_pools(pod)
    labels = {key: (value,) for key, value in {**pool.nodes.labels, **pool.nodes.cloud_labels}.items()}
    labels |= {
        key: values for key, values in ((_ZONE, pool.nodes.zones), (_MACHINE, pool.nodes.machine_types)) if values
    }
    return (not named or pool.name in named) and all(
        not {*labels[key]}.isdisjoint(values) if key in labels else not key.startswith(_OWN_LABELS)
        for key, values in _selected(pod)
    )


def _selected(pod: Object) -> Iterator[tuple[str, Sequence[str]]]:
    """Labels that the node of the pod must have, each with its possible values; of alternative terms, none."""
    yield from ((key, [value]) for key, value in (at(pod, "spec", "nodeSelector") or {}).items())
    required = at(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = at(required, "nodeSelectorTerms") or ()
    for expression in terms[0].get("matchExpressions") or () if len(terms) == 1 else ():
        if expression["operator"] == "In":
            yield expression["key"], expression["values"]


def _tolerates(pod: Object, pool: PoolOffer) -> bool:
    tolerations = [
        Toleration(
            each.get("key") or None, each.get("operator") or "Equal", each.get("value"), each.get("effect") or None
        )
        for each in at(pod, "spec", "tolerations") or ()
    ]
    return all(any(each.tolerates(taint) for each in tolerations) for taint in pool.nodes.taints)
