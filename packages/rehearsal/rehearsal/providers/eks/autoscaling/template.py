"""cluster-autoscaler's template of a node for an empty group: from the group's tags, not from its nodes.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/aws_manager.go
(``buildNodeFromTemplate``): the instance type's size, then tags of the Auto Scaling group, then what EKS's
DescribeNodegroup says of a managed node group, which is asked only as long as the group has never had a node
(https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md).

Where the rehearsal is stricter: a running autoscaler also remembers the last node it saw of a group, until it
restarts. Here only what is declared counts, so that a pool does not depend on that memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from rehearsal.simulation import SimulatedNodeGroup

PREFIX: Final = "k8s.io/cluster-autoscaler/node-template/"
GPU: Final = "nvidia.com/gpu"
_TAINT: Final = re.compile(r"(?P<value>[^:]*):(?P<effect>NoSchedule|NoExecute|PreferNoSchedule)")
_EKS_EFFECTS: Final = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
_OWNER_TAGS: Final = ("eks:cluster-name", "eks:nodegroup-name")
"""By these tags the autoscaler knows a managed node group."""

# What the autoscaler derives by itself from the instance type and the first zone.
_GENERIC: Final = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.ebs.csi.aws.com/zone",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)


@dataclass(frozen=True)
class ObservedNode:
    """What DescribeNodegroup answers: labels, taints with EKS's effects, and the node group's own tags."""

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TemplateNodeInfo:
    """Labels, taints (Kubernetes's effects) and GPUs of the node that the autoscaler plans with, and whether it knows
    of a disk, which no instance type tells (https://github.com/kubernetes/autoscaler/issues/1869)."""

    labels: Mapping[str, str]
    taints: frozenset[tuple[str, str, str]]
    gpus: int
    disk: bool = False


def template(gpus: int, tags: Mapping[str, str], described: ObservedNode | None) -> TemplateNodeInfo:
    """The template of a group of machines with ``gpus`` GPUs whose Auto Scaling group has ``tags``.

    ``described`` is ``None`` where DescribeNodegroup is not asked, or not allowed. Labels and resources of it win
    over the tags; its taints come in addition.
    """
    labels = _below(tags, "label/")
    taints = {parsed for key, value in _below(tags, "taint/").items() if (parsed := _taint(key, value))}
    resources = _below(tags, "resources/")
    if described is not None and all(tag in tags for tag in _OWNER_TAGS):
        labels |= described.labels
        taints |= {_identity(each) for each in described.taints}
        resources |= _below(described.tags, "resources/")
    counted = resources.get(GPU, "")
    known = "ephemeral-storage" in resources
    return TemplateNodeInfo(labels, frozenset(taints), int(counted) if counted.isdigit() else gpus, known)


def observed_node(base: SimulatedNodeGroup, node_info: TemplateNodeInfo, zones: tuple[str, ...]) -> SimulatedNodeGroup:
    """The group as the autoscaler plans with it while it is empty; ``base`` is what its nodes really are.

    Of several ``zones`` the autoscaler takes the first. Nodes below a minimum are spread over all of them anyway, so
    a group with a minimum keeps its zones.
    """
    known = {key for key, value in base.labels.items() if key in _GENERIC or node_info.labels.get(key) == value}
    planned = tuple(taint for taint in base.taints if _identity(taint) in node_info.taints)
    return replace(
        base,
        zones=base.zones if base.min_nodes else zones[:1],
        machine=replace(base.machine, gpus=node_info.gpus, disk_mib=base.machine.disk_mib if node_info.disk else 0),
        offered_gpus=base.machine.gpus
        if base.offered_gpus is None and node_info.gpus != base.machine.gpus
        else base.offered_gpus,
        labels={key: value for key, value in base.labels.items() if key in known},
        late_labels={key: value for key, value in base.labels.items() if key not in known},
        taints=planned,
        late_taints=tuple(taint for taint in base.taints if taint not in planned),
    )


def _below(tags: Mapping[str, str], kind: str) -> dict[str, str]:
    prefix = PREFIX + kind
    return {key.removeprefix(prefix): value for key, value in tags.items() if key.startswith(prefix) and key != prefix}


def _taint(key: str, text: str) -> tuple[str, str, str] | None:
    """A taint tag's value is ``<value>:<effect>``; the autoscaler passes over any other."""
    match = _TAINT.fullmatch(text)
    return (key, match["value"], match["effect"]) if match else None


def _identity(taint: Mapping[str, str]) -> tuple[str, str, str]:
    effect = taint["effect"]
    return taint["key"], taint.get("value") or "", _EKS_EFFECTS.get(effect, effect)
