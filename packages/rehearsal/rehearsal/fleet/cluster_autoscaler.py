"""A real cluster-autoscaler as a child process, for the groups of a cluster: ``CLUSTER_AUTOSCALER`` names the program.

Its times are compressed, a minute to a second.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import yaml

from facts.concepts import durations
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Object
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.processes import Child
from rehearsal.fleet.external_grpc import ONLY_EMPTY, NodeGroupServer, new_node, served_groups
from rehearsal.fleet.groups import Groups
from rehearsal.fleet.nodes import GROUP_LABEL, NodeTemplate
from rehearsal.simulation import SimulatedNodeGroup
from rehearsal.tools.own_autoscaler import NAME, AutoscalerProgram

_NAMESPACE: Final = "kube-node-lease"
"""Of its ConfigMap: always there, and not where a stack deploys an autoscaler of its own."""

_PRIORITIES: Final = "cluster-autoscaler-priority-expander"
"""https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md"""

_TABLE: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_COMPRESSED: Final = frozenset(_TABLE["compressed"].split())
_LEFT_OUT: Final = frozenset(_TABLE["left_out"].split())
_DEFAULT_UNNEEDED: Final = 10
"""``--scale-down-unneeded-time``, in minutes."""

_OPTIONS_BY_GROUP: Final = (1, 34)
"""Later releases take a missing ``MaxNodeStartupTime`` of a group's options for zero, and every new node for unready:
https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/cloudprovider/externalgrpc/externalgrpc_node_group.go"""


def flags(group: SimulatedNodeGroup) -> Iterator[str]:
    """What the group's cloud and its stack tell the autoscaler, without what is about the place where it runs."""
    packing, minutes = group.packing, group.scaling.unneeded_minutes
    values = {
        "unneeded": _DEFAULT_UNNEEDED if minutes is None else minutes,
        "gpus_below": ONLY_EMPTY if packing is None else packing.gpus_below,
        "others_below": 0.5 if packing is None else packing.others_below,
        "daemon_sets": str(packing is not None and packing.ignores_daemon_sets).lower(),
        "system": str(packing is not None and not packing.moves_system_pods).lower(),
        "local": str(packing is not None and not packing.moves_local_storage).lower(),
    }
    yield from (flag.format_map(values) for flag in _TABLE["groups"])
    for flag in group.autoscaler_flags:
        name, _, value = flag.removeprefix("--").partition("=")
        seconds = durations.seconds(value) if name in _COMPRESSED else None
        if name not in _LEFT_OUT:
            # A minute of the cloud's is a second here.
            yield flag if seconds is None else f"--{name}={seconds / 60:g}s"
    if not any(flag.startswith("--balancing-label=") for flag in group.autoscaler_flags):
        # No cloud's nodes have it.
        yield f"--balancing-ignore-label={GROUP_LABEL}"


class ClusterAutoscalerProcess:
    """Starts the program with the first group; later groups are served to it in its next loop.

    Its flags are those of the first group, the same for all groups of most clouds; others start it again.
    """

    def __init__(self, control_plane: ControlPlane, program: AutoscalerProgram, folder: Path, groups: Groups) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._control_plane = control_plane
        self._program = program
        self._config = folder / "cloud-config.yaml"
        self._groups = groups
        options_by_group = program.release <= _OPTIONS_BY_GROUP
        self._server = NodeGroupServer(control_plane.api, groups, options_by_group=options_by_group)
        self._child: Child | None = None
        self._flags: Sequence[str] = ()

    def scale(self, template: NodeTemplate, order: Mapping[str, int], *, new: bool) -> int:
        """Have the group scaled, after those with a higher place in ``order``; returns how many nodes above its minimum
        a new group starts with."""
        api, group = self._control_plane.api, template.group
        patterns: dict[int, list[str]] = {}
        served = served_groups(self._groups.templates())
        for id, each in served.items():
            patterns.setdefault(order[each.group.name], []).append(f"^{re.escape(id)}$")
        config: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _PRIORITIES}}
        path = resource_path("v1", "configmaps", _PRIORITIES, _NAMESPACE)
        api.apply(path, {**config, "data": {"priorities": yaml.safe_dump(patterns)}})
        first = next(iter(served.values())).group
        if (needed := (*flags(first),)) != self._flags:
            self._stop()
            self._start(needed)
        permanent = group.permanent()
        zones = [zone for zone in group.nodes.zones for _ in range(group.initial_nodes - permanent[zone]) if new]
        for zone in zones:
            api.create("/api/v1/nodes", new_node(template, zone))
        return len(zones)

    def exhaust(self, pools: Collection[str]) -> None:
        """Have no machine for exactly these pools."""
        self._server.exhaust(pools)

    def check(self) -> None:
        """Raise if it has ended."""
        if (child := self._child) is not None:
            child.check()

    wait = check
    """It reads the groups in each of its loops, so nothing is to be awaited."""

    def close(self) -> None:
        """Stop it."""
        self._stop()
        self._server.close()

    def _start(self, flags: Sequence[str]) -> None:
        self._config.write_text(yaml.safe_dump({"address": f"127.0.0.1:{self._server.port}", "grpc_timeout": "60s"}))
        values = {
            "config": self._config,
            "kubeconfig": self._control_plane.kubeconfig_for("autoscaler"),
            "namespace": _NAMESPACE,
        }
        command = [self._program.path, *flags, *(flag.format_map(values) for flag in _TABLE["sandbox"])]
        self._flags = flags
        self._child = self._control_plane.processes.start(NAME, command)

    def _stop(self) -> None:
        # No longer checked from here on: its end is no failure.
        child, self._child = self._child, None
        if child is not None:
            self._control_plane.processes.stop(child, grace=1.0)
