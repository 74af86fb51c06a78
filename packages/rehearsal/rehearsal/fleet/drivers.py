"""GPU nodes whose GPUs are advertised by a DaemonSet, not by the cloud: once its pod is Ready on the node.

The group names the kind of DaemonSet (``gpus_advertised_by``):

- ``daemonset``: a driver installer.
- ``partitioner``: a driver installer that also partitions the GPUs.
- ``device-plugin``: NVIDIA's device plugin (``gpu_software.py``: time slicing).
- ``installer-and-plugin``: both of them, each in a pod of its own.
- ``neuron-plugin``: AWS's device plugin for its own chips.
- ``amd-plugin``: AMD's device plugin, in a pod that installs the driver first.

EFA devices are there once AWS's plugin is Ready on the node.

A cluster-autoscaler waits for the GPUs of a node that has its cloud's label for them, but not for ever; it takes any
other node for one without GPUs. So does Karpenter, which stands for it, as soon as its NodeClaim does not offer any.

Only a pod that would really do it counts (``gpu_software.py``). One that only has such a name
(its name or a label of its pods contains ``nvidia-driver`` or ``nvidia-device-plugin``) is named in the reason.
If none can run, an Event ``DriverMissing`` or ``DevicePluginMissing`` on the Node gives the reason. GPUs that a node
advertises do not change: a new configuration of the plugin affects only new nodes.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object, condition, warn
from rehearsal.cluster.threads import PollingThread
from rehearsal.fleet.gpu_software import (
    AMD_PLUGIN,
    NEURON_PLUGIN,
    PLUGIN,
    PluginError,
    amd_problem,
    installer_problem,
    neuron_problem,
    partitioner_problem,
    plugin_problem,
    replicas,
    runs_efa_plugin,
)
from rehearsal.fleet.node_pools import claim_path, claims_of
from rehearsal.fleet.nodes import ADVERTISED_BY, DRIVER, EFA_PLUGIN, GPU_LABELS, GPUS, GROUP_LABEL, LATE_TAINT
from rehearsal.fleet.pod_placement import refusal
from rehearsal.simulation import NO_DEVICE_PLUGIN, NO_DRIVER

_INSTALLER: Final = "nvidia-driver"
_NAME_LABELS: Final = ("k8s-app", "app", "app.kubernetes.io/name", "name")
_POLL_SECONDS: Final = 0.4
_PATIENCE_SECONDS: Final = 3.0
"""Seconds until a DaemonSet pod that is not on a node counts as missing."""
_LONG_PATIENCE_SECONDS: Final = 30.0
"""The same for a pod that should be there: it appears within a second, unless this machine is busy."""

_REGISTRATION_SECONDS: Final = 2.0
"""A Ready plugin discovers GPUs before it registers them: until then its node is Ready without GPUs, and an autoscaler
that does not expect them would start another (https://github.com/kubernetes/autoscaler/issues/1949)."""

_STARTUP_SECONDS: Final = 15.0
"""``--max-node-startup-time``, a minute to a second, and how many such nodes end all attempts to grow:
https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/config/flags/flags.go"""
_MOST_UNREADY: Final = 3
_GPUS: Final = ("nvidia.com/gpu", "amd.com/gpu")
"""AWS's chips are awaited all the same, although it knows no label for them."""

_STARTING: Final = ("karpenter.sh/", LATE_TAINT["key"])
"""Taints of nodes that their autoscaler has not initialised yet; it removes them."""


@dataclass(frozen=True)
class MissingDriver:
    """Why a node has no usable GPU."""

    node: str
    group: str
    reason: str


@dataclass(frozen=True)
class _Kind:
    """One kind of DaemonSet that advertises GPUs: its name part, its check (``problem``) and its messages."""

    name: str
    problem: Callable[[Mapping[str, Any]], str | None]
    event: str
    lack: str
    absence: str

    def matches(self, daemon_set: Mapping[str, Any]) -> bool:
        template = daemon_set["spec"]["template"]
        pod_labels = template["metadata"].get("labels", {})
        names = [daemon_set["metadata"]["name"], *(pod_labels.get(key, "") for key in _NAME_LABELS)]
        return any(self.name in name for name in names) or self.problem(template["spec"]) is None


_NVIDIA_DRIVER: Final = _Kind(
    _INSTALLER, installer_problem, NO_DRIVER, "the node has no NVIDIA driver", "no DaemonSet installs it"
)
_PARTITIONER: Final = _Kind(
    _INSTALLER, partitioner_problem, NO_DRIVER, "the node has no partitioned GPU", "no DaemonSet partitions them"
)
_NVIDIA_PLUGIN: Final = _Kind(
    PLUGIN,
    plugin_problem,
    NO_DEVICE_PLUGIN,
    "the node advertises no GPU",
    "no DaemonSet runs NVIDIA's device plugin",
)
_NEURON_PLUGIN: Final = _Kind(
    NEURON_PLUGIN,
    neuron_problem,
    NO_DEVICE_PLUGIN,
    "the node advertises no chip",
    "no DaemonSet runs AWS's Neuron device plugin",
)
_AMD_PLUGIN: Final = _Kind(
    AMD_PLUGIN,
    amd_problem,
    NO_DEVICE_PLUGIN,
    "the node advertises no GPU",
    "no DaemonSet installs AMD's driver and runs its device plugin",
)
_NEEDED: Final[Mapping[str, tuple[_Kind, ...]]] = {
    "daemonset": (_NVIDIA_DRIVER,),
    "partitioner": (_PARTITIONER,),
    "device-plugin": (_NVIDIA_PLUGIN,),
    "installer-and-plugin": (_NVIDIA_DRIVER, _NVIDIA_PLUGIN),
    "neuron-plugin": (_NEURON_PLUGIN,),
    "amd-plugin": (_AMD_PLUGIN,),
}
"""Who advertises a group's GPUs → what has to be Ready on each node."""


class Drivers(PollingThread):
    """Watches the nodes of groups whose GPUs a DaemonSet advertises.

    ``report`` gets the complete list whenever it changes.
    """

    def __init__(self, api: Api, report: Callable[[tuple[MissingDriver, ...]], None]) -> None:
        super().__init__("drivers", _POLL_SECONDS)
        self._api = api
        self._report = report
        self._waiting_since: dict[str, float] = {}
        self._served_since: dict[str, float] = {}
        self._missing: dict[str, MissingDriver] = {}
        self._given_up: dict[str, str] = {}

    def look(self) -> None:
        """Update nodes that wait for GPUs, and forget deleted ones."""
        every = self._api.list("/api/v1/nodes", resourceVersion="0")
        self._serve_efa([node for node in every if _waits(node, EFA_PLUGIN)])
        nodes = [node for node in every if _waits(node, DRIVER)]
        now = time.monotonic()
        self._waiting_since = {
            node["metadata"]["name"]: self._waiting_since.get(node["metadata"]["name"], now) for node in nodes
        }
        self._served_since = {name: since for name, since in self._served_since.items() if name in self._waiting_since}
        self._given_up = {name: group for name, group in self._given_up.items() if name in self._waiting_since}
        if nodes:
            daemon_sets = self._api.list("/apis/apps/v1/daemonsets")
            for name in sorted({_advertiser(node) for node in nodes}):
                self._serve([node for node in nodes if _advertiser(node) == name], _NEEDED[name], daemon_sets)
        resolved = self._missing.keys() - self._waiting_since.keys()
        if resolved:
            for name in resolved:
                del self._missing[name]
            self._report(tuple(self._missing.values()))

    def _serve_efa(self, nodes: list[Object]) -> None:
        daemon_sets = self._api.list("/apis/apps/v1/daemonsets") if nodes else []
        mine = [each for each in daemon_sets if runs_efa_plugin(each["spec"]["template"]["spec"])]
        pods = self._ready_pods(mine)
        for node in nodes:
            if (name := node["metadata"]["name"]) in pods:
                self._api.merge(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {EFA_PLUGIN: "ready"}}})

    def _serve(self, nodes: list[Object], kinds: Sequence[_Kind], daemon_sets: list[Object]) -> None:
        named = {kind: [each for each in daemon_sets if kind.matches(each)] for kind in kinds}
        pods = {
            kind: self._ready_pods([each for each in mine if kind.problem(each["spec"]["template"]["spec"]) is None])
            for kind, mine in named.items()
        }
        config_map = functools.cache(self._config_map)
        for node in nodes:
            name = node["metadata"]["name"]
            self._give_up(node)
            kind = next((each for each in kinds if name not in pods[each]), kinds[-1])
            pod = pods[kind].get(name)
            problem = None
            if pod is not None:
                now = time.monotonic()
                if now - self._served_since.setdefault(name, now) < _REGISTRATION_SECONDS:
                    continue
                gpus = int(node["metadata"]["annotations"][GPUS])
                try:
                    if kind.name == PLUGIN:
                        gpus *= replicas(pod["spec"], functools.partial(config_map, pod["metadata"]["namespace"]))
                    annotations = {DRIVER: "ready", GPUS: str(gpus)}
                    self._api.merge(f"/api/v1/nodes/{name}", {"metadata": {"annotations": annotations}})
                    continue
                except PluginError as error:
                    problem = f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']} {error}"
            reason = problem or _reason(node, kind, named[kind])
            patience = _PATIENCE_SECONDS if reason else _LONG_PATIENCE_SECONDS
            if time.monotonic() - self._waiting_since[name] > patience:
                self._complain(node, kind, reason or "its DaemonSet's pod is not Ready on the node")

    def _ready_pods(self, daemon_sets: list[Object]) -> dict[str, Object]:
        """Node → a Ready pod of one of the DaemonSets on it; the newest, which registers with the kubelet last."""
        ready: list[Object] = []
        for each in daemon_sets:
            selector = ",".join(f"{k}={v}" for k, v in each["spec"]["selector"].get("matchLabels", {}).items())
            path = resource_path("v1", "pods", namespace=each["metadata"]["namespace"])
            pods = self._api.list(path, labelSelector=selector, resourceVersion="0")
            ready += [pod for pod in pods if condition(pod, "Ready")]
        ready.sort(key=lambda pod: pod["metadata"]["creationTimestamp"])
        return {pod["spec"].get("nodeName", ""): pod for pod in ready}

    def _config_map(self, namespace: str, name: str) -> Object | None:
        return self._api.find(resource_path("v1", "configmaps", name, namespace))

    def _give_up(self, node: Object) -> None:
        """Have no GPUs expected of a node that does not look as if it had some, or whose own never come."""
        name, labels = node["metadata"]["name"], node["metadata"]["labels"]
        group = labels.get(GROUP_LABEL, "")
        known = any(label in labels for label in GPU_LABELS)
        late = name in self._missing and time.monotonic() - self._waiting_since[name] > _STARTUP_SECONDS
        stopped = [*self._given_up.values()].count(group) >= _MOST_UNREADY
        if name in self._given_up or (known and (stopped or not late)):
            return
        claims = claims_of(self._api, labelSelector=f"{GROUP_LABEL}={group}") if group else []
        for claim in claims:
            status = claim.get("status") or {}
            if status.get("nodeName") == name:
                path = f"{claim_path(claim['metadata']['name'])}/status"
                self._api.merge_if_there(path, {"status": {"allocatable": dict.fromkeys(_GPUS)}})
                break
        else:
            if claims:
                return  # Karpenter notes the node's name in its claim a moment after it has taken its taint off
        self._given_up[name] = group

    def _complain(self, node: Object, kind: _Kind, reason: str) -> None:
        name = node["metadata"]["name"]
        group = node["metadata"]["labels"].get(GROUP_LABEL, "")
        missing = MissingDriver(name, group, f"{kind.lack}: {reason}")
        if self._missing.get(name) == missing:
            return
        self._missing[name] = missing
        self._report(tuple(self._missing.values()))
        warn(self._api, node, kind.event, missing.reason)


