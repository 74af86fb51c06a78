"""Drivers on GPU nodes whose cloud installs none: a node's GPUs appear once an installer pod is Ready on the node.

An installer is a DaemonSet whose name or ``k8s-app``/``app``/``app.kubernetes.io/name`` pod label contains
``nvidia-driver`` (Google's is ``nvidia-driver-installer``, the GPU Operator's ``nvidia-driver-daemonset``).
Where none can run, an Event ``DriverMissing`` on the Node says why.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from urllib3.exceptions import HTTPError

from rehearsal.api import Api, ApiError, Object, resource_path
from rehearsal.fleet.nodes import DRIVER, GROUP_LABEL, condition
from rehearsal.fleet.pod_placement import refusal

_INSTALLER: Final = "nvidia-driver"
_NAME_LABELS: Final = ("k8s-app", "app", "app.kubernetes.io/name")
_POLL_SECONDS: Final = 0.4
_PATIENCE_SECONDS: Final = 3.0
"""A DaemonSet pod is there within a second; then it is worth saying that none is."""


@dataclass(frozen=True)
class MissingDriver:
    """Why a node has no usable GPU."""

    node: str
    group: str
    reason: str


class Drivers(threading.Thread):
    """Watches over the nodes of groups with ``gpus_advertised_by == "daemonset"``.

    ``report`` gets the complete list whenever it changes.
    """

    def __init__(self, api: Api, report: Callable[[tuple[MissingDriver, ...]], None]) -> None:
        super().__init__(name="drivers", daemon=True)
        self._api = api
        self._report = report
        self._closed = threading.Event()
        self._waiting_since: dict[str, float] = {}
        self._missing: dict[str, MissingDriver] = {}

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self.join()

    def run(self) -> None:
        """The thread's loop."""
        while not self._closed.wait(_POLL_SECONDS):
            try:
                self._look()
            except (ApiError, HTTPError):
                # The API server is busy or stopping; whether it is dead is its process's watcher's concern.
                continue

    def _look(self) -> None:
        nodes = [node for node in self._api.list("/api/v1/nodes", resourceVersion="0") if _waits(node)]
        now = time.monotonic()
        self._waiting_since = {
            node["metadata"]["name"]: self._waiting_since.get(node["metadata"]["name"], now) for node in nodes
        }
        if nodes:
            installers = [each for each in self._api.list("/apis/apps/v1/daemonsets") if _is_installer(each)]
            served = self._served(installers)
            for node in nodes:
                if node["metadata"]["name"] in served:
                    self._api.merge(
                        f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": {"annotations": {DRIVER: "ready"}}}
                    )
                elif now - self._waiting_since[node["metadata"]["name"]] > _PATIENCE_SECONDS:
                    self._complain(node, installers)
        gone = self._missing.keys() - self._waiting_since.keys()
        if gone:
            for name in gone:
                del self._missing[name]
            self._report(tuple(self._missing.values()))

    def _served(self, installers: list[Object]) -> set[str]:
        """The nodes on which an installer pod is Ready."""
        served = set()
        for installer in installers:
            selector = ",".join(f"{k}={v}" for k, v in installer["spec"]["selector"].get("matchLabels", {}).items())
            path = resource_path("v1", "pods", namespace=installer["metadata"]["namespace"])
            for pod in self._api.list(path, labelSelector=selector, resourceVersion="0"):
                if condition(pod, "Ready"):
                    served.add(pod["spec"].get("nodeName", ""))
        return served

    def _complain(self, node: Object, installers: list[Object]) -> None:
        name = node["metadata"]["name"]
        if installers:
            reason = "; ".join(
                f"DaemonSet {each['metadata']['namespace']}/{each['metadata']['name']} "
                + (refusal(each["spec"]["template"]["spec"], node) or "has no Ready pod on the node")
                for each in installers
            )
        else:
            reason = f"no DaemonSet installs it (none is called {_INSTALLER}…)"
        group = node["metadata"]["labels"].get(GROUP_LABEL, "")
        found = MissingDriver(name, group, f"the node has no NVIDIA driver: {reason}")
        if self._missing.get(name) == found:
            return
        self._missing[name] = found
        self._report(tuple(self._missing.values()))
        self._api.create("/api/v1/namespaces/default/events", _event(node, found.reason))


def _waits(node: Mapping[str, Any]) -> bool:
    return node["metadata"].get("annotations", {}).get(DRIVER) == "missing" and condition(node, "Ready")


def _is_installer(daemon_set: Mapping[str, Any]) -> bool:
    pod_labels = daemon_set["spec"]["template"]["metadata"].get("labels", {})
    names = [daemon_set["metadata"]["name"], *(pod_labels.get(key, "") for key in _NAME_LABELS)]
    return any(_INSTALLER in name for name in names)


def _event(node: Mapping[str, Any], message: str) -> Object:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    name = node["metadata"]["name"]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{name}.", "namespace": "default"},
        "type": "Warning",
        "reason": "DriverMissing",
        "message": message[:1024],
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]},
        "source": {"component": "driver-installation"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
