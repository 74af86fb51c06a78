"""The node groups that a cluster has already, as the autoscaler and earlier updates left them.

Two things of a group are not the program's to set back. Its size: the provider sends all three sizes whenever one of
them changes (``expandNodegroupScalingConfig`` in
https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/node_group.go), and a size that was
recorded long ago would end machines that work (https://www.pulumi.com/docs/iac/concepts/options/ignorechanges/). And
what its nodes run: EKS replaces every node of a group whose template or version changes, with the pods on it
(https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import pulumi

from components.clouds.data_lookup import data_lookup, look_up
from facts import catalog
from facts.catalog.eks import node_tags
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, RESOURCES
from facts.concepts.pool import ARCH_LABEL, KIND_LABELS, SHARES_KEY, SKYPILOT_LABEL

_NODE_GROUPS: Final = "aws:eks/getNodeGroups:getNodeGroups"
_NODE_GROUP: Final = "aws:eks/getNodeGroup:getNodeGroup"
_SCALING_GROUP: Final = "aws:autoscaling/getGroup:getGroup"
_NOT_THERE: Final = "ResourceNotFoundException"
"""https://docs.aws.amazon.com/eks/latest/APIReference/API_DescribeNodegroup.html"""

_OF_MACHINES: Final = frozenset(
    (*KIND_LABELS, ARCH_LABEL, SKYPILOT_LABEL, GPU_PRESENT_LABEL, catalog.of("eks").labels.gpu, *RESOURCES.values())
)
"""Labels and taints that say which machine a node is."""

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class RunningGroup:
    """An existing node group: its current desired number of ``nodes``, and their launch template.

    ``shares_change``: the update gives each GPU another number of shares.
    """

    nodes: int
    version: str
    template_version: str
    image_type: str
    machine_types: tuple[str, ...]
    capacity_type: str
    zones: frozenset[str]
    subnets: tuple[str, ...]
    role: str
    shares_change: bool = False

    def differences(self, target: Mapping[str, Any]) -> str:
        """What of ``target`` these nodes do not have yet, separated by commas; empty if nothing. A value that is not
        known yet (None) differs."""
        differing = {
            "machine types": self.machine_types != tuple(target["machine_types"]),
            "image": self.image_type != target["image_type"],
            "Kubernetes version": self.version != target["version"],
            "launch template (disk, reservation)": self.template_version != target["template_version"],
            "subnets": {*self.subnets} != {*(target["subnets"] or ())},
            "role": self.role != target["role"],
        }
        return ", ".join(what for what, differs in differing.items() if differs)


ENDED: Final = RunningGroup(
    nodes=0,
    version="",
    template_version="",
    image_type="",
    machine_types=(),
    capacity_type="",
    zones=frozenset(),
    subnets=(),
    role="",
)


class RunningGroups:
    """The node groups of the cluster called ``cluster_name``; none unless they ``exist``."""

    def __init__(self, cluster_name: str, parent: pulumi.Resource, *, exist: bool) -> None:
        self._cluster, self._parent = cluster_name, parent
        self._read: dict[str, pulumi.Output[RunningGroup]] = {}
        names = look_up(_NODE_GROUPS, {"clusterName": cluster_name}, parent)["names"] if exist else ()
        self._names = frozenset(names)

    def get(self, name: str, after: Sequence[pulumi.Resource]) -> pulumi.Output[RunningGroup] | None:
        """The group ``name``, read once: when all of the first caller's ``after`` is up to date. ``None`` if it does
        not exist."""
        if name not in self._names:
            return None
        if name not in self._read:
            arguments = {"clusterName": self._cluster, "nodeGroupName": name}
            answer = data_lookup(_NODE_GROUP, arguments, self._parent, after, _NOT_THERE)
            self._read[name] = answer.apply(lambda group: running_group(group, self._parent))
        return self._read[name]


def running_group(group: Mapping[str, Any], parent: pulumi.Resource) -> pulumi.Input[RunningGroup]:
    """The group of an answer; without nodes if that is empty, as after a cluster that this update replaced, or if EKS
    could not make it."""
    own = scaling_group(group)
    if own is None:
        return ENDED
    # EKS's own record of the size lags behind the autoscaler's changes:
    # https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html
    return data_lookup(_SCALING_GROUP, {"name": own}, parent).apply(lambda its: _running(group, its))


def scaling_group(group: Mapping[str, Any]) -> str | None:
    """The Auto Scaling group behind a node group; none before EKS has made it, and if that failed:
    ``flattenNodeGroupResources`` in
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/node_group.go."""
    named = (each["name"] for resource in group.get("resources") or () for each in resource["autoscalingGroups"] or ())
    return next(map(str, named), None)


