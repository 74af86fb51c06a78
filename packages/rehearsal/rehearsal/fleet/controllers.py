"""Controllers of a cluster: programs of pods, the simulation's autoscaler, and threads that watch the cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rehearsal.cluster.api import Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.threads import PollingThread, WatchingThread
from rehearsal.fleet.autoscaler import KarpenterSupervisor
from rehearsal.fleet.balancers import Balancers
from rehearsal.fleet.broken_gpus import TaintEviction
from rehearsal.fleet.cluster_autoscaler import ClusterAutoscalerProcess
from rehearsal.fleet.drivers import Drivers
from rehearsal.fleet.groups import Groups
from rehearsal.fleet.idle_time import IdleTimeWatcher
from rehearsal.fleet.node_pools import weights
from rehearsal.fleet.node_watch import Late, NodeWatch, late
from rehearsal.fleet.packing import Packer
from rehearsal.fleet.proportional import Proportional, targets
from rehearsal.fleet.provisioned_nodes import ProvisionedNodes, offers_of, remove_nodes
from rehearsal.fleet.scale_up_events import ScaleUpEvents
from rehearsal.fleet.slices import SliceWatcher
from rehearsal.fleet.stuck_pods import StuckPods
from rehearsal.fleet.volumes import Volumes
from rehearsal.simulation import Balancing, Injector, ManagedKarpenter, Node, SimulatedNodeGroup
from rehearsal.tools.own_autoscaler import own_autoscaler
from rehearsal.workloads.container import Host
from rehearsal.workloads.kubelet import Kubelet, programs

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
            if program := own_autoscaler():
                self._autoscaler = ClusterAutoscalerProcess(self._control_plane, program, folder, self._groups)
            else:
                self._autoscaler = self._karpenter()
                self._autoscaler.install()
        return self._autoscaler

    def provision(self, karpenter: ManagedKarpenter) -> None:
        """Run the cloud's own Karpenter."""
        if self._autoscaler is None:
            autoscaler = self._karpenter(karpenter)
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

    def serve_system(self, objects: Sequence[Object], balancing: Balancing) -> None:
        """Start what makes volumes and gives addresses, and what scales the cluster's own Deployments, if something
        does."""
        self._start(Volumes)
        self._start(Balancers, balancing)
        if scaled := tuple(targets(objects)):
            self._start(Proportional, scaled)

    def serve_group(self, group: SimulatedNodeGroup) -> None:
        """Start the controllers that the group's nodes and pods need."""
        if group.efa or (group.gpus_advertised_by != "cloud" and group.gpus):
            self._start(Drivers, self._groups.report_missing)
        if group.scaling.autoscaled:
            self.watch_nodes()
        if group.scaling.autoscaled and isinstance(self._autoscaler, KarpenterSupervisor):
            self._start(Packer, self._groups.template)
            self._start(ScaleUpEvents, self._groups.templates, self._know)
        if group.atomic and isinstance(self._autoscaler, KarpenterSupervisor):
            self._start(SliceWatcher, self._groups.templates)
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

    def _know(self, name: str) -> None:
        """Have the autoscaler plan with a group's nodes as they are."""
        if isinstance(autoscaler := self._autoscaler, KarpenterSupervisor):
            template = self._groups.know(name)
            scaled = (each.group for each in self._groups.templates() if each.group.scaling.autoscaled)
            autoscaler.scale(template, weights(scaled), new=False)

    def _karpenter(self, own: ManagedKarpenter | None = None) -> KarpenterSupervisor:
        folder, zone_labels = self._run_dir / "autoscaler", self._groups.cluster.zone_labels
        return KarpenterSupervisor(self._control_plane, self._tools, folder, own, zone_labels)

    def _start(self, kind: Callable[..., Watcher], *arguments: Any) -> None:
        if kind not in self._watchers:
            watcher = self._watchers[kind] = kind(self._api, *arguments)
            watcher.start()

    def _late_of(self, name: str) -> Late:
        """Labels and taints to add to the group's nodes after Karpenter has created them."""
        template, autoscaler = self._groups.template(name), self._autoscaler
        if template is None or not isinstance(autoscaler, KarpenterSupervisor):
            return Late()
        return late(template, autoscaler.types.name(template.group))
