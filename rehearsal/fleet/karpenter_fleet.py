"""The fleet: node groups of one cluster on the local control plane."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rehearsal.api import Api, ApiError, Object
from rehearsal.control_plane import ControlPlane
from rehearsal.fleet.autoscaler import Autoscaler
from rehearsal.fleet.drivers import Drivers, MissingDriver
from rehearsal.fleet.late_labels import LateLabels
from rehearsal.fleet.node_pools import claim_path, node_claim, node_pools, pool_path, refused_by_karpenter, weights
from rehearsal.fleet.nodes import (
    GROUP_LABEL,
    INSTANCE_TYPE,
    ClusterFacts,
    condition,
    labels,
    permanent_counts,
    permanent_node,
    taints,
)
from rehearsal.simulation import Endpoint, NodeGroup

_READY_SECONDS: Final = 60.0
_DRAIN_SECONDS: Final = 60.0
_NODES: Final = "/api/v1/nodes"


class FleetError(Exception):
    """What the data centre cannot do, as a sentence for the user."""


class KarpenterFleet:
    """Implements ``rehearsal.simulation.Fleet``: one cluster at a time, on one control plane.

    ``control_plane`` may still be starting: ``ready`` is called, and must return, before it is used for the first time.
    ``fleet.json`` in ``run_dir`` always holds the declared groups and the nodes without a driver.
    """

    def __init__(
        self, control_plane: ControlPlane, run_dir: Path, tools: Path, ready: Callable[[], None] = lambda: None
    ) -> None:
        self._control_plane = control_plane
        self._run_dir = run_dir
        self._tools = tools
        self._ready = ready
        self._lock = threading.RLock()
        self._stopped = False
        self._cluster: ClusterFacts | None = None
        self._groups: dict[str, NodeGroup] = {}
        self._missing_drivers: tuple[MissingDriver, ...] = ()
        self._autoscaler: Autoscaler | None = None
        self._drivers: Drivers | None = None
        self._late_labels: LateLabels | None = None

    def had_nodes(self, cluster: str, name: str) -> bool:
        """Whether the group has ever had a node."""
        raise NotImplementedError

    def list_objects(self, path: str) -> list[Object]:
        """Objects inside the cluster by API path; none while there is no cluster."""
        with self._lock:
            api = self._control_plane.api if self._cluster is not None else None
        return [] if api is None else api.list(path)

    def create_cluster(
        self, name: str, *, version: str, region: str, zones: tuple[str, ...], system_objects: list[Object]
    ) -> Endpoint:
        """Make the control plane this cluster's own; the same name again returns the same endpoint.

        ``version`` (``1.34.4-gke.100``, with or without ``v``) is what the nodes' kubelets report.

        Raises:
            FleetError: another cluster exists, or one of ``system_objects`` is refused; then there is no cluster.
        """
        with self._lock:
            self._ready()
            if self._cluster is None:
                if self._stopped:
                    self._control_plane.start()
                    self._stopped = False
                self._cluster = ClusterFacts(name, region, version.removeprefix("v"))
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
            return Endpoint(self._control_plane.endpoint, self._control_plane.ca_pem_base64)

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
            self._report_missing(())

    def apply_group(self, group: NodeGroup) -> None:
        """Create the group, or change it in place; returns when the nodes it starts with are Ready.

        Raises:
            FleetError: no such cluster, or its nodes are not Ready in time.
        """
        with self._lock:
            cluster = self._require(group.cluster)
            before = self._groups.get(group.name)
            self._groups[group.name] = group
            self._write_report()
            api = self._control_plane.api
            self._apply_permanent_nodes(api, cluster, group)
            initial: list[Object] = []
            if group.autoscaled:
                initial = self._apply_node_pools(api, cluster, group, first=before is None)
            elif before is not None and before.autoscaled:
                api.delete(f"{pool_path()}?labelSelector={GROUP_LABEL}%3D{group.name}")
            if before is not None:
                _update_nodes(api, cluster, before, group)
            self._start_controllers(api, group)
        expected = sum(permanent_counts(group).values()) + len(initial)
        self._wait_for_nodes(api, group.name, expected)

    def delete_group(self, cluster: str, name: str) -> None:
        """Drain and remove the group's nodes, then the group. What does not exist is fine.

        Raises:
            FleetError: nodes are still there after a minute.
        """
        with self._lock:
            if self._cluster is None or self._cluster.name != cluster or self._groups.pop(name, None) is None:
                return
            self._write_report()
            api = self._control_plane.api
        selector = f"?labelSelector={GROUP_LABEL}%3D{name}"
        api.delete(pool_path() + selector)
        for node in _nodes(api, name):
            _drain(api, node["metadata"]["name"])
            if not _made_by_karpenter(node):
                api.delete(f"{_NODES}/{node['metadata']['name']}")
        api.delete(claim_path() + selector)
        deadline = time.monotonic() + _DRAIN_SECONDS
        while left := _nodes(api, name):
            if time.monotonic() > deadline:
                names = ", ".join(node["metadata"]["name"] for node in left)
                raise FleetError(f"node group {name}: still there after {_DRAIN_SECONDS:.0f} s: {names}")
            time.sleep(0.2)

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

    def _install(self, system_objects: list[Object]) -> None:
        self._autoscaler = Autoscaler(self._control_plane, self._tools, self._run_dir / "autoscaler")
        self._autoscaler.install()
        api = self._control_plane.api
        for manifest in system_objects:
            try:
                api.apply_manifest(manifest)
            except ApiError as error:
                raise FleetError(f"system object {manifest['kind']} {manifest['metadata']['name']}: {error}") from error
        self._write_report()

    def _apply_permanent_nodes(self, api: Api, cluster: ClusterFacts, group: NodeGroup) -> None:
        """Create what is missing of the nodes that always exist, and remove what is too many."""
        present = [node for node in _nodes(api, group.name) if not _made_by_karpenter(node)]
        by_zone: dict[str, list[str]] = {}
        for node in present:
            by_zone.setdefault(node["metadata"]["labels"]["topology.kubernetes.io/zone"], []).append(
                node["metadata"]["name"]
            )
        wanted = permanent_counts(group)
        for zone, count in wanted.items():
            for _ in range(count - len(by_zone.get(zone, []))):
                api.create(_NODES, permanent_node(group, cluster, zone))
        for zone, names in by_zone.items():
            for name in names[wanted.get(zone, 0) :]:
                _drain(api, name)
                api.delete(f"{_NODES}/{name}")

    def _apply_node_pools(self, api: Api, cluster: ClusterFacts, group: NodeGroup, *, first: bool) -> list[Object]:
        """Apply the group's NodePools and everyone's weights; returns the initial nodes above the minimum."""
        assert self._autoscaler is not None
        self._autoscaler.add(group)
        order = weights(each for each in self._groups.values() if each.autoscaled)
        instance_type = self._autoscaler.types.name(group.machine)
        pools = [
            api.apply(pool_path(pool["metadata"]["name"]), pool)
            for pool in node_pools(group, cluster, instance_type, order[group.name])
        ]
        for pool in api.list(pool_path()):
            weight = order.get(pool["metadata"]["labels"].get(GROUP_LABEL, ""))
            if weight is not None and pool["spec"].get("weight") != weight:
                api.merge(pool_path(pool["metadata"]["name"]), {"spec": {"weight": weight}})
        if not first:
            return []
        permanent = permanent_counts(group)
        if group.initial_nodes > min(permanent.values()):
            # A Karpenter that does not know the type yet would fail on the claim.
            self._autoscaler.wait()
        return [
            api.create(claim_path(), node_claim(pools[index if group.per_zone else 0], zone))
            for index, zone in enumerate(group.zones)
            for _ in range(group.initial_nodes - permanent[zone])
        ]

    def _start_controllers(self, api: Api, group: NodeGroup) -> None:
        if group.gpus_advertised_by == "daemonset" and group.machine.gpus and self._drivers is None:
            self._drivers = Drivers(api, self._report_missing)
            self._drivers.start()
        if group.autoscaled and self._late_labels_of(group.name) and self._late_labels is None:
            self._late_labels = LateLabels(api, self._late_labels_of)
            self._late_labels.start()

    def _stop_controllers(self) -> None:
        for controller in (self._late_labels, self._drivers, self._autoscaler):
            if controller is not None:
                controller.close()
        self._late_labels = self._drivers = self._autoscaler = None

    def _late_labels_of(self, name: str) -> Mapping[str, str]:
        """What a group's nodes lack when Karpenter has made them."""
        group, autoscaler = self._groups.get(name), self._autoscaler
        if group is None or autoscaler is None or not group.autoscaled:
            return {}
        late = {key: value for key, value in group.labels.items() if refused_by_karpenter(key)}
        if autoscaler.types.name(group.machine) != group.machine.type:
            late[INSTANCE_TYPE] = group.machine.type
        return late

    def _wait_for_nodes(self, api: Api, name: str, count: int) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while count and sum(condition(node, "Ready") for node in _nodes(api, name)) < count:
            self.check()
            if time.monotonic() > deadline:
                raise FleetError(f"node group {name}: fewer than {count} nodes are Ready after {_READY_SECONDS:.0f} s")
            time.sleep(0.1)

    def _report_missing(self, missing: tuple[MissingDriver, ...]) -> None:
        self._missing_drivers = missing
        self._write_report()

    def _write_report(self) -> None:
        report = {
            "cluster": None if self._cluster is None else asdict(self._cluster),
            "groups": [asdict(group) for group in list(self._groups.values())],
            "missing_drivers": [asdict(each) for each in self._missing_drivers],
        }
        # Several threads report; each writes a file of its own, and the rename is atomic.
        draft = self._run_dir / f".fleet.json.{threading.get_ident()}"
        draft.write_text(json.dumps(report, indent=2, default=dict))
        draft.replace(self._run_dir / "fleet.json")


