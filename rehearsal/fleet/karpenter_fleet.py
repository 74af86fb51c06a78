"""The fleet: node groups of one cluster on the local control plane."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.fleet import group_nodes, machine_nodes
from rehearsal.fleet.autoscaler import Autoscaler
from rehearsal.fleet.drivers import Drivers, MissingDriver
from rehearsal.fleet.errors import FleetError
from rehearsal.fleet.idle_time import IdleTime
from rehearsal.fleet.node_pools import NO_GROWTH, claim_path, node_claim, node_pools, pool_path, weights
from rehearsal.fleet.node_watch import Late, NodeWatch, late
from rehearsal.fleet.nodes import GROUP_LABEL, ClusterFacts, condition, kubelet_version, own_gpus, permanent_counts
from rehearsal.fleet.packing import Packer
from rehearsal.fleet.report import write_report
from rehearsal.fleet.stuck_pods import StuckPods
from rehearsal.fleet.system_objects import apply_system_objects
from rehearsal.simulation import Endpoint, Injection, Injector, Node, NodeGroup
from rehearsal.workloads.container import Host
from rehearsal.workloads.kubelet import Kubelet
from rehearsal.workloads.programs import programs

_READY_SECONDS: Final = 240.0


class KarpenterFleet:
    """Implements ``rehearsal.simulation.Fleet``: one cluster at a time, on one control plane.

    ``control_plane`` may still be starting: ``ready`` is called, and must return, before it is used for the first time.
    ``fleet.json`` in ``run_dir`` always holds the declared groups, those that have had a node, and the nodes without
    usable GPUs. ``inside``: the program runs in the cluster's network.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        run_dir: Path,
        tools: Path,
        ready: Callable[[], None] = lambda: None,
        *,
        inside: bool = False,
    ) -> None:
        self._control_plane = control_plane
        self._run_dir = run_dir
        self._tools = tools
        self._ready = ready
        self._inside = inside
        self._lock = threading.RLock()
        self._stopped = False
        self._cluster: ClusterFacts | None = None
        self._groups: dict[str, NodeGroup] = {}
        self._settled: set[str] = set()
        self._with_history: set[str] = set()
        self._missing_drivers: tuple[MissingDriver, ...] = ()
        self._autoscaler: Autoscaler | None = None
        self._drivers: Drivers | None = None
        self._node_watch: NodeWatch | None = None
        self._stuck_pods: StuckPods | None = None
        self._kubelet: Kubelet | None = None
        self._idle_time: IdleTime | None = None
        self._packer: Packer | None = None
        self._injector: Injector = lambda namespace, service_account: Injection({})

    def create_cluster(
        self, name: str, *, version: str, region: str, zones: tuple[str, ...], system_objects: list[Object]
    ) -> Endpoint:
        """Make the control plane this cluster's own; the same name again returns the same endpoint.

        ``version`` (``1.34.4-gke.100``, ``1.34``) is what kubelets report, unless the real API server is older.

        Raises:
            FleetError: another cluster exists, or one of ``system_objects`` is refused; then there is no cluster.
        """
        with self._lock:
            self._ready()
            if self._cluster is None:
                if self._stopped:
                    self._control_plane.start()
                    self._stopped = False
                self._cluster = ClusterFacts(name, region, kubelet_version(version, self._control_plane.api.version()))
                try:
                    self._install(system_objects)
                except BaseException:
                    self.delete_cluster(name)
                    raise
            elif self._cluster.name != name:
                raise FleetError(
                    f"cluster {name}: the rehearsal has one control plane, and cluster {self._cluster.name} uses it. "
                    "Delete that one first, or rehearse the second cluster in a run of its own."
                )
            plane = self._control_plane
            return Endpoint(plane.endpoint, plane.ca_pem_base64, plane.named_endpoint, plane.nowhere, self._inside)

    def delete_cluster(self, name: str) -> None:
        """Remove everything: as in a cloud, the API server answers no more. The next cluster starts empty."""
        with self._lock:
            if self._cluster is None or self._cluster.name != name:
                return
            self._stop_controllers()
            self._control_plane.stop()
            self._stopped = True
            self._cluster = None
            self._groups.clear()
            self._settled.clear()
            self._with_history.clear()
            self._report_missing(())

    def apply_group(self, group: NodeGroup) -> None:
        """Create the group, or change it in place; returns when the nodes it starts with are Ready.

        A group as it already is costs nothing. One that is no longer autoscaled keeps its nodes and gets no new ones.

        Raises:
            FleetError: no such cluster, or its nodes are not Ready in time.
        """
        with self._lock:
            cluster = self._require(group.cluster)
            before = self._groups.get(group.name)
            if before == group and group.name in self._settled:
                return
            self._settled.discard(group.name)
            self._groups[group.name] = group
            self._write_report()
            api = self._control_plane.api
            group_nodes.apply_permanent_nodes(api, cluster, group)
            initial: list[Object] = []
            if group.autoscaled:
                initial = self._apply_node_pools(api, cluster, group, first=before is None)
            elif before is not None and before.autoscaled:
                self._stop_growth(api, group.name)
            if before is not None:
                group_nodes.update_nodes(api, cluster, before, group)
            self._start_controllers(api, group)
        expected = sum(permanent_counts(group).values()) + len(initial)
        self._wait_for_nodes(api, group.name, expected)
        with self._lock:
            if self._groups.get(group.name) == group:
                self._settled.add(group.name)
            if expected:
                self._note_node(group.name)

    def delete_group(self, cluster: str, name: str) -> None:
        """Drain and remove the group's nodes, then the group. What does not exist is fine.

        Raises:
            FleetError: nodes are still there after four minutes.
        """
        with self._lock:
            if self._cluster is None or self._cluster.name != cluster or self._groups.pop(name, None) is None:
                return
            self._settled.discard(name)
            self._with_history.discard(name)
            self._write_report()
            api = self._control_plane.api
        api.delete(f"{pool_path()}?labelSelector={GROUP_LABEL}%3D{name}")
        group_nodes.remove_nodes(api, name)
        group_nodes.wait_until_gone(api, name)

    def recreate_nodes(self, cluster: str, name: str) -> None:
        """Drain the group's nodes and end them; what does not exist is fine."""
        with self._lock:
            group, facts = self._groups.get(name), self._cluster
            if facts is None or facts.name != cluster or group is None:
                return
            group_nodes.recreate_nodes(self._control_plane.api, facts, group)
        self._wait_for_nodes(self._control_plane.api, name, sum(permanent_counts(group).values()))

    def had_nodes(self, cluster: str, name: str) -> bool:
        """Whether the group has ever had a node.

        Exact from the first call on; a node that came and went before it is known only if it was permanent.
        """
        with self._lock:
            if self._cluster is None or self._cluster.name != cluster or name not in self._groups:
                return False
            api = self._control_plane.api
            self._start_node_watch(api)
            if name in self._with_history:
                return True
        if group_nodes.nodes_of(api, name):
            self._note_node(name)
        return name in self._with_history

    def apply_node(self, node: Node) -> None:
        """Make the Node of a machine that has joined; the same again costs nothing.

        Raises:
            FleetError: no such cluster.
        """
        with self._lock:
            self._require(node.cluster)
            api = self._control_plane.api
            if node.gpus and node.gpus_advertised_by != "cloud":
                self._start_drivers(api)
            if self._idle_time is None:
                self._idle_time = IdleTime(api)
                self._idle_time.start()
        machine_nodes.make(api, node)

    def stop_node(self, cluster: str, name: str) -> None:
        """The machine has stopped; its Node stays and is not ready."""
        if (api := self._api_of(cluster)) is not None:
            machine_nodes.stop(api, name)

    def remove_node(self, cluster: str, name: str) -> None:
        """The machine is gone: so are its pods, and its Node."""
        if (api := self._api_of(cluster)) is not None:
            machine_nodes.remove(api, name)

    def report_machine(self, cluster: str, name: str, because: str) -> None:
        """Say why a running machine does not join."""
        if (api := self._api_of(cluster)) is not None:
            machine_nodes.report(api, name, because)

    def inject_with(self, injector: Injector) -> None:
        """Ask ``injector`` what the cloud adds to pods that start from now on."""
        self._injector = injector

    def list_objects(self, path: str) -> list[Object]:
        """Objects inside the cluster by API path; none while there is no cluster, nor of a kind it does not know."""
        with self._lock:
            api = self._control_plane.api if self._cluster is not None else None
        listed = None if api is None else api.find(path)
        return [] if listed is None else listed["items"]

    def apply_objects(self, objects: list[Object]) -> None:
        """Apply the cloud's objects in the cluster, in order; a kind may be defined by one of them.

        Raises:
            FleetError: there is no cluster, or its API server refuses one.
        """
        with self._lock:
            if self._cluster is None:
                raise FleetError("objects cannot be applied: there is no cluster")
            api = self._control_plane.api
        apply_system_objects(api, objects)

    def review_token(self, token: str, audience: str) -> Object:
        """The status of a TokenReview: https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/."""
        with self._lock:
            api = self._control_plane.api if self._cluster is not None else None
        if api is None:
            return {"error": "there is no cluster"}
        group = "authentication.k8s.io/v1"
        review = {"apiVersion": group, "kind": "TokenReview", "spec": {"token": token, "audiences": [audience]}}
        status: Object = api.create(f"/apis/{group}/tokenreviews", review)["status"]
        return status

    def settle(self) -> None:
        """Return when the autoscaler knows every group; pods submitted earlier only wait a little longer."""
        autoscaler = self._autoscaler
        if autoscaler is not None:
            autoscaler.wait()

    def check(self) -> None:
        """Raise if the autoscaler could not be (re)started."""
        autoscaler = self._autoscaler
        if autoscaler is not None:
            autoscaler.check()

    def close(self) -> None:
        """Stop the fleet's own processes and threads; the control plane and its nodes stay."""
        with self._lock:
            self._stop_controllers()

    def _require(self, cluster: str) -> ClusterFacts:
        if self._cluster is None or self._cluster.name != cluster:
            raise FleetError(f"cluster {cluster} does not exist: create it before its node groups")
        return self._cluster

    def _api_of(self, cluster: str) -> Api | None:
        with self._lock:
            here = self._cluster is not None and self._cluster.name == cluster
            return self._control_plane.api if here else None

    def _install(self, system_objects: list[Object]) -> None:
        api = self._control_plane.api
        host = Host(
            api=api,
            api_server=self._control_plane.endpoint,
            ca_pem_base64=self._control_plane.ca_pem_base64,
            processes=self._control_plane.processes,
            folder=self._run_dir / "pods",
            injector=lambda namespace, account: self._injector(namespace, account),
        )
        self._kubelet = Kubelet(host, programs(self._tools))
        self._kubelet.start()
        apply_system_objects(api, system_objects)
        self._write_report()

    def _started_autoscaler(self) -> Autoscaler:
        """The fleet's own autoscaler, installed with the first group that it scales: a cluster may have another."""
        if self._autoscaler is None:
            autoscaler = Autoscaler(self._control_plane, self._tools, self._run_dir / "autoscaler")
            autoscaler.install()
            self._autoscaler = autoscaler
        return self._autoscaler

    def _apply_node_pools(self, api: Api, cluster: ClusterFacts, group: NodeGroup, *, first: bool) -> list[Object]:
        """Apply the group's NodePools and everyone's weights; returns the initial nodes above the minimum."""
        autoscaler = self._started_autoscaler()
        autoscaler.add(group)
        order = weights(each for each in self._groups.values() if each.autoscaled)
        instance_type = autoscaler.types.name(group.machine)
        pools = [
            api.apply(pool_path(pool["metadata"]["name"]), pool)
            for pool in node_pools(group, cluster, instance_type, order[group.name])
        ]
        for pool in api.list(pool_path()):
            # Others, too, may have NodePools in this cluster: a user's Karpenter.
            weight = order.get(pool["metadata"].get("labels", {}).get(GROUP_LABEL, ""))
            if weight is not None and pool["spec"].get("weight") != weight:
                api.merge(pool_path(pool["metadata"]["name"]), {"spec": {"weight": weight}})
        if not first:
            return []
        permanent = permanent_counts(group)
        if group.initial_nodes > min(permanent.values()):
            # A Karpenter that does not know the type yet would fail on the claim.
            autoscaler.wait()
        return [
            api.create(claim_path(), node_claim(pools[index if group.per_zone else 0], zone))
            for index, zone in enumerate(group.zones)
            for _ in range(group.initial_nodes - permanent[zone])
        ]

    def _stop_growth(self, api: Api, name: str) -> None:
        for pool in api.list(pool_path(), labelSelector=f"{GROUP_LABEL}={name}"):
            api.merge(pool_path(pool["metadata"]["name"]), NO_GROWTH)

    def _start_controllers(self, api: Api, group: NodeGroup) -> None:
        if group.gpus_advertised_by != "cloud" and own_gpus(group):
            self._start_drivers(api)
        if group.autoscaled:
            self._start_node_watch(api)
        if group.autoscaled and group.packing is not None and self._packer is None:
            self._packer = Packer(api, self._groups.get)
            self._packer.start()
        if group.not_scaled_because and self._stuck_pods is None:
            self._stuck_pods = StuckPods(api, self._unscaled)
            self._stuck_pods.start()

    def _start_drivers(self, api: Api) -> None:
        if self._drivers is None:
            self._drivers = Drivers(api, self._report_missing)
            self._drivers.start()

    def _start_node_watch(self, api: Api) -> None:
        if self._node_watch is None:
            self._node_watch = NodeWatch(api, self._late_of, self._note_node)
            self._node_watch.start()

    def _stop_controllers(self) -> None:
        watchers = (self._packer, self._idle_time, self._stuck_pods, self._node_watch)
        running = [each for each in (self._kubelet, *watchers, self._drivers, self._autoscaler) if each is not None]
        with ThreadPoolExecutor() as closing:  # each may have to wait for an answer of the API server
            list(closing.map(lambda each: each.close(), running))
        self._stuck_pods = self._node_watch = self._drivers = self._autoscaler = None
        self._kubelet = self._idle_time = self._packer = None

    def _late_of(self, name: str) -> Late:
        """What a group's nodes lack when Karpenter has made them."""
        group, autoscaler, cluster = self._groups.get(name), self._autoscaler, self._cluster
        if group is None or autoscaler is None or cluster is None:
            return Late()
        return late(group, cluster, autoscaler.types.name(group.machine))

    def _unscaled(self) -> tuple[ClusterFacts, list[NodeGroup]]:
        assert self._cluster is not None
        return self._cluster, [group for group in list(self._groups.values()) if group.not_scaled_because]

    def _note_node(self, group: str) -> None:
        """Remember that a group has had a node; called for every sight of one."""
        if group in self._with_history or group not in self._groups:
            return
        self._with_history.add(group)
        self._write_report()

    def _wait_for_nodes(self, api: Api, name: str, count: int) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while count and sum(condition(node, "Ready") for node in group_nodes.nodes_of(api, name)) < count:
            self.check()
            if time.monotonic() > deadline:
                raise FleetError(f"node group {name}: fewer than {count} nodes are Ready after {_READY_SECONDS:.0f} s")
            time.sleep(0.1)

    def _report_missing(self, missing: tuple[MissingDriver, ...]) -> None:
        self._missing_drivers = missing
        self._write_report()

    def _write_report(self) -> None:
        groups = list(self._groups.values())
        write_report(self._run_dir / "fleet.json", self._cluster, groups, self._with_history, self._missing_drivers)
