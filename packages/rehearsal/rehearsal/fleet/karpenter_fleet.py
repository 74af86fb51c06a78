"""The fleet: node groups of one cluster on the local control plane."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.fleet import group_nodes, machine_nodes, node_pools
from rehearsal.fleet.controllers import Controllers
from rehearsal.fleet.group_nodes import FleetError
from rehearsal.fleet.groups import Groups, write_report
from rehearsal.fleet.nodes import ClusterFacts, kubelet_version
from rehearsal.fleet.volumes import zone_labels
from rehearsal.simulation import (
    BY_ADDRESS,
    Balancing,
    Endpoint,
    Injection,
    Injector,
    ManagedKarpenter,
    Node,
    SimulatedNodeGroup,
)

_KIND_SECONDS: Final = 240.0


def apply_system_objects(api: Api, objects: list[Object]) -> None:
    """Apply the objects in order; one of them may define a kind. Raises FleetError: the API server refuses one."""
    deadline = time.monotonic() + _KIND_SECONDS
    defines_kinds = any(manifest["kind"] == "CustomResourceDefinition" for manifest in objects)
    for manifest in objects:
        while True:
            try:
                api.apply_manifest(manifest)
                break
            except ApiError as error:
                # A kind is served a moment after its definition.
                if error.status != 404 or not defines_kinds or time.monotonic() > deadline:
                    what = f"{manifest['kind']} {manifest['metadata']['name']}"
                    raise FleetError(f"system object {what}: {error}") from error
            time.sleep(0.1)


@dataclass(frozen=True)
class _Cluster:
    """State of a cluster outside its API server."""

    groups: Groups
    controllers: Controllers


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
        self._report = run_dir / "fleet.json"
        self._tools = tools
        self._ready = ready
        self._inside = inside
        self._lock = threading.RLock()
        self._stopped = False
        self._cluster: _Cluster | None = None
        self._injector: Injector = lambda namespace, service_account: Injection({})

    def create_cluster(
        self,
        name: str,
        *,
        version: str,
        region: str,
        zones: tuple[str, ...],
        system_objects: list[Object],
        balancing: Balancing = BY_ADDRESS,
    ) -> Endpoint:
        """Use the control plane for this cluster; the same name again returns the same endpoint.

        ``version`` (``1.34.4-gke.100``, ``1.34``) is what kubelets report, unless the real API server is older. Raises
        FleetError: another cluster exists, or one of ``system_objects`` is refused; then there is no cluster.
        """
        with self._lock:
            self._ready()
            if self._cluster is None:
                if self._stopped:
                    self._control_plane.start()
                    self._stopped = False
                api = self._control_plane.api
                kubelet = kubelet_version(version, api.version())
                self._cluster = self._new(ClusterFacts(name, region, kubelet, zone_labels(system_objects)))
                try:
                    apply_system_objects(api, system_objects)
                    self._cluster.controllers.serve_system(system_objects, balancing)
                    self._cluster.groups.write()
                except BaseException:
                    self.delete_cluster(name)
                    raise
            elif (other := self._cluster.groups.cluster.name) != name:
                raise FleetError(
                    f"cluster {name}: the rehearsal has one control plane, and cluster {other} uses it. "
                    "Delete that one first, or rehearse the second cluster in a separate run."
                )
            plane = self._control_plane
            return Endpoint(
                plane.endpoint,
                plane.ca_pem_base64,
                plane.named_endpoint,
                plane.nowhere,
                self._inside,
                plane.client,
            )

    def delete_cluster(self, name: str) -> None:
        """Remove everything: as in a cloud, the API server no longer answers. The next cluster starts empty."""
        with self._lock:
            if (cluster := self._find(name)) is None:
                return
            cluster.controllers.close()
            cluster.controllers.delete_provisioned()
            self._control_plane.stop()
            self._stopped = True
            self._cluster = None
            write_report(self._report, None)

    def run_karpenter(self, cluster: str, karpenter: ManagedKarpenter) -> None:
        """Run the cloud's own Karpenter; one that runs already goes on as it is.

        Raises FleetError: the cluster does not exist.
        """
        with self._lock:
            self._require(cluster).controllers.provision(karpenter)

    def exhaust(self, pools: Collection[str]) -> None:
        """Have no machine for exactly these pools of what a cluster-autoscaler or a cloud's own Karpenter scales."""
        if (cluster := self._cluster) is not None:
            cluster.controllers.exhaust(pools)

    def apply_group(self, group: SimulatedNodeGroup) -> None:
        """Create the group, or change it in place; returns when its initial nodes are Ready.

        An unchanged group returns at once. One that is no longer autoscaled keeps its nodes and gets no new ones.
        Raises FleetError: the cluster does not exist, or the nodes are not Ready in time.
        """
        with self._lock:
            cluster = self._require(group.cluster)
            if cluster.groups.settled(group):
                return
            before = cluster.groups.template(group.name)
            template = cluster.groups.declare(group)
            api = self._control_plane.api
            group_nodes.apply_permanent_nodes(api, template)
            expected = sum(group.permanent().values())
            if group.scaling.autoscaled:
                order = node_pools.weights(
                    each.group for each in cluster.groups.templates() if each.group.scaling.autoscaled
                )
                expected += cluster.controllers.autoscaler().scale(template, order, new=before is None)
            elif before is not None and before.group.scaling.autoscaled:
                node_pools.stop_growth(api, group.name)
            if before is not None:
                group_nodes.update_nodes(api, before, template)
            cluster.controllers.serve_group(group)
        group_nodes.wait_until_ready(api, group.name, expected, cluster.controllers.check)
        with self._lock:
            cluster.groups.settle(group)
            if expected:
                cluster.groups.note_node(group.name)

    def delete_group(self, cluster: str, name: str) -> None:
        """Drain and remove the group's nodes, then the group. A missing group is no error.

        Raises FleetError: nodes still exist after four minutes.
        """
        with self._lock:
            here = self._find(cluster)
            if here is None or not here.groups.forget(name):
                return
            api = self._control_plane.api
        node_pools.delete_node_pools(api, name)
        group_nodes.remove_nodes(api, name)
        group_nodes.wait_until_deleted(api, name)

    def recreate_nodes(self, cluster: str, name: str) -> None:
        """Drain and delete the group's nodes; a missing group is no error."""
        with self._lock:
            here = self._find(cluster)
            template = None if here is None else here.groups.template(name)
            if here is None or template is None:
                return
            api = self._control_plane.api
            group_nodes.recreate_nodes(api, template)
        count = sum(template.group.permanent().values())
        group_nodes.wait_until_ready(api, name, count, here.controllers.check)

    def had_nodes(self, cluster: str, name: str) -> bool:
        """Whether the group has ever had a node.

        Exact from the first call on; before it, only permanent nodes are recorded.
        """
        with self._lock:
            here = self._find(cluster)
            if here is None or here.groups.template(name) is None:
                return False
            here.controllers.watch_nodes()
            if here.groups.had_node(name):
                return True
        if group_nodes.nodes_of(self._control_plane.api, name):
            here.groups.note_node(name)
        return here.groups.had_node(name)

    def apply_node(self, node: Node) -> None:
        """Create the Node of a machine that has joined, if it is missing.

        Raises FleetError: the cluster does not exist.
        """
        with self._lock:
            self._require(node.cluster).controllers.serve_machine(node)
        machine_nodes.make(self._control_plane.api, node)

    def stop_node(self, cluster: str, name: str) -> None:
        """The machine has stopped; its Node remains and is not ready."""
        if (api := self._api_of(cluster)) is not None:
            machine_nodes.stop(api, name)

    def remove_node(self, cluster: str, name: str) -> None:
        """The machine was terminated: delete its pods and its Node."""
        if (api := self._api_of(cluster)) is not None:
            machine_nodes.remove(api, name)

    def report_machine(self, cluster: str, name: str, because: str) -> None:
        """Report why a running machine does not join."""
        if (api := self._api_of(cluster)) is not None:
            machine_nodes.report(api, name, because)

    def inject_with(self, injector: Injector) -> None:
        """Use ``injector`` for what the cloud adds to pods that start from now on."""
        self._injector = injector

    def list_objects(self, path: str) -> list[Object]:
        """Objects in the cluster by API path; none without a cluster or for an unknown kind."""
        with self._lock:
            api = self._control_plane.api if self._cluster is not None else None
        listed = None if api is None else api.find(path)
        return [] if listed is None else listed["items"]

    def apply_objects(self, objects: list[Object]) -> None:
        """Apply the cloud's objects in the cluster, in order; one of them may define a kind.

        Raises FleetError: there is no cluster, or its API server refuses one.
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
        """Return when the autoscaler knows every group; earlier pods only wait a little longer."""
        if (cluster := self._cluster) is not None:
            cluster.controllers.wait()

    def check(self) -> None:
        """Raise if the autoscaler could not be (re)started."""
        if (cluster := self._cluster) is not None:
            cluster.controllers.check()

    def close(self) -> None:
        """Stop the fleet's processes and threads; the control plane and its nodes remain."""
        with self._lock:
            if self._cluster is not None:
                self._cluster.controllers.close()

    def _new(self, facts: ClusterFacts) -> _Cluster:
        groups = Groups(facts, self._report)
        return _Cluster(groups, Controllers(self._control_plane, self._tools, self._run_dir, groups, self._inject))

    def _inject(self, namespace: str, service_account: str) -> Injection:
        # The injector may change while the cluster runs.
        return self._injector(namespace, service_account)

    def _find(self, cluster: str) -> _Cluster | None:
        here = self._cluster
        return here if here is not None and here.groups.cluster.name == cluster else None

    def _require(self, cluster: str) -> _Cluster:
        if (here := self._find(cluster)) is None:
            raise FleetError(f"cluster {cluster} does not exist: create it before its node groups")
        return here

    def _api_of(self, cluster: str) -> Api | None:
        with self._lock:
            return None if self._find(cluster) is None else self._control_plane.api
