"""The CEL of the GPU admission policies: facts about the pools, then what follows for one workload.

A workload reaches a pool when its node selector and its required node affinity match the pool's labels and its
tolerations cover the pool's taints. Keys that no pool's labels use are somebody else's labels and are ignored, except
those that nodes get only once they run: no autoscaler can know them of an empty pool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from facts.catalog.model import Resources
from facts.concepts.kubernetes import GPU_RESOURCE, SAFE_TO_EVICT, Taint
from facts.concepts.pool import (
    GPU_LABEL,
    GPU_TAINT,
    OPT_OUT_LABEL,
    POOL_LABEL,
    ROLE_LABEL,
    SIZE_KEY,
    Pool,
    gpus_per_pod,
)

_MIB: Final = 1024 * 1024

NOT_SYSTEM_NAMESPACE: Final = {
    "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]
}

# The compiler knows another type of `object` per matched kind; dyn() makes the choice at evaluation.
_TEMPLATE: Final = (
    "object.kind == 'Pod' ? dyn(object) : "
    "object.kind == 'CronJob' ? dyn(object).spec.jobTemplate.spec.template : dyn(object).spec.template"
)


def _gpus_of(containers: str) -> str:
    limit = f"c.?resources.limits['{GPU_RESOURCE}'].hasValue()"
    return (
        f"dyn(({_TEMPLATE})).spec.?{containers}.orValue([]).filter(c, {limit})"
        f".map(c, quantity(string(c.resources.limits['{GPU_RESOURCE}'])).asInteger())"
    )


def _asked_of(resource: str) -> str:
    """What the pod asks for, as a double: of its containers together, or of its largest init container."""

    def amounts(containers: str) -> str:
        asked = f"c.?resources.requests['{resource}'].or(c.?resources.limits['{resource}']).orValue('0')"
        return f"variables.pod.?{containers}.orValue([]).map(c, quantity(string({asked})).asApproximateFloat()) + [0.0]"

    together, largest = f"({amounts('containers')}).sum()", f"({amounts('initContainers')}).max()"
    return f"{together} > {largest} ? {together} : {largest}"


_GPUS: Final = f"({_gpus_of('containers')} + [0]).sum()"

# Init containers run before the others, one at a time, so the larger demand counts.
_INIT_GPUS: Final = f"({_gpus_of('initContainers')} + [0]).max()"

ASKS_FOR_GPUS: Final = {"name": "asks-for-gpus", "expression": f"{_GPUS} > 0 || {_INIT_GPUS} > 0"}
WRITTEN_BY_A_USER: Final = {
    # A controller's request to create a pod has nobody who would read the warning; the workload's author has had it.
    "name": "written-by-a-user",
    "expression": "!object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))",
}
NOT_OF_A_DAEMON_SET: Final = {
    # A DaemonSet has one pod per node by definition and its tolerations say on which, so size does not matter.
    "name": "not-of-a-daemon-set",
    "expression": "!object.metadata.?ownerReferences.orValue([]).exists(o, o.kind == 'DaemonSet')",
}

# https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#node-affinity: terms are alternatives.
_VALUE_IS_LISTED: Final = "(e.key in variables.labels[p] && variables.labels[p][e.key] in e.values)"
_SELECTED: Final = (
    "variables.pools.filter(p, variables.selector.all(k, !(k in variables.labelKeys) || "
    "(k in variables.labels[p] && variables.labels[p][k] == variables.selector[k])) && "
    "(size(variables.terms) == 0 || variables.terms.exists(t, t.?matchExpressions.orValue([]).all(e, "
    f"!(e.key in variables.labelKeys) || (e.operator == 'In' ? {_VALUE_IS_LISTED} : "
    f"e.operator == 'NotIn' ? !{_VALUE_IS_LISTED} : e.operator == 'Exists' ? e.key in variables.labels[p] : "
    "e.operator == 'DoesNotExist' ? !(e.key in variables.labels[p]) : true)))))"
)


# Labels that NVIDIA's GPU feature discovery and Node Feature Discovery give to nodes that run
# (https://github.com/NVIDIA/k8s-device-plugin/tree/main/docs/gpu-feature-discovery).
def _of_discovery(key: str) -> str:
    return (
        f"!({key} in variables.labelKeys) && "
        f"({key}.startsWith('nvidia.com/') || {key}.startsWith('feature.node.kubernetes.io/'))"
    )


_DISCOVERED_BY_TERM: Final = (
    "t.?matchExpressions.orValue([]).map(e, e.operator in ['In', 'Exists'], string(e.key))"
    f".filter(k, {_of_discovery('k')})"
)
_DISCOVERED: Final = (
    f"variables.selector.map(k, string(k)).filter(k, {_of_discovery('k')}) + "
    # One term without such a key is enough.
    f"(size(variables.terms) > 0 && variables.terms.all(t, size({_DISCOVERED_BY_TERM}) > 0) ? "
    f"variables.terms.map(t, {_DISCOVERED_BY_TERM})[0] : [])"
)
# string(): where no pool of the stack repels anything, the compiler knows no type for the taints' fields.
_TOLERATED: Final = (
    "variables.tolerations.exists(o, "
    "(o.?effect.orValue('') in ['', string(t.effect)]) && (o.?key.orValue('') in ['', string(t.key)]) && "
    "(o.?operator.orValue('Equal') == 'Exists' || (o.?key.orValue('') != '' && o.?value.orValue('') == t.value)))"
)

PLACEMENT_VARIABLES: Final = [
    {"name": "template", "expression": _TEMPLATE},
    {"name": "pod", "expression": "variables.template.spec"},
    {
        "name": "where",
        "expression": (
            "object.kind == 'Pod' ? 'spec' : "
            "object.kind == 'CronJob' ? 'spec.jobTemplate.spec.template.spec' : 'spec.template.spec'"
        ),
    },
    {"name": "gpus", "expression": f"{_GPUS} > {_INIT_GPUS} ? {_GPUS} : {_INIT_GPUS}"},
    {"name": "tolerations", "expression": "variables.pod.?tolerations.orValue([])"},
    {"name": "selector", "expression": "variables.pod.?nodeSelector.orValue({})"},
    {
        "name": "terms",
        "expression": (
            "variables.pod.?affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
            ".orValue([])"
        ),
    },
    {"name": "discovered", "expression": _DISCOVERED},
    # Whole numbers: sums of fractions are not exact.
    {"name": "cpu", "expression": f"int(({_asked_of('cpu')}) * 1000.0 + 0.5)"},
    {"name": "memory", "expression": f"int(({_asked_of('memory')}) / {_MIB}.0)"},
    {"name": "selected", "expression": _SELECTED},
    {"name": "fitting", "expression": "variables.selected.filter(p, variables.capacity[p] >= variables.gpus)"},
    {
        "name": "reachable",
        "expression": f"variables.fitting.filter(p, variables.taints[p].all(t, {_TOLERATED}))",
    },
    {
        "name": "roomy",
        "expression": (
            "variables.reachable.filter(p, !(p in variables.room) || "
            "(variables.cpu <= variables.room[p].cpu && variables.memory <= variables.room[p].memory))"
        ),
    },
]

_ASKS: Final = "'asks for ' + string(variables.gpus) + ' GPU(s) per pod, '"

# Whoever names GPU types, even several, has chosen.
_CHOSEN: Final = (
    f"'{GPU_LABEL}' in variables.selector || "
    "variables.pod.?affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.orValue([])"
    f".exists(t, t.?matchExpressions.orValue([]).exists(e, e.key == '{GPU_LABEL}'))"
)

PLACEMENT_VALIDATIONS: Final = [
    {
        "expression": (
            f"{_CHOSEN} || size(variables.reachable) == 0 || "
            "variables.reachable.all(p, variables.types[p] == variables.types[variables.reachable[0]])"
        ),
        "message": "may get any of several GPU types, the dearest too",
        "messageExpression": (
            f"{_ASKS} + 'and may get any of those in the pools ' + variables.reachable.join(', ') + ', the dearest "
            "too: which one is up to the autoscaler; in ' + variables.where + "
            f"' write nodeSelector: {{{GPU_LABEL}: ' + variables.types[variables.reachable[0]] + '}}, or a node "
            f"affinity with all values of {GPU_LABEL} that will do'"
        ),
    },
    {
        "expression": (
            "size(variables.reachable) == 0 || "
            "variables.reachable.all(p, variables.shares[p] == variables.shares[variables.reachable[0]])"
        ),
        "message": "may get a whole GPU or a share of one",
        "messageExpression": (
            f"{_ASKS} + 'and may get a whole one or a share of one, in any of the pools ' + "
            "variables.reachable.join(', ') + '; in ' + variables.where + "
            f"' write nodeSelector: {{{POOL_LABEL}: ' + variables.reachable[0] + '}}, or another of them'"
        ),
    },
    {
        "expression": "size(variables.selected) > 0",
        "message": "asks for GPUs, but its nodeSelector or node affinity matches no GPU pool",
        "messageExpression": (
            f"{_ASKS} + 'but its nodeSelector or node affinity matches no GPU pool; in ' + variables.where + "
            f"' write nodeSelector: {{{POOL_LABEL}: <pool>}} with one of ' + variables.pools.join(', ')"
        ),
    },
    {
        "expression": "size(variables.selected) == 0 || size(variables.fitting) > 0",
        "message": "asks for more GPUs per pod than any node of the selected pools offers",
        "messageExpression": (
            f"{_ASKS} + 'more than any node of the selected pools offers (at most ' + "
            "string(variables.selected.map(p, variables.capacity[p]).max()) + '), so it stays Pending; "
            "ask for fewer GPUs per pod and run more pods'"
        ),
    },
    {
        "expression": "size(variables.fitting) == 0 || size(variables.reachable) > 0",
        "message": "asks for GPUs, but tolerates the taints of no pool that has enough of them",
        "messageExpression": (
            f"{_ASKS} + 'but does not tolerate the nodes that have them, so it stays Pending; in ' + variables.where + "
            "' add ' + variables.advice[variables.fitting[0]]"
        ),
    },
    {
        "expression": "size(variables.reachable) == 0 || size(variables.roomy) > 0",
        "message": "asks for more CPU or memory than any node that it can use has",
        "messageExpression": (
            f"{_ASKS} + string(variables.cpu) + 'm CPU and ' + string(variables.memory) + 'Mi memory, more than a node "
            "of ' + variables.reachable[0] + ' leaves for pods (' + string(variables.room[variables.reachable[0]].cpu) "
            "+ 'm, ' + string(variables.room[variables.reachable[0]].memory) + 'Mi), so it stays Pending; "
            "ask for less, or for a pool of larger machines'"
        ),
    },
    {
        "expression": "size(variables.discovered) == 0",
        "message": "selects nodes by a label that they get only once they run",
        "messageExpression": (
            f"{_ASKS} + 'and selects nodes by ' + variables.discovered[0] + ', a label that nodes get only once they "
            "run, so no empty pool is started for it; in ' + variables.where + "
            f"' write nodeSelector: {{{GPU_LABEL}: <gpu>}} in its place'"
        ),
    },
]

# A pool that the pod's selector allows, and that would be tried before one that it can use.
TWIN_VARIABLES: Final = [
    {
        "name": "missed",
        "expression": (
            "variables.reachable.map(p, variables.triedBefore[p])"
            ".filter(p, p in variables.fitting && !(p in variables.reachable))"
        ),
    },
]

TWIN_VALIDATION: Final = {
    "expression": "size(variables.missed) == 0",
    "message": "does not tolerate a pool that would be tried first",
    "messageExpression": (
        f"{_ASKS} + 'and runs without pool ' + variables.missed[0] + ', which would be tried first (spot costs less, "
        "and may be taken away); in ' + variables.where + ' add ' + variables.toleration[variables.missed[0]]"
    ),
}

# An autoscaler ends running pods to empty a node of which less than half is in use. It spares pods without a
# controller, and what serves is meant to be moved; what computes loses its work.
EVICTION_VARIABLES: Final = [
    {"name": "emptied", "expression": "variables.reachable.filter(p, 2 * variables.gpus < variables.offered[p])"},
]

EVICTION_VALIDATION: Final = {
    "expression": (
        f"!(object.kind in ['Job', 'CronJob']) || size(variables.emptied) == 0 || "
        f"variables.template.?metadata.annotations['{SAFE_TO_EVICT}'].orValue('') != ''"
    ),
    "message": "may be ended by the autoscaler while it runs",
    "messageExpression": (
        f"{_ASKS} + 'of the ' + string(variables.offered[variables.emptied[0]]) + ' of a node of pool ' + "
        "variables.emptied[0] + ': the autoscaler may end it to empty a node that is half idle; in ' + "
        "(object.kind == 'CronJob' ? 'spec.jobTemplate.' : '') + 'spec.template.metadata add "
        f'annotations: {{{SAFE_TO_EVICT}: "false"}}\''
    ),
}

# A smaller pool would do: one of the same GPU type, or the smallest that the pod's own selector allows.
ISOLATION_VARIABLES: Final = [
    {
        "name": "tooLarge",
        "expression": (
            "variables.reachable.filter(p, variables.smallerSiblings[p] >= variables.gpus || "
            "variables.sizes[variables.fitting[0]] < variables.sizes[p])"
        ),
    },
]

ISOLATION_VALIDATION: Final = {
    "expression": (
        f"size(variables.tooLarge) == 0 || variables.template.?metadata.labels['{OPT_OUT_LABEL}'].orValue('') == 'true'"
    ),
    "message": "would occupy a larger node than it needs",
    "messageExpression": (
        f"{_ASKS} + 'but tolerates pool ' + variables.tooLarge[0] + ' with ' + "
        "string(variables.sizes[variables.tooLarge[0]]) + ' GPUs per node while smaller nodes would do; in ' + "
        f"variables.where + ' remove the toleration of {SIZE_KEY} (or the one without a key), "
        f'or set the pod label {OPT_OUT_LABEL}: "true"\''
    ),
    "reason": "Forbidden",
}


def facts(
    pools: Sequence[Pool], *, adds_gpu_toleration: bool, room: Mapping[str, Resources] | None = None
) -> list[dict[str, str]]:
    """The variables that describe ``pools``, smallest and preferred first; tolerated-by-default taints are left out.

    ``room`` is what a node of a pool leaves for pods, where that is known.
    """
    ordered = sorted(pools, key=lambda pool: (pool.gpus_per_node, pool.preference))
    implied = {GPU_TAINT} if adds_gpu_toleration else set()
    label_keys = sorted({ROLE_LABEL, *(key for pool in pools for key in pool.labels)})
    known: dict[str, Any] = {
        "pools": [pool.name for pool in ordered],
        "sizes": {pool.name: pool.gpus_per_node for pool in ordered},
        "types": {pool.name: pool.gpus.type for pool in ordered},
        "shares": {pool.name: pool.gpus.shares for pool in ordered},
        "capacity": {pool.name: gpus_per_pod(pool) for pool in ordered},
        "smallerSiblings": {pool.name: _most_gpus_of_smaller(pool, pools) for pool in ordered},
        "room": {name: {"cpu": each.milli_cpu, "memory": each.memory_mib} for name, each in (room or {}).items()},
        "labelKeys": label_keys,
        "labels": {pool.name: dict(pool.labels) for pool in ordered},
        "taints": {pool.name: _repelling(pool, implied) for pool in ordered},
        "advice": {pool.name: advice(pool, implied) for pool in ordered},
        "toleration": {pool.name: _tolerations(pool, implied) for pool in ordered},
        "triedBefore": {pool.name: _tried_before(pool, pools) for pool in ordered},
        "offered": {pool.name: pool.allocatable_gpus for pool in ordered},
    }
    return [{"name": name, "expression": json.dumps(value, ensure_ascii=False)} for name, value in known.items()]


def advice(pool: Pool, implied: set[Taint]) -> str:
    """The lines that let a pod use ``pool`` and its twins, joined: a policy's message must not contain line breaks."""
    tolerations = _tolerations(pool, implied)
    return f"{tolerations}{' and ' if tolerations else ''}nodeSelector: {{{GPU_LABEL}: {pool.gpus.type}}}"


