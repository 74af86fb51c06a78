"""Whether nodes and system pods are as the stack declared them."""

from __future__ import annotations

from collections.abc import Iterator

from facts.concepts.counts import counted
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import Pool
from rehearsal.scenario.check import Check, Pools
from rehearsal.scenario.player import Played
from rehearsal.scenario.timeline import NODE_AGENTS, NodeRecord, Timeline

_ZONE = "topology.kubernetes.io/zone"
CAPACITY = "karpenter.sh/capacity-type"
"""A node's capacity type. In a rehearsal all autoscaled nodes have it, because Karpenter or its simulation creates
them; each cloud also has a label of its own for it."""

_LISTED = 5


def nodes_as_declared(timeline: Timeline, pools: Pools) -> Check:
    """Every node matches its pool: machine type, zone, labels, taints, capacity type, and its GPUs once usable."""
    declared = {pool.name: pool for pool in pools.all}
    ready = [node for node in timeline.nodes if node.ready is not None and node.registered]
    strange = [f"{node.name} belongs to no pool of the stack" for node in ready if node.pool not in declared]
    wrong = [
        f"{node.name} ({node.pool}) {problem}"
        for node in ready
        if node.pool in declared
        for problem in _differences(node, declared[node.pool])
    ]
    errors = [*strange, *wrong]
    detail = "; ".join(errors[:_LISTED]) + (f"; and {len(errors) - _LISTED} more" if len(errors) > _LISTED else "")
    good = f"{counted(len(ready), 'node')} checked: machine type, zone, labels, taints, capacity type, GPUs"
    title = "Every node matches its pool"
    passed = bool(ready) and not errors
    return Check("nodes-as-declared", title, passed, detail or (good if ready else "no node was observed"))


def system_pods_run(timeline: Timeline, played: Played) -> Check:
    """Every system pod runs: none that existed before the GPU pods were deleted is still pending.

    Agents of a node that was deleted before they could start do not count: the cluster deletes them later.
    """
    until = played.all_deleted or timeline.now()
    left = {node.name for node in timeline.nodes if node.deleted is not None}
    mine = [
        pod
        for pod in timeline.pods
        if pod.system_namespace
        and pod.deleted is None
        and pod.created <= until
        and not (pod.owner in NODE_AGENTS and pod.node in left)
    ]
    waiting = [pod for pod in mine if pod.running is None]
    failed = [pod for pod in mine if pod.phase == "Failed" and pod.owner not in NODE_AGENTS]
    reasons = [
        f"{pod.namespace}/{pod.name} never ran: {timeline.why_pending(pod.name) or 'no reason was reported'}"
        for pod in waiting
    ]
    reasons += [f"{pod.namespace}/{pod.name} failed" for pod in failed]
    detail = "; ".join(reasons[:_LISTED]) or f"{counted(len(mine), 'pod')} outside the namespace default, all started"
    return Check("system-pods-run", "System pods run", bool(mine) and not reasons, detail)


def _differences(node: NodeRecord, pool: Pool) -> Iterator[str]:
    if node.machine_type not in pool.machine_types:
        yield f"is a {node.machine_type or 'machine of unknown type'}, declared {' or '.join(pool.machine_types)}"
    zone = node.labels.get(_ZONE, "")
    if zone not in pool.zones:
        yield f"is in zone {zone or 'none'}, declared {' or '.join(pool.zones)}"
    for key, value in pool.labels.items():
        if node.labels.get(key) != value:
            yield f"has label {key}={node.labels.get(key, '(none)')}, declared {value}"
    lacking = [text for text in map(_text, pool.taints) if text not in node.taints]
    if lacking:
        yield f"has no taint {', '.join(lacking)}"
    bought, expected = node.labels.get(CAPACITY), "spot" if pool.spot else "on-demand"
    reserved = pool.gpu_part is not None and pool.gpu_part.reservation is not None
    # Karpenter's term for reserved machines; other autoscalers report them as on-demand.
    if bought is not None and bought != expected and not (reserved and bought == "reserved"):
        yield f"is {bought}, declared {pool.capacity_type}"
    if node.gpus_ready_at is not None and node.most_gpus != pool.allocatable_gpus:
        yield f"has {node.most_gpus} allocatable GPUs, declared {pool.allocatable_gpus}"


def _text(taint: Taint) -> str:
    return f"{taint.key}={taint.value or ''}:{taint.effect}"
