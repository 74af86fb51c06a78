"""The node groups of the account as an autoscaler's observer needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rehearsal.providers.aws.account import Account
from rehearsal.simulation import NodeGroup

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
DELETING = "DELETING"
"""The status of a group whose deletion has begun."""


@dataclass(frozen=True)
class DeclaredGroup:
    """One managed node group. ``base`` is its machines with everything a node really has, and is not autoscaled.

    ``labels`` and ``taints`` are what DescribeNodegroup reports (taints with EKS's effects, ``NO_SCHEDULE``);
    ``nodegroup_tags`` are the group's own tags, which its Auto Scaling group ``asg_name`` does not get. ``leaving``:
    it is being deleted, and nobody may tell the fleet about it any more.
    """

    cluster: str
    name: str
    asg_name: str
    base: NodeGroup
    min_size: int
    max_size: int
    desired: int
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    nodegroup_tags: Mapping[str, str]
    leaving: bool = False


class Groups:
    """Every node group that exists; what is known of them is in the account's store and outlives the process."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._callbacks: list[Callable[[], None]] = []

    def list(self) -> list[DeclaredGroup]:
        """The groups as they are now, oldest first. ``desired`` is the Auto Scaling group's."""
        from rehearsal.providers.aws import node_group, scaling_group

        found: list[DeclaredGroup] = []
        with self._account.store.held():
            records = self._account.store.all(NODE_GROUP)
            for region in dict.fromkeys(record.outputs["region"] for record in records):
                here = {node_group.asg_name(each): each for each in records if each.outputs["region"] == region}
                there = replace(self._account, region=region)
                for name, group in scaling_group.describe_all(there, list(here)).items():
                    found.append(node_group.declared_group(there, here[name], group))
        return found

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
