"""A real cluster-autoscaler as a child process, for the groups of a cluster: ``CLUSTER_AUTOSCALER`` names the program.

It must be built with the provider ``externalgrpc``, as releases are. Its times are compressed, a minute to a second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import yaml

from facts.concepts.rest import resource_path
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.processes import Child, ProcessError
from rehearsal.fleet.external_grpc import NodeGroupServer, new_node, served_groups
from rehearsal.fleet.groups import Groups
from rehearsal.fleet.nodes import NodeTemplate

_VARIABLE: Final = "CLUSTER_AUTOSCALER"
_NAMESPACE: Final = "kube-node-lease"
"""Of its ConfigMap: always there, and not where a stack deploys an autoscaler of its own."""

_PRIORITIES: Final = "cluster-autoscaler-priority-expander"
"""https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md"""

_FLAGS: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))


def program() -> Path | None:
    """The cluster-autoscaler that the environment names, if any. Raises ProcessError: it is not a program."""
    path = os.environ.get(_VARIABLE)
    if path and not os.access(path, os.X_OK):
        raise ProcessError(f"{_VARIABLE}={path} is not a program: name a built cluster-autoscaler, or leave it out")
    return Path(path).absolute() if path else None


class ClusterAutoscalerProcess:
    """Starts the program with the first group; later groups are served to it in its next loop."""

    def __init__(self, control_plane: ControlPlane, path: Path, folder: Path, groups: Groups) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._control_plane = control_plane
        self._path = path
        self._config = folder / "cloud-config.yaml"
        self._groups = groups
        self._server = NodeGroupServer(control_plane.api, groups)
        self._child: Child | None = None

    def scale(self, template: NodeTemplate, order: Mapping[str, int], *, new: bool) -> int:
        """Have the group scaled, after those with a higher place in ``order``; returns how many nodes above its minimum
        a new group starts with."""
        api, group = self._control_plane.api, template.group
        patterns: dict[int, list[str]] = {}
        for id, served in served_groups(self._groups.templates()).items():
            patterns.setdefault(order[served.group.name], []).append(f"^{re.escape(id)}$")
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _PRIORITIES}}
        path = resource_path("v1", "configmaps", _PRIORITIES, _NAMESPACE)
        api.apply(path, {**config, "data": {"priorities": yaml.safe_dump(patterns)}})
        if self._child is None:
            self._start(template)
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
        if self._child is not None:
            self._child.check()

    wait = check
    """It reads the groups in each of its loops, so nothing is to be awaited."""

    def close(self) -> None:
        """Stop it."""
        if self._child is not None:
            self._control_plane.processes.stop(self._child, grace=1.0)
            self._child = None
        self._server.close()

    def _start(self, template: NodeTemplate) -> None:
        self._config.write_text(yaml.safe_dump({"address": f"127.0.0.1:{self._server.port}", "grpc_timeout": "60s"}))
        packing = template.group.packing
        values = {
            "config": self._config,
            "kubeconfig": self._control_plane.kubeconfig_for("autoscaler"),
            "namespace": _NAMESPACE,
            "system": str(packing is not None and not packing.moves_system_pods).lower(),
            "local": str(packing is not None and not packing.moves_local_storage).lower(),
        }
        command = [self._path, *(flag.format_map(values) for flag in _FLAGS)]
        self._child = self._control_plane.processes.start("cluster-autoscaler", command)
