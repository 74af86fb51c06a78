"""The node groups of the account as an autoscaler's observer needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.resources import scaling_group
from rehearsal.providers.eks.resources.network import SUBNET, subnets
from rehearsal.providers.eks.resources.nodes import disk_gb, node_group
from rehearsal.providers.store import Record
from rehearsal.providers.values import at
from rehearsal.simulation import SimulatedNodeGroup

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
DELETING = "DELETING"
"""The status of a group whose deletion has begun."""


@dataclass(frozen=True)
class DeclaredGroup:
    """One managed node group. ``base`` has its machines as their nodes really are, and is not autoscaled.

    ``labels`` and ``taints`` are what DescribeNodegroup reports (taints with EKS's effects, ``NO_SCHEDULE``);
    ``nodegroup_tags`` are the group's own tags, which its Auto Scaling group ``asg_name`` does not get. ``leaving``:
    it is being deleted, and nobody may tell the fleet about it any more.
    """

    cluster: str
    name: str
    asg_name: str
    base: SimulatedNodeGroup
    min_size: int
    max_size: int
    desired: int
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    nodegroup_tags: Mapping[str, str]
    leaving: bool = False


class NodeGroups:
    """Every node group that exists; what is known of them is in the account's store and outlives the process."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._callbacks: list[Callable[[], None]] = []

    def list(self) -> list[DeclaredGroup]:
        """The groups as they are now, oldest first. ``desired`` is the Auto Scaling group's."""
        groups: list[DeclaredGroup] = []
        with self._account.store.held():
            records = self._account.store.all(NODE_GROUP)
            for region in dict.fromkeys(record.outputs["region"] for record in records):
                here = {asg_name(each): each for each in records if each.outputs["region"] == region}
                there = replace(self._account, region=region)
                for name, group in scaling_group.describe_all(there, list(here)).items():
                    groups.append(declared_group(there, here[name], group))
        return groups

    def is_leaving(self, cluster: str, name: str) -> bool:
        """Whether the group's deletion has begun, or it is gone."""
        record = self._account.store.get(NODE_GROUP, f"{cluster}:{name}")
        return record is None or record.outputs.get("status") == DELETING

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called after a group, its Auto Scaling tags or an identity changed; it must not block."""
        self._callbacks.append(callback)

    def changed(self) -> None:
        """Tell every subscriber."""
        for callback in list(self._callbacks):
            callback()


def declared_group(account: Account, record: Record, group: Mapping[str, Any]) -> DeclaredGroup:
    """A node group as it is now; ``group`` is its Auto Scaling group as AWS describes it."""
    inputs = record.inputs
    desired = int(group["DesiredCapacity"])
    template = scaling_group.template_of(account, inputs)
    image = scaling_group.image_id(inputs)
    template_reference = inputs.get("launchTemplate")
    data = scaling_group.template(account, template_reference)["LaunchTemplateData"] if template_reference else {}
    return DeclaredGroup(
        cluster=inputs["clusterName"],
        name=inputs["nodeGroupName"],
        asg_name=group["AutoScalingGroupName"],
        base=replace(
            node_group(account, inputs, zones_of(account, inputs), image, desired, template, disk_gb(inputs, data)),
            reservation=at(data, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId")
            or "",
        ),
        min_size=int(group["MinSize"]),
        max_size=int(group["MaxSize"]),
        desired=desired,
        labels=dict(inputs.get("labels") or {}),
        taints=tuple(inputs.get("taints") or ()),
        nodegroup_tags=dict(inputs.get("tags") or {}),
        leaving=record.outputs.get("status") == DELETING,
    )


def asg_name(record: Record) -> str:
    """The Auto Scaling group of a recorded node group."""
    return str(record.outputs["resources"][0]["autoscalingGroups"][0]["name"])


def zones_of(account: Account, inputs: Properties) -> tuple[str, ...]:
    """The zones of a group's subnets."""
    known = [account.store.get(SUBNET, id) for id in inputs["subnetIds"]]
    # A subnet never moves, so there is no need to ask for those that were made here.
    if all(known):
        return tuple(sorted({record.outputs["availabilityZone"] for record in known if record}))
    return zones_in(subnets(account, inputs["subnetIds"]))


def zones_in(described: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The zones of subnets that AWS described."""
    return tuple(sorted({subnet["AvailabilityZone"] for subnet in described}))
