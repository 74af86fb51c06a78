"""Whether the scheduler would put a workload's pods on a group's nodes: labels, then taints, then GPUs.

The answers have three values: yes, no, and ``UNKNOWN`` where a label, taint or count is not known yet.
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from facts.concepts.declared import NodeGroup, Stack, Workload
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, Taint
from facts.concepts.unknown import UNKNOWN, Maybe, at, both, either, items, negation

_ABSENT: Final = object()
_MAYBE: Final = object()
_REPELLING: Final = ("NoSchedule", "NoExecute")


def selects(workload: Workload, group: NodeGroup) -> Maybe[bool]:
    """Whether the workload's node selector and required node affinity admit the group's nodes."""
    return both((_selector_admits(workload, group), _affinity_admits(workload, group)))


def distinct(stack: Stack) -> Stack:
    """The stack with one of each set of groups that the scheduler cannot tell apart for any of its workloads.

    A program may declare hundreds of both, and most groups differ only in labels that no workload selects.
    """
    return replace(stack, groups=tuple(groups[0] for groups in alike(stack)))


def alike(stack: Stack) -> list[list[NodeGroup]]:
    """The stack's groups, those together that the scheduler cannot tell apart for any of its workloads."""
    keys = sorted({key for workload in stack.workloads for key, _ in labels_of(workload)})
    by_shape: dict[tuple[object, ...], list[NodeGroup]] = {}
    for group in stack.groups:
        size = group.scaling.max_nodes if group.kind == "auto-provisioned" else group.gpus.per_node
        shape = (
            group.nodes.taints,
            group.kind,
            group.gpus.resource,
            group.gpus.per_node,
            group.gpus.shares,
            size,
            group.scaling.autoscaled,
            group.nodes.dearest_hourly_usd,
        )
        by_shape.setdefault((shape, *(_label(group, key) for key in keys)), []).append(group)
    return [*by_shape.values()]


def labels_of(workload: Workload) -> Iterable[tuple[str, tuple[str, ...]]]:
    """The labels that the workload's selector and affinity are about, each with the values that it lists and that are
    known."""
    for key, values in _listed_labels(workload):
        yield key, tuple(value for value in values if isinstance(value, str))


def unknown_labels(workload: Workload) -> set[str]:
    """The labels of which the workload lists a value that is not known yet."""
    return {key for key, values in _listed_labels(workload) if any(value is UNKNOWN for value in values)}


def unknown_selection(workload: Workload) -> bool:
    """Whether it is not known yet which labels the workload lists."""
    if workload.node_selector is UNKNOWN or workload.affinity is UNKNOWN:
        return True
    expressions = (each for term in _required_terms(workload.affinity) for each in items(at(term, "matchExpressions")))
    return any(at(each, "key") is UNKNOWN for each in expressions)


def _listed_labels(workload: Workload) -> Iterable[tuple[str, Sequence[Any]]]:
    if workload.node_selector is not UNKNOWN:
        yield from ((key, (value,)) for key, value in workload.node_selector.items())
    terms = () if workload.affinity is UNKNOWN else _required_terms(workload.affinity)
    for term in terms:
        for expression in items(at(term, "matchExpressions")):
            if isinstance(key := at(expression, "key"), str):
                values = at(expression, "values")
                listed: Sequence[Any] = (UNKNOWN,) if values is UNKNOWN else items(values)
                yield key, listed


def selectable(groups: Sequence[NodeGroup]) -> Callable[[Workload], Sequence[NodeGroup]]:
    """A workload → those of ``groups``, in their order, that its node selector does not rule out.

    Found by label instead of group by group, since a program may declare hundreds of groups and thousands of workloads.
    """
    places: dict[str, dict[object, list[int]]] = {}

    def having(key: str, value: str) -> list[int]:
        if key not in places:
            places[key] = {}
            for place, group in enumerate(groups):
                places[key].setdefault(_label(group, key), []).append(place)
        return [place for label in (value, _MAYBE, UNKNOWN) for place in places[key].get(label, ())]

    def find(workload: Workload) -> Sequence[NodeGroup]:
        selector = workload.node_selector
        listed = {} if selector is UNKNOWN else selector
        pairs = [(key, value) for key, value in listed.items() if isinstance(value, str)]
        if not pairs:
            return groups
        return [groups[place] for place in sorted(min((having(key, value) for key, value in pairs), key=len))]

    return find


def picks_nodes(workload: Workload) -> Maybe[bool]:
    """Whether the workload chooses nodes by label at all."""
    if workload.node_selector is UNKNOWN or workload.affinity is UNKNOWN:
        return UNKNOWN
    return bool(workload.node_selector) or bool(_required_terms(workload.affinity))


def repelling_taints(group: NodeGroup) -> Maybe[tuple[Taint, ...]]:
    """The group's taints that keep pods away; ``PreferNoSchedule`` does not."""
    if group.nodes.taints is UNKNOWN:
        return UNKNOWN
    return tuple(taint for taint in group.nodes.taints if taint.effect in _REPELLING)


def untolerated(workload: Workload, group: NodeGroup) -> Maybe[tuple[Taint, ...]]:
    """The group's taints that keep the workload's pods away."""
    taints, tolerations = repelling_taints(group), workload.tolerations
    if taints is UNKNOWN or not taints:
        return taints
    if tolerations is UNKNOWN:
        return UNKNOWN
    return tuple(taint for taint in taints if not any(toleration.tolerates(taint) for toleration in tolerations))


