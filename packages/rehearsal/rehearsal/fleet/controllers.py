"""Controllers of a cluster: programs of pods, the simulation's autoscaler, and threads that watch the cluster.

One compresses idle time: a node of a real Karpenter counts as idle for long as soon as it is idle.
``consolidateAfter`` counts from a NodeClaim's ``status.lastPodEventTime``
(https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/disruption/consolidation.go). A
second after the last event this thread moves that time back by the NodePool's ``consolidateAfter``. Nothing else in the
cluster is changed to save time: objects stay as declared, ``Never`` stays never, and Karpenter itself decides whether a
node is empty and may be removed.

One explains pods that wait for a node group that no autoscaler may scale, by an Event. One is the
cluster-proportional-autoscaler of system Deployments, replicas by the cluster's nodes and cores:
https://github.com/kubernetes-sigs/cluster-proportional-autoscaler#horizontal-cluster-proportional-autoscaler-container.
All nodes count, cordoned ones too: a rehearsal cordons a node only just before it deletes it.
"""

from __future__ import annotations

import datetime
import json
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from facts.concepts import durations
from facts.concepts.kubernetes import gpu_limit, quantity
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, Object, warning
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.threads import PollingThread, WatchingThread
from rehearsal.fleet import cluster_autoscaler
from rehearsal.fleet.autoscaler import KarpenterSupervisor
from rehearsal.fleet.broken_gpus import TaintEviction
from rehearsal.fleet.cluster_autoscaler import ClusterAutoscalerProcess
from rehearsal.fleet.drivers import Drivers
from rehearsal.fleet.groups import Groups
from rehearsal.fleet.node_pools import NODE_CLASS_GROUP, claim_path, pool_path
from rehearsal.fleet.node_watch import Late, NodeWatch, late
from rehearsal.fleet.nodes import NodeTemplate
from rehearsal.fleet.packing import Packer
from rehearsal.fleet.pod_placement import refusal
from rehearsal.fleet.provisioned_nodes import ProvisionedNodes, offers_of, remove_nodes
from rehearsal.simulation import NOT_SCALED, Injector, ManagedKarpenter, Node, SimulatedNodeGroup
from rehearsal.workloads.container import Host
from rehearsal.workloads.kubelet import Kubelet, programs

_POLL_SECONDS: Final = 0.5
_REAL_SECONDS: Final = 1.0
_POOL: Final = "karpenter.sh/nodepool"


class IdleTimeWatcher(PollingThread):
    """Checks the NodeClaims twice a second."""

    def __init__(self, api: Api) -> None:
        super().__init__("idle-time", _POLL_SECONDS)
        self._api = api

    def look(self) -> None:
        """Move back the last pod event of idle claims."""
        claims = (self._api.find(claim_path()) or {}).get("items") or ()
        if not claims:
            return
        pools = {pool["metadata"]["name"]: pool for pool in self._api.list(pool_path())}
        now = datetime.datetime.now(datetime.timezone.utc)
        for claim in claims:
            pool = pools.get((claim["metadata"].get("labels") or {}).get(_POOL, ""))
            moment = None if pool is None else put_back(claim, pool, now)
            if moment is not None:
                body = {"status": {"lastPodEventTime": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}}
                self._api.merge(f"{claim_path(claim['metadata']['name'])}/status", body)


def put_back(claim: Object, pool: Object, now: datetime.datetime) -> datetime.datetime | None:
    """The new time of the claim's last pod event; ``None`` if it stays."""
    if claim["spec"]["nodeClassRef"].get("group") == NODE_CLASS_GROUP or claim["metadata"].get("deletionTimestamp"):
        return None
    idle_limit = durations.seconds((pool["spec"].get("disruption") or {}).get("consolidateAfter") or "0s")
    status: Mapping[str, Any] = claim.get("status") or {}
    initialized = next((each for each in status.get("conditions") or () if each["type"] == "Initialized"), None)
    if idle_limit is None or initialized is None or initialized["status"] != "True":
        return None
    last_event = status.get("lastPodEventTime") or initialized["lastTransitionTime"]
    idle = (now - datetime.datetime.fromisoformat(last_event.replace("Z", "+00:00"))).total_seconds()
    if idle < _REAL_SECONDS or idle >= idle_limit:
        return None
    return now - datetime.timedelta(seconds=idle_limit)


_LOOK_SECONDS: Final = 0.5
_PATIENCE_SECONDS: Final = 3.0
"""Seconds of waiting before a pod counts as stuck: an autoscaler starts a node within about two seconds."""


