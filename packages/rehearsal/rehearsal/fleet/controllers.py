"""Controllers of a cluster: programs of pods, the simulation's autoscaler, and threads that watch the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rehearsal.cluster.api import Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.threads import PollingThread, WatchingThread
from rehearsal.fleet.autoscaler import KarpenterSupervisor
from rehearsal.fleet.drivers import Drivers
from rehearsal.fleet.groups import Groups
from rehearsal.fleet.idle_time import IdleTimeWatcher
from rehearsal.fleet.node_watch import Late, NodeWatch, late
from rehearsal.fleet.packing import Packer
from rehearsal.fleet.proportional import Proportional, ScaledDeployment, targets
from rehearsal.fleet.stuck_pods import StuckPods
from rehearsal.simulation import Injector, Node, SimulatedNodeGroup
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
        self._autoscaler: KarpenterSupervisor | None = None
        host = Host(
            api=control_plane.api,
            api_server=control_plane.endpoint,
            ca_pem_base64=control_plane.ca_pem_base64,
            processes=control_plane.processes,
            folder=run_dir / "pods",
            injector=injector,
        )
        self._kubelet = Kubelet(host, programs(tools))
        self._kubelet.start()
        api = control_plane.api
        self._makers: Mapping[type[Watcher], Callable[[], Watcher]] = {
            Drivers: lambda: Drivers(api, groups.report_missing),
            IdleTimeWatcher: lambda: IdleTimeWatcher(api),
            NodeWatch: lambda: NodeWatch(api, self._late_of, groups.note_node),
            Packer: lambda: Packer(api, groups.template),
            Proportional: lambda: Proportional(api, self._scaled),
            StuckPods: lambda: StuckPods(api, groups.templates),
        }
        self._scaled: Sequence[ScaledDeployment] = ()
        self._watchers: dict[type[Watcher], Watcher] = {}

    def autoscaler(self) -> KarpenterSupervisor:
        """The simulation's autoscaler, installed with the first group that it scales: a stack may deploy its own."""
        if self._autoscaler is None:
            autoscaler = KarpenterSupervisor(self._control_plane, self._tools, self._run_dir / "autoscaler")
            autoscaler.install()
            self._autoscaler = autoscaler
        return self._autoscaler

    def serve_system(self, objects: Sequence[Object]) -> None:
        """Start what scales the cluster's own Deployments, if something does."""
        self._scaled = tuple(targets(objects))
        if self._scaled:
            self._start(Proportional)

    def serve_group(self, group: SimulatedNodeGroup) -> None:
        """Start the controllers that the group's nodes and pods need."""
        if group.gpus_advertised_by != "cloud" and group.gpus:
            self._start(Drivers)
        if group.autoscaled:
            self.watch_nodes()
        if group.autoscaled and group.packing is not None:
            self._start(Packer)
        if group.not_scaled_because:
            self._start(StuckPods)

    def serve_machine(self, node: Node) -> None:
        """Start the controllers that a machine needs that joins by itself."""
        if node.gpus and node.gpus_advertised_by != "cloud":
            self._start(Drivers)
        self._start(IdleTimeWatcher)

    def watch_nodes(self) -> None:
        """Watch new nodes from now on."""
        self._start(NodeWatch)

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

    def _start(self, kind: type[Watcher]) -> None:
        if kind not in self._watchers:
            watcher = self._watchers[kind] = self._makers[kind]()
            watcher.start()

    def _late_of(self, name: str) -> Late:
        """Labels and taints to add to the group's nodes after Karpenter has created them."""
        template, autoscaler = self._groups.template(name), self._autoscaler
        if template is None or autoscaler is None:
            return Late()
        return late(template, autoscaler.types.name(template.group.machine))