def _nodes(api: Api, group: str) -> list[Object]:
    return api.list(_NODES, labelSelector=f"{GROUP_LABEL}={group}")


def _made_by_karpenter(node: Mapping[str, Any]) -> bool:
    return "karpenter.sh/nodepool" in node["metadata"].get("labels", {})


def _update_nodes(api: Api, cluster: ClusterFacts, before: NodeGroup, after: NodeGroup) -> None:
    """Give existing nodes the group's new labels and taints, as clouds that update a group in place do."""
    old, new = labels(before, cluster), labels(after, cluster)
    if old == new and before.taints == after.taints:
        return
    changed: dict[str, str | None] = {**dict.fromkeys(old.keys() - new.keys()), **new}
    dropped = {(taint["key"], taint["effect"]) for taint in taints(before)}
    for node in _nodes(api, after.name):
        kept = [each for each in node["spec"].get("taints", []) if (each["key"], each["effect"]) not in dropped]
        body = {"metadata": {"labels": changed}, "spec": {"taints": [*kept, *taints(after)]}}
        _patch_node(api, node["metadata"]["name"], body)


def _drain(api: Api, node: str) -> None:
    """Cordon, and delete the node's pods: what remains of a cloud's drain when time is compressed."""
    _patch_node(api, node, {"spec": {"unschedulable": True}})
    for pod in api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node}"):
        api.delete(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}")


def _patch_node(api: Api, name: str, body: Object) -> None:
    """Merge ``body`` into a node, unless the autoscaler has just removed it."""
    try:
        api.merge(f"{_NODES}/{name}", body)
    except ApiError as error:
        if error.status != 404:
            raise