def unless_replaced(
    group: pulumi.Output[RunningGroup], capacity_type: str, zones: Sequence[str]
) -> pulumi.Output[RunningGroup]:
    """``group``, but without nodes if another capacity type or zone replaces it: EKS makes groups of the cluster's own
    version only.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
    """
    same = (capacity_type, frozenset(zones))
    return group.apply(lambda its: its if (its.capacity_type, its.zones) == same else replace(its, nodes=0))


def as_deployed(group: RunningGroup, state: Mapping[str, Any]) -> RunningGroup:
    """``group``, but with what its nodes run as the stack's ``state`` has it; empty if it has none.

    The provider sends what differs from the state. After an update in the console that would be what the group has
    already, for which EKS takes the newest image and replaces the nodes again:
    https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateNodegroupVersion.html
    """
    if not state:
        return group
    template = state.get("launchTemplate") or {}
    return replace(
        group,
        version=str(state["version"]),
        template_version=str(template.get("version", "")),
        image_type=str(state["amiType"]),
        machine_types=tuple(state["instanceTypes"]),
        subnets=tuple(state["subnetIds"]),
        role=str(state["nodeRoleArn"]),
    )


def unless_running(
    group: pulumi.Output[RunningGroup] | None,
    running_value: Callable[[RunningGroup], Value],
    target: pulumi.Input[Value],
) -> pulumi.Input[Value]:
    """``target``, or ``running_value`` of a group that has nodes."""
    if group is None:
        return target
    # Without nodes only ``target`` is used, so that a preview does not wait for anything else.
    return group.apply(lambda running: running_value(running) if running.nodes else target)


def if_known(value: pulumi.Output[Value]) -> pulumi.Output[Value | None]:
    """``value``; None in a preview that does not know it, as it changes with this update."""
    return value.apply(lambda its: None if pulumi.contains_unknowns(its) else its, run_with_unknowns=True)


def of_running(
    group: RunningGroup, deployed: Sequence[Value], target: Sequence[Value], key: Callable[[Value], str]
) -> list[Value]:
    """Labels or taints: ``target``, but in a group with nodes those that describe machines as ``deployed``."""
    if not group.nodes or not deployed:
        return list(target)
    machines = [each for each in deployed if _describes_machines(key(each), group)]
    return [*machines, *(each for each in target if not _describes_machines(key(each), group))]


def tag_of_running(
    group: RunningGroup, deployed: Mapping[str, str], tag: str, target: str, machine_types: Sequence[str]
) -> str:
    """The same of a tag by which the autoscaler plans nodes: ``target`` is of ``machine_types``.

    An empty value, or 0, is none of it.
    """
    if not group.nodes or not deployed:
        return target
    if tag.startswith(node_tags.RESOURCE):
        resource = tag.removeprefix(node_tags.RESOURCE)
        if resource in ("cpu", "memory") and group.machine_types == tuple(machine_types):
            return target
        return deployed.get(tag, "0" if "/" in resource else target)
    if tag.startswith(node_tags.OPTIONS):
        return target or deployed[tag]
    key = tag.removeprefix(node_tags.LABEL).removeprefix(node_tags.TAINT)
    return deployed.get(tag, "") if _describes_machines(key, group) else target


def tags_that_stay(deployed: Mapping[str, str], target: Mapping[str, str]) -> list[str]:
    """The ``deployed`` tags that say what nodes are and offer, and are not in ``target``.

    An empty value is as good as no tag, so that those which have it by now can go. In
    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/aws_manager.go it is no
    quantity and no taint.
    """

    def stays(tag: str) -> bool:
        if tag.startswith((node_tags.LABEL, node_tags.TAINT)):
            return tag.removeprefix(node_tags.LABEL).removeprefix(node_tags.TAINT) in (*_OF_MACHINES, SHARES_KEY)
        return tag != node_tags.UNNEEDED

    return [tag for tag, value in deployed.items() if value and tag not in target and stays(tag)]


def _describes_machines(key: str, group: RunningGroup) -> bool:
    # A pool with the same shares as before gets or loses the taint by other pools, which have nodes with whole GPUs.
    return key in _OF_MACHINES or (key == SHARES_KEY and group.shares_change)


def _running(group: Mapping[str, Any], scaling_group: Mapping[str, Any]) -> RunningGroup:
    templates = group.get("launchTemplates") or [{}]
    return RunningGroup(
        nodes=int(scaling_group["desiredCapacity"]),
        version=str(group["version"]),
        template_version=str(templates[0].get("version", "")),
        image_type=str(group["amiType"]),
        machine_types=tuple(group["instanceTypes"]),
        capacity_type=str(group["capacityType"]),
        zones=frozenset(scaling_group["availabilityZones"]),
        subnets=tuple(group["subnetIds"]),
        role=str(group["nodeRoleArn"]),
    )
