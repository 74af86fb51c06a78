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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from facts.concepts.iam import resource_tags
from rehearsal.providers.eks.authorization.callers import Caller, Right
from rehearsal.providers.eks.authorization.evaluation import refusal
from rehearsal.providers.eks.authorization.identity import Role
from rehearsal.providers.eks.autoscaling.discovery import Flags, Installation, command_line, parse, why_idle, why_unseen
from rehearsal.providers.eks.resources.groups import DeclaredGroup
from rehearsal.providers.priority_expander import Priorities, rank
from rehearsal.simulation import SimulatedNodeGroup

PREFIX: Final = "k8s.io/cluster-autoscaler/node-template/"
GPU: Final = "nvidia.com/gpu"
EFA: Final = "vpc.amazonaws.com/efa"
_TAINT: Final = re.compile(r"(?P<value>[^:]*):(?P<effect>NoSchedule|NoExecute|PreferNoSchedule)")
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


def observed_group(group: DeclaredGroup, *, described: bool) -> SimulatedNodeGroup:
    """The group as the autoscaler plans with it while it is empty; ``group.base`` is what its nodes really are.

    ``described`` says whether DescribeNodegroup is asked, and allowed. Its labels and resources win over the tags, its
    taints come in addition. Of several zones the autoscaler takes the first, in AWS's order. Nodes below a minimum are
    spread over all of them anyway, so a group with a minimum keeps its zones. No instance type tells of a disk:
    https://github.com/kubernetes/autoscaler/issues/1869
    """
    base, tags = group.base, group.asg_tags
    described = described and all(tag in tags for tag in _OWNER_TAGS)
    labels = {**_below(tags, "label/"), **(group.labels if described else {})}
    tagged = {(key, match["value"], match["effect"]) for key, match in _matched(_below(tags, "taint/"))}
    resources = {**_below(tags, "resources/"), **(_below(group.nodegroup_tags, "resources/") if described else {})}
    counted = resources.get(GPU, "")
    gpus = int(counted) if counted.isdigit() else base.machine.gpus
    # A group that always has nodes is planned with after them.
    known_disk = resources.get("ephemeral-storage") or base.min_nodes
    known = {key for key, value in base.labels.items() if key in _GENERIC or labels.get(key) == value}
    planned = tuple(
        each for each in base.taints if described or (each["key"], each.get("value") or "", each["effect"]) in tagged
    )
    return replace(
        base,
        zones=base.zones if base.min_nodes else group.asg_zones[:1],
        # No instance type tells of EFA's devices.
        machine=replace(
            base.machine,
            gpus=gpus,
            disk_mib=base.machine.disk_mib if known_disk else 0,
            efa=int(resources.get(EFA, 0)),
        ),
        offered_gpus=base.machine.gpus
        if base.offered_gpus is None and gpus != base.machine.gpus
        else base.offered_gpus,
        labels={key: value for key, value in base.labels.items() if key in known},
        late_labels={key: value for key, value in base.labels.items() if key not in known},
        taints=planned,
        late_taints=tuple(taint for taint in base.taints if taint not in planned),
    )


def _below(tags: Mapping[str, str], kind: str) -> dict[str, str]:
    prefix = PREFIX + kind
    return {key.removeprefix(prefix): value for key, value in tags.items() if key.startswith(prefix) and key != prefix}


def _matched(taints: Mapping[str, str]) -> Iterable[tuple[str, re.Match[str]]]:
    """A taint tag's value is ``<value>:<effect>``; the autoscaler passes over any other."""
    return ((key, match) for key, text in taints.items() if (match := _TAINT.fullmatch(text)))


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

    def lacks(self, *actions: str, on: str = "*", **context: str) -> str:
        """Why the autoscaler may not do all of ``actions``, in AWS's words; ``""`` if it may."""
        assert isinstance(self.role, Role)
        rights = [Right(action, on, {**self.context, **context}) for action in actions]
        return refusal(Caller(self.role.arn, self.role.arn), self.role, rights)


def evaluate(snapshot: ClusterSnapshot, group: DeclaredGroup, had_nodes: Callable[[], bool]) -> SimulatedNodeGroup:
    """The group for the fleet: autoscaled with the autoscaler's view of it, or not autoscaled, with the reason.

    ``had_nodes`` says whether the group has ever had a node; it is asked only where that makes a difference. A group
    whose minimum is its maximum needs no autoscaler: nothing is missing there, and nothing would change.
    """
    flags = "" if group.min_size == group.max_size else _flags(snapshot)
    if isinstance(flags, str):
        return replace(group.base, autoscaled=False, not_scaled_because=flags)
    tags = resource_tags(group.asg_tags, "autoscaling")
    problem = why_unseen(flags, group.asg_name, group.asg_tags) or snapshot.lacks(*WRITES, on=group.asg_arn, **tags)
    if problem:
        return replace(group.base, autoscaled=False, not_scaled_because=problem)
    place = None
    if flags.ordered and not isinstance(snapshot.priorities, str):
        place = rank(group.asg_name, snapshot.priorities)
        # A group that no expression matches is used only if no other fits.
        place = 1.0 if place is None else place
    scaled = replace(
        group.base,
        autoscaled=True,
        min_nodes=group.min_size,
        max_nodes=group.max_size,
        per_zone=False,
        rank=place,
        not_scaled_because="",
    )
    group = replace(group, base=scaled)
    by_tags = observed_group(group, described=False)
    if not _may_describe(snapshot, group):
        return by_tags
    by_both = observed_group(group, described=True)
    return by_tags if by_both == by_tags or had_nodes() else by_both


def _flags(snapshot: ClusterSnapshot) -> Flags | str:
    """The autoscaler's flags, or the reason why it scales no group."""
    idle = why_idle(snapshot.installation)
    if idle or isinstance(snapshot.role, str):
        return idle or str(snapshot.role)
    assert snapshot.installation is not None
    flags = parse(command_line(snapshot.installation.container))
    problem = snapshot.priorities if flags.ordered and isinstance(snapshot.priorities, str) else ""
    return snapshot.lacks(*READS) or problem or flags


def _may_describe(snapshot: ClusterSnapshot, group: DeclaredGroup) -> bool:
    # A managed node group's ARN ends in the id that its Auto Scaling group's name ends in.
    place = group.asg_arn.partition(":autoScalingGroup:")[0].replace(":autoscaling:", ":eks:")
    own = group.asg_name.removeprefix(f"eks-{group.base.name}-")
    arn = f"{place}:nodegroup/{group.base.cluster}/{group.base.name}/{own}"
    return not snapshot.lacks("eks:DescribeNodegroup", on=arn, **resource_tags(group.nodegroup_tags))
