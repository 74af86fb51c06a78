"""The scenario for node groups as they are declared, in any program: one pod for each GPU pool.

A ``NodeGroup`` is what the gate's readers see, in any program; ``as_node_group`` makes one of a pool of settings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from facts.concepts.counts import counted
from facts.concepts.declared import NodeGroup
from facts.concepts.kubernetes import Taint, tolerations
from rehearsal.cluster.api import Object
from rehearsal.scenario.plan import gpu_pod
from rehearsal.scenario.timeline import NodeRecord

_OF_POOL: Final = (
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
)
"""Labels with the pool's name that each cloud, or Karpenter, sets on nodes."""


def gpu_groups(groups: Iterable[NodeGroup]) -> list[NodeGroup]:
    """The groups with GPUs, each once, in the order of their names; two of different clusters may have one name."""
    with_gpus: list[NodeGroup] = []
    for group in groups:
        if isinstance(group.gpus.per_node, int) and group.gpus.per_node and group not in with_gpus:
            with_gpus.append(group)
    return sorted(with_gpus, key=lambda group: group.name)


def title(group: NodeGroup, groups: Iterable[NodeGroup]) -> str:
    """What the report calls one of the ``groups``: with its resource, where another has its name."""
    shared = sum(each.name == group.name for each in groups) > 1
    return f"pool {group.name} ({group.resource.rpartition('::')[2]})" if shared else f"pool {group.name}"


def without_scenario(group: NodeGroup, rehearsed: Collection[str] = ()) -> str:
    """Why no pod is submitted for a group, after groups of the names ``rehearsed``; empty if one is."""
    if group.name in rehearsed:
        return "another pool has its name, so their nodes look the same"
    if group.kind != "pool":
        return f"its nodes are {group.kind}, not a pool"
    if not isinstance(group.scaling.autoscaled, bool):
        return "whether it is autoscaled cannot be read from the program"
    if not group.scaling.autoscaled:
        return "it has a fixed number of nodes"
    if not isinstance(group.nodes.taints, tuple):
        return "its taints cannot be read from the program"
    return "its maximum is 0" if group.scaling.max_nodes == 0 else ""


def scales_to_zero(group: NodeGroup) -> bool:
    """Whether its last node goes when no pod needs it."""
    return group.scaling.min_nodes == 0 and group.for_system_pods is not True


def pod_for(group: NodeGroup, name: str) -> Object:
    """A pod that requests all GPUs of one node of the group, tolerates its taints and selects it by its labels."""
    assert isinstance(group.gpus.per_node, int)
    assert isinstance(group.nodes.taints, tuple)
    pod = gpu_pod(name, group.gpus.per_node, tolerations=tolerations(_exact(group.nodes.taints)))
    labels = group.nodes.labels if isinstance(group.nodes.labels, Mapping) else {}
    known = {key: value for key, value in labels.items() if isinstance(value, str)}
    own = {key: value for key, value in known.items() if key in _OF_POOL}
    declared = {key: value for key, value in known.items() if not _by_cloud(key, group.cloud_label_domains)}
    pod["spec"]["nodeSelector"] = dict([*own.items()][:1]) or declared
    return pod


def belongs(node: NodeRecord, group: NodeGroup) -> bool:
    """Whether a node is one of the group's."""
    return any(node.labels.get(key) == group.name for key in _OF_POOL)


def no_pools(groups: Iterable[NodeGroup], resources: int) -> str:
    """What is reported when the program declares no GPU pool that the readers know."""
    others = [group.name for group in groups if group.gpus.per_node == 0]
    unknown = [group.name for group in groups if not isinstance(group.gpus.per_node, int)]
    text = f"none in {counted(resources, 'resource')}"
    if others:
        text += f"; without GPUs: {', '.join(others)}"
    if unknown:
        text += f"; GPUs cannot be read: {', '.join(unknown)}"
    return f"{text}. docs/gating-your-own-program.md lists what is read"


def _exact(taints: Iterable[Taint]) -> list[Taint]:
    return [taint for taint in taints if taint.effect != "PreferNoSchedule"]


def _by_cloud(label: str, domains: Iterable[str]) -> bool:
    domain = label.partition("/")[0] if "/" in label else ""
    return any(domain == each or domain.endswith(f".{each}") for each in domains)