class StuckPods(PollingThread):
    """Watches the pods that wait for a GPU; ``templates`` are those of all groups."""

    def __init__(self, api: Api, templates: Callable[[], Iterable[NodeTemplate]]) -> None:
        super().__init__("stuck-pods", _LOOK_SECONDS)
        self._api = api
        self._templates = templates
        self._since: dict[str, float] = {}
        self._reported: set[tuple[str, str, str]] = set()

    def look(self) -> None:
        """Report the pods that have waited long enough."""
        unscaled = [each for each in self._templates() if each.group.not_scaled_because]
        pods = self._api.list("/api/v1/pods", fieldSelector="spec.nodeName=,status.phase=Pending") if unscaled else []
        pods = [pod for pod in pods if gpu_limit(pod["spec"])]
        now = time.monotonic()
        self._since = {pod["metadata"]["uid"]: self._since.get(pod["metadata"]["uid"], now) for pod in pods}
        for pod in pods:
            if now - self._since[pod["metadata"]["uid"]] < _PATIENCE_SECONDS:
                continue
            for each in unscaled:
                if would_fit(pod["spec"], each):
                    self._tell(pod, each.group)

    def _tell(self, pod: Object, group: SimulatedNodeGroup) -> None:
        report = pod["metadata"]["uid"], group.name, group.not_scaled_because
        if report in self._reported:
            return
        message = f"node group {group.name} fits this pod, but no autoscaler may start its nodes: "
        # Readers that know no groups identify the pool by the labels.
        event = warning(pod, NOT_SCALED, message + group.not_scaled_because, group.labels)
        self._api.create(resource_path("v1", "events", namespace=pod["metadata"]["namespace"]), event)
        self._reported.add(report)


def would_fit(pod_spec: Mapping[str, Any], template: NodeTemplate) -> bool:
    """Whether a node of the group would fit the pod by GPUs, taints and labels.

    GPUs that time slicing adds count only if the autoscaler expects them, because an empty group does not show them.
    CPU and memory are not compared.
    """
    group = template.group
    if gpu_limit(pod_spec) > max(group.gpus, group.machine.gpus):
        return False
    return any(refusal(pod_spec, template.node(zone)) is None for zone in group.zones)


_IMAGE: Final = "/cluster-proportional-autoscaler"


@dataclass(frozen=True)
class ScaledDeployment:
    """API paths of a Deployment and of the ConfigMap that says how many replicas it has."""

    deployment: str
    parameters: str


def targets(objects: Sequence[Object]) -> Iterator[ScaledDeployment]:
    """What the autoscalers among ``objects`` scale, by their flags; one without a target scales nothing."""
    for each in objects:
        if each["kind"] != "Deployment":
            continue
        namespace = each["metadata"]["namespace"]
        for container in each["spec"]["template"]["spec"]["containers"]:
            flags = dict(flag.lstrip("-").split("=", 1) for flag in container.get("args", ()))
            if container["image"].endswith(_IMAGE) and "target" in flags:
                name = flags["target"].rpartition("/")[2]
                yield ScaledDeployment(
                    resource_path("apps/v1", "deployments", name, namespace),
                    resource_path("v1", "configmaps", flags["configmap"], namespace),
                )


def replicas(data: Mapping[str, str], nodes: int, cores: float) -> int:
    """The replicas that a ConfigMap's ``data`` asks for: ``linear`` or ``ladder``, each a JSON text."""
    if "ladder" in data:
        ladder: Mapping[str, Any] = json.loads(data["ladder"])
        return max(_step(ladder.get("nodesToReplicas") or [], nodes), _step(ladder.get("coresToReplicas") or [], cores))
    linear: Mapping[str, Any] = json.loads(data["linear"])
    least = 2 if linear.get("preventSinglePointFailure") and nodes > 1 else 1
    by_nodes = math.ceil(nodes / linear["nodesPerReplica"])
    return max(least, by_nodes, math.ceil(cores / linear["coresPerReplica"]))


def _step(steps: Sequence[Sequence[int]], size: float) -> int:
    return next((count for least, count in reversed(steps) if size >= least), 1)


class Proportional(WatchingThread):
    """Watches nodes, and scales each target when their number or size changes."""

    def __init__(self, api: Api, scaled: Sequence[ScaledDeployment]) -> None:
        super().__init__("proportional", api, "/api/v1/nodes")
        self._scaled = scaled
        self._cores: dict[str, float] = {}

    def listed(self, items: list[Object], /) -> None:
        """Scale for all nodes at once: one by one, the first of them would look like the whole cluster."""
        self._cores = {node["metadata"]["name"]: _cores(node) for node in items}
        self._scale()

    def notice(self, kind: str, node: Object, /) -> None:
        """Scale if the node is new, has another size or was deleted."""
        name, cores = node["metadata"]["name"], None if kind == "DELETED" else _cores(node)
        if self._cores.get(name) == cores:
            return
        self._cores.pop(name, None)
        if cores is not None:
            self._cores[name] = cores
        self._scale()

    def _scale(self) -> None:
        for target in self._scaled:
            count = replicas(self._api.get(target.parameters)["data"], len(self._cores), sum(self._cores.values()))
            self._api.merge_if_there(target.deployment, {"spec": {"replicas": count}})


def _cores(node: Object) -> float:
    return float(quantity((node.get("status", {}).get("capacity") or {}).get("cpu", "0")))


Watcher = PollingThread | WatchingThread


