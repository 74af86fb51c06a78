"""Whether a deployed cluster-autoscaler would scale a managed node group, and what it knows about its nodes.

Of several groups that fit, only the priority expander has a predictable order. ``least-waste``, ``most-pods``,
``least-nodes`` and ``random`` decide by the pods at hand or by chance: there the fleet's own order, the cheapest first,
stands in.

Its template of a node for an empty group comes from the group's tags, not from its nodes:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/aws_manager.go
(``buildNodeFromTemplate``): the instance type's size, then tags of the Auto Scaling group, then what EKS's
DescribeNodegroup says of a managed node group, which is asked only as long as the group has never had a node
(https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md).
Where the rehearsal is stricter: a running autoscaler also remembers the last node it saw of a group, until it
restarts. Here only what is declared counts, so that a pool does not depend on that memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from facts.concepts.iam import AuthorizationRequest, resource_tags
from rehearsal.providers.eks.authorization.identity import Role
from rehearsal.providers.eks.autoscaling.discovery import Flags, Installation, command_line, find, parse, why_idle
from rehearsal.providers.eks.resources.groups import DeclaredGroup
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


CONFIG_MAP: Final = "cluster-autoscaler-priority-expander"
_KEY: Final = "priorities"
_ORDERED: Final = "priority"

Priorities = Mapping[int, Sequence[re.Pattern[str]]]


# Permissions to read and to write; without one of them the autoscaler finds no group or changes nothing:
# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md#iam-policy
READS: Final = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
)
WRITES: Final = ("autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup")
_DESCRIBES: Final = "eks:DescribeNodegroup"


def priorities(config_maps: Iterable[Mapping[str, Any]], namespace: str) -> Priorities | str:
    """The priorities in the autoscaler's namespace, or why there are none.

    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md
    """
    where = f"ConfigMap {namespace}/{CONFIG_MAP}"
    config_map = next((each for each in config_maps if _place(each) == (namespace, CONFIG_MAP)), None)
    if config_map is None:
        return f"{where} does not exist: the priority expander scales nothing; create it, or choose another --expander"
    text = (config_map.get("data") or {}).get(_KEY)
    try:
        raw = yaml.safe_load(text or "")
        return {int(number): [re.compile(str(regex)) for regex in regexes] for number, regexes in raw.items()}
    except (yaml.YAMLError, re.error, AttributeError, TypeError, ValueError) as error:
        return f"{where}, key {_KEY}: not a map from numbers to lists of regular expressions ({error}); mend it"


def ordered(expanders: Sequence[str]) -> bool:
    """Whether the first of the ``--expander``s is the priority expander."""
    return expanders[0] == _ORDERED


def rank(asg: str, group_priorities: Priorities) -> float:
    """The place of a group in the fleet's order, smaller first: its highest priority, negated.

    A group that no expression matches is used only if no other fits.
    """
    numbers = [number for number, regexes in group_priorities.items() if any(regex.search(asg) for regex in regexes)]
    return -float(max(numbers)) if numbers else 1.0


def _place(config_map: Mapping[str, Any]) -> tuple[str, str]:
    return config_map["metadata"].get("namespace", ""), config_map["metadata"]["name"]


@dataclass(frozen=True)
class ClusterSnapshot:
    """The facts that the decision about every group needs.

    ``role`` is the autoscaler's, or why it has none. ``priorities`` are those of the priority expander's ConfigMap,
    or what is wrong with it. ``context`` are condition keys of every request (``aws:RequestedRegion`` …).
    """

    installation: Installation | None
    role: Role | str
    priorities: Priorities | str
    context: Mapping[str, str] = field(default_factory=dict)


def evaluate(snapshot: ClusterSnapshot, group: DeclaredGroup, had_nodes: Callable[[], bool]) -> SimulatedNodeGroup:
    """The group for the fleet: autoscaled with the autoscaler's view of it, or not autoscaled, with the reason.

    ``had_nodes`` says whether the group has ever had a node; it is asked only where that makes a difference. A group
    whose minimum is its maximum needs no autoscaler: nothing is missing there, and nothing would change.
    """
    if group.min_size == group.max_size:
        return _still(group, "")
    flags = _flags(snapshot)
    if isinstance(flags, str):
        return _still(group, flags)
    scope = find(flags, group.asg_name, group.asg_tags, group.min_size, group.max_size)
    if isinstance(scope, str):
        return _still(group, scope)
    assert isinstance(snapshot.role, Role)
    context = {**snapshot.context, **resource_tags(group.asg_tags, "autoscaling")}
    calls = [AuthorizationRequest(action, group.asg_arn, context) for action in WRITES]
    refused = snapshot.role.missing(calls)
    if refused:
        return _still(group, refused)
    place = None
    if ordered(flags.expanders) and not isinstance(snapshot.priorities, str):
        place = rank(group.asg_name, snapshot.priorities)
    base = replace(
        group.base,
        autoscaled=True,
        min_nodes=scope.minimum,
        max_nodes=scope.maximum,
        per_zone=False,
        rank=place,
        not_scaled_because="",
    )
    gpus = group.base.machine.gpus
    by_tags = observed_node(base, template(gpus, group.asg_tags, None), group.asg_zones)
    if not _may_describe(snapshot, snapshot.role, group):
        return by_tags
    described = ObservedNode(group.labels, group.taints, group.nodegroup_tags)
    by_both = observed_node(base, template(gpus, group.asg_tags, described), group.asg_zones)
    return by_tags if by_both == by_tags or had_nodes() else by_both


def _flags(snapshot: ClusterSnapshot) -> Flags | str:
    """The autoscaler's flags, or the reason why it scales no group."""
    idle = why_idle(snapshot.installation)
    if idle:
        return idle
    assert snapshot.installation is not None
    flags = parse(command_line(snapshot.installation.container))
    if isinstance(snapshot.role, str):
        return snapshot.role
    refused = snapshot.role.missing([AuthorizationRequest(action, "*", snapshot.context) for action in READS])
    if refused:
        return refused
    if ordered(flags.expanders) and isinstance(snapshot.priorities, str):
        return snapshot.priorities
    return flags


def _may_describe(snapshot: ClusterSnapshot, role: Role, group: DeclaredGroup) -> bool:
    # A managed node group's ARN ends in the id that its Auto Scaling group's name ends in.
    prefix = role.arn.replace(":iam::", f":eks:{snapshot.context.get('aws:RequestedRegion', '')}:").partition(":role/")[
        0
    ]
    own = group.asg_name.removeprefix(f"eks-{group.name}-")
    arn = f"{prefix}:nodegroup/{group.cluster}/{group.name}/{own}"
    tags = resource_tags(group.nodegroup_tags)
    return not role.missing([AuthorizationRequest(_DESCRIBES, arn, {**snapshot.context, **tags})])


def _still(group: DeclaredGroup, because: str) -> SimulatedNodeGroup:
    return replace(group.base, autoscaled=False, not_scaled_because=because)
