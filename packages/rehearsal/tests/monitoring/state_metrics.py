"""A replacement for kube-state-metrics, which is no Go module: the metrics that our rules query, of real objects.

Names, labels and values are those that its documentation says, of 2.20.0, which the chart installs:
https://github.com/kubernetes/kube-state-metrics/blob/v2.20.0/docs/metrics/cluster/node-metrics.md
https://github.com/kubernetes/kube-state-metrics/blob/v2.20.0/docs/metrics/workload/pod-metrics.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from facts.concepts.kubernetes import quantity
from packages.rehearsal.tests.monitoring.exposition import Sample
from rehearsal.cluster.api import Object

PHASES: Final = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_UNITS: Final = {"cpu": "core", "memory": "byte", "ephemeral-storage": "byte", "pods": "integer"}


def allowed_labels(allowlist: Sequence[str], kind: str) -> tuple[str, ...]:
    """The labels of ``kind`` that the chart's value ``metricLabelsAllowlist`` lets through.

    https://github.com/kubernetes/kube-state-metrics/blob/v2.20.0/docs/developer/cli-arguments.md
    """
    matches = (re.fullmatch(rf"{kind}=\[(.*)\]", each) for each in allowlist)
    return tuple(label for match in matches if match for label in match[1].split(","))


def samples(nodes: Iterable[Object], pods: Iterable[Object], node_labels: Sequence[str]) -> Iterator[Sample]:
    """The samples of these objects, at one moment."""
    for node in nodes:
        yield from _of_node(node, node_labels)
    for pod in pods:
        yield from _of_pod(pod)


def _of_node(node: Object, allowed: Sequence[str]) -> Iterator[Sample]:
    names = {"node": node["metadata"]["name"]}
    yield Sample("kube_node_info", names, 1)
    if allowed:
        labels = node["metadata"].get("labels", {})
        let_through = {f"label_{_word(key)}": labels[key] for key in allowed if key in labels}
        yield Sample("kube_node_labels", {**names, **let_through}, 1)
    for kind in ("capacity", "allocatable"):
        yield from _resources(f"kube_node_status_{kind}", names, node["status"].get(kind, {}))


def _of_pod(pod: Object) -> Iterator[Sample]:
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    labels = {"namespace": metadata["namespace"], "pod": metadata["name"], "uid": metadata["uid"]}
    if phase := status.get("phase"):
        for each in PHASES:
            yield Sample("kube_pod_status_phase", {**labels, "phase": each}, int(each == phase))
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    if conditions.get("PodScheduled") == "False":
        yield Sample("kube_pod_status_unschedulable", labels, 1)
    for container in spec["containers"]:
        place = {"container": container["name"], "node": spec.get("nodeName", "")}
        asked = container.get("resources", {}).get("requests", {})
        yield from _resources("kube_pod_container_resource_requests", {**labels, **place}, asked)
    for container in status.get("containerStatuses", ()):
        if waiting := container.get("state", {}).get("waiting"):
            place = {"container": container["name"], "reason": waiting.get("reason", "")}
            yield Sample("kube_pod_container_status_waiting_reason", {**labels, **place}, 1)


def _resources(name: str, labels: Mapping[str, str], amounts: Mapping[str, str]) -> Iterator[Sample]:
    for resource, amount in amounts.items():
        unit = _UNITS.get(resource, "byte" if resource.startswith("hugepages-") else "integer")
        yield Sample(name, {**labels, "resource": _word(resource), "unit": unit}, float(quantity(amount)))


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name)