def _tolerations(pool: Pool, implied: set[Taint]) -> str:
    lines = [
        f'{{key: {taint["key"]}, operator: Equal, value: "{taint["value"]}", effect: {taint["effect"]}}}'
        for taint in _repelling(pool, implied)
    ]
    return f"tolerations: [{', '.join(lines)}]" if lines else ""


def _tried_before(pool: Pool, pools: Sequence[Pool]) -> str:
    """The twin of ``pool`` that is tried first; empty if there is none."""
    return next(
        (
            twin.name
            for twin in pools
            if (twin.declared_at, twin.gpus_per_node) == (pool.declared_at, pool.gpus_per_node)
            and twin.preference < pool.preference
        ),
        "",
    )


def _most_gpus_of_smaller(pool: Pool, pools: Sequence[Pool]) -> int:
    """The most GPUs per pod that a pool of the same GPU type and a smaller size offers; 0 if there is none."""
    smaller = (one for one in pools if one.gpus.type == pool.gpus.type and one.gpus_per_node < pool.gpus_per_node)
    return max((gpus_per_pod(one) for one in smaller), default=0)


def _repelling(pool: Pool, implied: set[Taint]) -> list[dict[str, str]]:
    return [
        {"key": taint.key, "value": taint.value or "", "effect": taint.effect}
        for taint in pool.taints
        if taint.effect != "PreferNoSchedule" and taint not in implied
    ]