class Controllers:
    """The controllers of one cluster; each starts with the first group or machine that needs it.

    Callers must serialise their calls; ``check`` and ``wait`` may be called at any time.
    """

    def __init__(
        self, control_plane: ControlPlane, tools: Path, run_dir: Path, groups: Groups, injector: Injector
    ) -> None:
        self._control_plane = control_plane
        self._tools = tools
        self._run_dir = run_dir
        self._groups = groups
        self._autoscaler: KarpenterSupervisor | ClusterAutoscalerProcess | None = None
        self._provisioned: ManagedKarpenter | None = None
        host = Host(
            api=control_plane.api,
            api_server=control_plane.endpoint,
            ca_pem_base64=control_plane.ca_pem_base64,
            processes=control_plane.processes,
            folder=run_dir / "pods",
            logs=control_plane.logs,
            injector=injector,
        )
        self._kubelet = Kubelet(host, programs(tools))
        self._kubelet.start()
        self._api = control_plane.api
        self._watchers: dict[Callable[..., Watcher], Watcher] = {}

    def autoscaler(self) -> KarpenterSupervisor | ClusterAutoscalerProcess:
        """The simulation's autoscaler, installed with the first group that it scales: a stack may deploy its own."""
        if self._autoscaler is None:
            folder = self._run_dir / "autoscaler"
            if path := cluster_autoscaler.program():
                self._autoscaler = ClusterAutoscalerProcess(self._control_plane, path, folder, self._groups)
            else:
                self._autoscaler = KarpenterSupervisor(self._control_plane, self._tools, folder)
                self._autoscaler.install()
        return self._autoscaler

    def provision(self, karpenter: ManagedKarpenter) -> None:
        """Run the cloud's own Karpenter."""
        if self._autoscaler is None:
            autoscaler = KarpenterSupervisor(self._control_plane, self._tools, self._run_dir / "autoscaler", karpenter)
            autoscaler.install()
            for offer in karpenter.offers:
                autoscaler.add(offer)
            self._autoscaler, self._provisioned = autoscaler, karpenter
            self._start(ProvisionedNodes, karpenter, self._groups.cluster)
            self._start(Drivers, self._groups.report_missing)
            self._start(IdleTimeWatcher)
            self._start(TaintEviction)

    def exhaust(self, pools: Collection[str]) -> None:
        """Have no machine for exactly these pools of what a cluster-autoscaler or the cloud's own Karpenter scales."""
        if isinstance(self._autoscaler, ClusterAutoscalerProcess):
            self._autoscaler.exhaust(pools)
        elif self._autoscaler is not None and self._provisioned is not None:
            self._autoscaler.exhaust(offers_of(self._api, self._provisioned, pools))

    def serve_system(self, objects: Sequence[Object]) -> None:
        """Start what scales the cluster's own Deployments, if something does."""
        if scaled := tuple(targets(objects)):
            self._start(Proportional, scaled)

    def serve_group(self, group: SimulatedNodeGroup) -> None:
        """Start the controllers that the group's nodes and pods need."""
        if group.efa or (group.gpus_advertised_by != "cloud" and group.gpus):
            self._start(Drivers, self._groups.report_missing)
        if group.autoscaled:
            self.watch_nodes()
        if group.packing is not None and isinstance(self._autoscaler, KarpenterSupervisor):
            self._start(Packer, self._groups.template)
        if group.not_scaled_because:
            self._start(StuckPods, self._groups.templates)

    def serve_machine(self, node: Node) -> None:
        """Start the controllers that a machine needs that joins by itself."""
        if node.efa or (node.gpus and node.gpus_advertised_by != "cloud"):
            self._start(Drivers, self._groups.report_missing)
        self._start(IdleTimeWatcher)
        self._start(TaintEviction)

    def watch_nodes(self) -> None:
        """Watch new nodes from now on."""
        self._start(TaintEviction)
        self._start(NodeWatch, self._late_of, self._groups.note_node)

    def wait(self) -> None:
        """Return when the autoscaler knows every group."""
        if self._autoscaler is not None:
            self._autoscaler.wait()

    def check(self) -> None:
        """Raise if the autoscaler could not be (re)started."""
        if self._autoscaler is not None:
            self._autoscaler.check()

    def close(self) -> None:
        """Stop all of them."""
        running = [self._kubelet, *self._watchers.values(), *([self._autoscaler] if self._autoscaler else [])]
        self._watchers.clear()
        with ThreadPoolExecutor() as closing:  # each may wait for a reply of the API server
            list(closing.map(lambda each: each.close(), running))

    def delete_provisioned(self) -> None:
        """Remove the nodes of the cloud's own Karpenter, which is closed."""
        if self._provisioned is not None:
            remove_nodes(self._api)

    def _start(self, kind: Callable[..., Watcher], *arguments: Any) -> None:
        if kind not in self._watchers:
            watcher = self._watchers[kind] = kind(self._api, *arguments)
            watcher.start()

    def _late_of(self, name: str) -> Late:
        """Labels and taints to add to the group's nodes after Karpenter has created them."""
        template, autoscaler = self._groups.template(name), self._autoscaler
        if template is None or not isinstance(autoscaler, KarpenterSupervisor):
            return Late()
        return late(template, autoscaler.types.name(template.group.machine))