def missing(node: Object, advertiser: str, daemon_sets: Iterable[Object]) -> str:
    """Why none of the cluster's ``daemon_sets`` makes a node's GPUs usable; empty if one does, or none has to."""
    declared = [*daemon_sets]
    kinds = _NEEDED.get(advertiser, ())
    reasons = (_reason(node, kind, [each for each in declared if kind.matches(each)]) for kind in kinds)
    return next(filter(None, reasons), "")


def _advertiser(node: Mapping[str, Any]) -> str:
    advertiser: str = node["metadata"]["annotations"][ADVERTISED_BY]
    return advertiser


def _waits(node: Mapping[str, Any], annotation: str) -> bool:
    starting = any(taint["key"].startswith(_STARTING) for taint in node["spec"].get("taints") or ())
    missing = node["metadata"].get("annotations", {}).get(annotation) == "missing"
    return missing and not starting and condition(node, "Ready")


def _reason(node: Object, kind: _Kind, daemon_sets: list[Object]) -> str:
    """Why no pod of the DaemonSets makes the node's GPUs usable; empty if one of them should run on the node."""
    if not daemon_sets:
        return f"{kind.absence} (no DaemonSet has {kind.name} in its name)"
    reasons = []
    for each in daemon_sets:
        spec = each["spec"]["template"]["spec"]
        reason = kind.problem(spec) or refusal(spec, node)
        if reason is None:
            return ""
        reasons.append(f"DaemonSet {each['metadata']['namespace']}/{each['metadata']['name']} {reason}")
    return "; ".join(reasons)
