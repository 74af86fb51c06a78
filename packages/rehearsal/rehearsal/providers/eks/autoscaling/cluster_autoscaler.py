"""Whether a deployed cluster-autoscaler would scale a managed node group, and what it knows about its nodes.

Of several groups that fit, only the priority expander has a predictable order. ``least-waste``, ``most-pods``,
``least-nodes`` and ``random`` decide by the pods at hand or by chance: there the fleet's own order, the cheapest first,
stands in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import yaml

from facts.concepts.iam import AuthorizationRequest, resource_tags
from rehearsal.providers.eks.authorization.identity import Role
from rehearsal.providers.eks.autoscaling.discovery import Installation, find, why_idle
from rehearsal.providers.eks.autoscaling.flags import Flags, command_line, parse
from rehearsal.providers.eks.autoscaling.template import ObservedNode, observed_node, template
from rehearsal.providers.eks.resources.groups import DeclaredGroup
from rehearsal.simulation import SimulatedNodeGroup

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
class AutoScalingGroup:
    """An Auto Scaling group: ``arn``, sizes, zones in AWS's order, tags."""

    arn: str
    min_size: int
    max_size: int
    zones: tuple[str, ...]
    tags: Mapping[str, str] = field(default_factory=dict)


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


def evaluate(
    snapshot: ClusterSnapshot, group: DeclaredGroup, asg: AutoScalingGroup, had_nodes: Callable[[], bool]
) -> SimulatedNodeGroup:
    """The group for the fleet: autoscaled with the autoscaler's view of it, or not autoscaled, with the reason.

    ``had_nodes`` says whether the group has ever had a node; it is asked only where that makes a difference. A group
    whose minimum is its maximum needs no autoscaler: nothing is missing there, and nothing would change.
    """
    if asg.min_size == asg.max_size:
        return _still(group, "")
    flags = _flags(snapshot)
    if isinstance(flags, str):
        return _still(group, flags)
    scope = find(flags, group.asg_name, asg.tags, asg.min_size, asg.max_size)
    if isinstance(scope, str):
        return _still(group, scope)
    assert isinstance(snapshot.role, Role)
    calls = [AuthorizationRequest(action, asg.arn, _context(snapshot, asg)) for action in WRITES]
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
    by_tags = observed_node(base, template(gpus, asg.tags, None), asg.zones)
    if not _may_describe(snapshot, snapshot.role, group):
        return by_tags
    described = ObservedNode(group.labels, group.taints, group.nodegroup_tags)
    by_both = observed_node(base, template(gpus, asg.tags, described), asg.zones)
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


def _context(snapshot: ClusterSnapshot, asg: AutoScalingGroup) -> dict[str, str]:
    return {**snapshot.context, **resource_tags(asg.tags, "autoscaling")}


def _still(group: DeclaredGroup, because: str) -> SimulatedNodeGroup:
    return replace(group.base, autoscaled=False, not_scaled_because=because)