def as_running(group: NodeGroup) -> NodeGroup:
    """The group with the label that feature discovery puts on its running nodes with GPUs, whatever it declares.

    https://github.com/NVIDIA/k8s-device-plugin/blob/main/docs/gpu-feature-discovery/README.md
    """
    labels = group.nodes.labels
    if labels is UNKNOWN:
        return group
    return replace(group, nodes=replace(group.nodes, labels={GPU_PRESENT_LABEL: "true", **labels}))


def admits(workload: Workload, group: NodeGroup) -> Maybe[bool]:
    """Whether the group's labels and taints admit the workload's pods."""
    lacking = untolerated(workload, group)
    return both((selects(workload, group), UNKNOWN if lacking is UNKNOWN else not lacking))


def untolerated_when_admitted(workload: Workload, group: NodeGroup) -> Maybe[tuple[Taint, ...]]:
    """``untolerated`` without the taint of the resource that the workload requests.

    GKE and AKS add that toleration when they admit the pod (ExtendedResourceToleration), as any cluster may:
    https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#extendedresourcetoleration
    """
    lacking = untolerated(workload, group)
    if lacking is UNKNOWN:
        return UNKNOWN
    return tuple(taint for taint in lacking if taint.key != workload.gpu_resource)


def can_get(workload: Workload, group: NodeGroup, gpus: int) -> Maybe[bool]:
    """Whether a pod of the workload, which requests ``gpus``, runs on the group's nodes."""
    if workload.gpu_resource != group.gpus.resource:
        return False
    lacking = untolerated_when_admitted(workload, group)
    admitted = UNKNOWN if lacking is UNKNOWN else not lacking
    return both((offers_gpus(group, gpus), selects(workload, group), admitted))


def offers_gpus(group: NodeGroup, gpus: int) -> Maybe[bool]:
    """Whether one node of the group has ``wanted`` GPUs; an auto-provisioned group picks a node that has."""
    has = group.scaling.max_nodes if group.kind == "auto-provisioned" else group.gpus.per_node
    if has is UNKNOWN:
        return UNKNOWN
    return has is None or has >= gpus


def _selector_admits(workload: Workload, group: NodeGroup) -> Maybe[bool]:
    if workload.node_selector is UNKNOWN:
        return UNKNOWN
    return both(_equals(_label(group, key), (value,)) for key, value in workload.node_selector.items())


def _affinity_admits(workload: Workload, group: NodeGroup) -> Maybe[bool]:
    if workload.affinity is UNKNOWN:
        return UNKNOWN
    terms = _required_terms(workload.affinity)
    return either(_term_admits(term, group) for term in terms) if terms else True


def _required_terms(affinity: Mapping[str, Any] | None) -> list[Any]:
    terms = at(affinity, "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    return [UNKNOWN] if terms is UNKNOWN else items(terms)


def _term_admits(term: Any, group: NodeGroup) -> Maybe[bool]:
    if term is UNKNOWN or not isinstance(term, Mapping):
        return UNKNOWN
    fields, expressions = term.get("matchFields"), term.get("matchExpressions")
    if fields is UNKNOWN or fields or expressions is UNKNOWN:
        return UNKNOWN  # fields are a node's name, which no declaration tells
    # The API defines a term without expressions as matching nothing.
    return both(_expression_admits(expression, group) for expression in items(expressions)) if expressions else False


def _expression_admits(expression: Any, group: NodeGroup) -> Maybe[bool]:
    if not isinstance(expression, Mapping):
        return UNKNOWN
    key, operator, values = expression.get("key"), expression.get("operator"), expression.get("values")
    if not isinstance(key, str) or values is UNKNOWN:
        return UNKNOWN
    values = items(values)
    label = _label(group, key)
    if operator == "Exists":
        return UNKNOWN if label is _MAYBE else label is not _ABSENT
    if operator == "DoesNotExist":
        return UNKNOWN if label is _MAYBE else label is _ABSENT
    if operator == "In":
        return _equals(label, values)
    if operator == "NotIn":
        return negation(_equals(label, values))
    if operator in ("Gt", "Lt"):
        return _compares(label, operator, values)
    return UNKNOWN


def _label(group: NodeGroup, key: str) -> object:
    """The label's value, ``UNKNOWN`` for some value, ``_ABSENT``, or ``_MAYBE``."""
    if group.nodes.labels is UNKNOWN:
        return _MAYBE
    if key in group.nodes.labels:
        value = group.nodes.labels[key]
        return _ABSENT if value is None else value
    if group.kind == "auto-provisioned":
        return _MAYBE
    domain = key.partition("/")[0]
    by_cloud = any(domain == ours or domain.endswith(f".{ours}") for ours in group.cloud_label_domains)
    return _MAYBE if by_cloud else _ABSENT


def _equals(label: object, values: Iterable[Any]) -> Maybe[bool]:
    if label is _ABSENT:
        return False
    if label is _MAYBE or label is UNKNOWN:
        return UNKNOWN
    return either(UNKNOWN if value is UNKNOWN else bool(value == label) for value in values)


def _compares(label: object, operator: str, values: list[Any]) -> Maybe[bool]:
    if label is _ABSENT:
        return False
    if label is _MAYBE or label is UNKNOWN:
        return UNKNOWN
    try:
        number, bound = int(str(label)), int(str(values[0]))
    except (ValueError, IndexError):
        return False  # the scheduler also treats a value that is not a number as no match
    return number > bound if operator == "Gt" else number < bound
