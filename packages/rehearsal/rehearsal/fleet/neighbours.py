"""Which pods keep another off a node: by a port of the host, by affinity to or from them, by an even spread.

The scheduler's filters do the same, with which an autoscaler tries whether pods may move:
https://github.com/kubernetes/kubernetes/tree/v1.36.2/pkg/scheduler/framework/plugins (``nodeports``,
``interpodaffinity``, ``podtopologyspread``). Preferences do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rehearsal.cluster.api import Object
from rehearsal.fleet.pod_placement import refusal, selects

Term = Mapping[str, Any]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ALL: Final = [{"operator": "Exists"}]


def avoided(pods: Iterable[Object]) -> list[tuple[Object, Term]]:
    """The pods that keep others away, with each term by which they do."""
    return [(pod, term) for pod in pods for term in _terms(pod, "podAntiAffinity")]


class Neighbours:
    """The nodes by name, each with its pods and with what ``avoided`` says of these."""

    def __init__(self, places: Iterable[tuple[Object, Sequence[Object], Sequence[tuple[Object, Term]]]]) -> None:
        self._nodes: dict[str, Object] = {}
        self._pods: dict[str, Sequence[Object]] = {}
        self._avoided: list[tuple[Object, Object, Term]] = []
        for node, pods, avoiding in places:
            name = node["metadata"]["name"]
            self._nodes[name], self._pods[name] = node, pods
            self._avoided += [(node, *each) for each in avoiding]

    def add(self, pod: Object, node: Object) -> None:
        """The pod is on the node from now on."""
        name = node["metadata"]["name"]
        self._pods[name] = [*self._pods[name], pod]
        self._avoided += [(node, *each) for each in avoided([pod])]

    def allow(self, pod: Object, node: Object) -> bool:
        """Whether no pod keeps this one off the node."""
        ports = _ports(pod)
        there = self._pods[node["metadata"]["name"]] if ports else ()
        return (
            not any(ports & _ports(each) for each in there)
            and not any(_selects(term, of, pod) and _together(term, by, node) for by, of, term in self._avoided)
            and not any(self._around(term, pod, node) for term in _terms(pod, "podAntiAffinity"))
            and all(self._joins(term, pod, node) for term in _terms(pod, "podAffinity"))
            and all(self._spreads(each, pod, node) for each in pod["spec"].get("topologySpreadConstraints") or ())
        )

    def _around(self, term: Term, pod: Object, node: Object) -> bool:
        return any(
            _selects(term, pod, each)
            for name, pods in self._pods.items()
            if _together(term, self._nodes[name], node)
            for each in pods
        )

    def _joins(self, term: Term, pod: Object, node: Object) -> bool:
        if _domain(term, node) is None:
            return False
        first = not any(_selects(term, pod, each) for pods in self._pods.values() for each in pods)
        return self._around(term, pod, node) or (first and _selects(term, pod, pod))

    def _spreads(self, constraint: Term, pod: Object, node: Object) -> bool:
        if constraint.get("whenUnsatisfiable") == "ScheduleAnyway":
            return True
        own = {"nodeSelector": pod["spec"].get("nodeSelector") or {}, "affinity": pod["spec"].get("affinity") or {}}
        counts = Counter[str]()
        for name, each in self._nodes.items():
            domain = _domain(constraint, each)
            if domain is not None and refusal({**own, "tolerations": _ALL}, each) is None:
                counts[domain] += sum(_selects(constraint, pod, other) for other in self._pods[name])
        domain = _domain(constraint, node)
        if domain is None or domain not in counts:
            return False
        least = min(counts.values()) if len(counts) >= (constraint.get("minDomains") or 1) else 0
        return counts[domain] + _selects(constraint, pod, pod) - least <= int(constraint["maxSkew"])


def _terms(pod: Object, kind: str) -> Sequence[Term]:
    affinity: Mapping[str, Any] = (pod["spec"].get("affinity") or {}).get(kind) or {}
    terms: Sequence[Term] = affinity.get(_REQUIRED) or ()
    return terms


def _domain(term: Term, node: Object) -> str | None:
    domain: str | None = (node["metadata"].get("labels") or {}).get(term["topologyKey"])
    return domain


def _together(term: Term, one: Object, other: Object) -> bool:
    domain = _domain(term, one)
    return domain is not None and domain == _domain(term, other)


def _selects(term: Term, of: Object, pod: Object) -> bool:
    """Whether the term of one pod means another; one that selects namespaces by labels means all of them here."""
    its, selector = pod["metadata"], term.get("labelSelector")
    namespaces = term.get("namespaces") or [of["metadata"]["namespace"]]
    within = "namespaceSelector" in term or its["namespace"] in namespaces
    return within and selector is not None and selects(selector, its.get("labels") or {})


def _ports(pod: Object) -> set[tuple[int, str]]:
    ports = (port for each in pod["spec"]["containers"] for port in each.get("ports") or ())
    return {(port["hostPort"], port.get("protocol", "TCP")) for port in ports if port.get("hostPort")}
