"""Where pods of a cluster may run, from its node groups and objects alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rehearsal.fleet.drivers import missing
from rehearsal.fleet.pod_placement import refusal
from rehearsal.simulation import SimulatedNodeGroup

Object = dict[str, Any]


def misplaced(
    groups: Iterable[SimulatedNodeGroup], deployments: Iterable[Object], daemon_sets: Iterable[Object]
) -> str:
    """The first problem; empty if there is none. Checks of a rehearsal report it: ``system-pods-run``,
    ``system-pods-off-gpu`` or ``reached``."""
    nodes = [(group, _node(group)) for group in groups]
    lasting = [node for group, node in nodes if sum(group.permanent().values())]
    for deployment in deployments:
        name, spec = deployment["metadata"]["name"], deployment["spec"]["template"]["spec"]
        reasons = [refusal(spec, node) for node in lasting]
        if all(reasons):
            return f"system-pods-run: {name} never runs: it {reasons[0] if reasons else 'has no node'}"
        held = next((group.name for group, node in nodes if group.gpus and not refusal(spec, node)), "")
        if held:
            return f"system-pods-off-gpu: {name} may run on a GPU node of {held}"
    for group, node in nodes:
        if group.gpus and (reason := missing(node, group.gpus_advertised_by, daemon_sets)):
            return f"reached:{group.name}: {reason}"
    return ""


def _node(group: SimulatedNodeGroup) -> dict[str, Any]:
    return {
        "metadata": {"labels": {**group.nodes.labels, **group.late_labels}},
        "spec": {"taints": [taint.manifest for taint in (*group.nodes.taints, *group.late_taints)]},
    }
