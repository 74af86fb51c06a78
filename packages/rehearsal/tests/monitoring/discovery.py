"""A replacement for Prometheus' discovery of pods, which Debian builds it without: their ports, of the real API server.

It speaks https://prometheus.io/docs/prometheus/latest/http_sd/ and tells what the role ``pod`` would:
https://prometheus.io/docs/prometheus/latest/configuration/configuration/#pod
but for addresses: a simulated one is another pod's some seconds later, so that a pod's uid stands in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rehearsal.cluster.api import Object


def targets(pods: Iterable[Object], nodes: Mapping[str, Object], asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """An entry for each port of each container, as ``asked`` for by an entry of ``kubernetes_sd_configs``."""
    assert asked["role"] == "pod"
    spaces = asked["namespaces"]["names"]
    with_node = asked.get("attach_metadata", {}).get("node", False)
    for pod in pods:
        if "podIP" not in pod.get("status", {}) or pod["metadata"]["namespace"] not in spaces:
            continue
        labels = _of("pod", pod) | {"__meta_kubernetes_pod_node_name": pod["spec"].get("nodeName", "")}
        if with_node and (node := nodes.get(pod["spec"].get("nodeName", ""))):
            labels |= _of("node", node)
        for container in pod["spec"]["containers"]:
            for port in container.get("ports", ()):
                number = port["containerPort"]
                port_labels = {"__meta_kubernetes_pod_container_port_number": str(number)}
                yield {"targets": [f"{pod['metadata']['uid']}:{number}"], "labels": labels | port_labels}


def _of(role: str, obj: Object) -> dict[str, str]:
    metadata, prefix = obj["metadata"], f"__meta_kubernetes_{role}"
    labels = metadata.get("labels", {}).items()
    return {f"{prefix}_name": metadata["name"]} | {f"{prefix}_label_{_word(key)}": value for key, value in labels}


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name)
