"""The node groups of the account as an autoscaler's observer needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rehearsal.providers.aws.account import Account
from rehearsal.simulation import NodeGroup

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


@dataclass(frozen=True)
class DeclaredGroup:
    """One managed node group. ``base`` is its machines with everything a node really has, and is not autoscaled.

    ``labels`` and ``taints`` are what DescribeNodegroup reports (taints with EKS's effects, ``NO_SCHEDULE``);
    ``nodegroup_tags`` are the group's own tags, which its Auto Scaling group ``asg_name`` does not get.
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


class Groups:
    """Every node group that exists; what is known of them is in the account's store and outlives the process."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._callbacks: list[Callable[[], None]] = []

    def list(self) -> list[DeclaredGroup]:
        """The groups as they are now, oldest first. ``desired`` is the Auto Scaling group's."""
        from rehearsal.providers.aws.node_group import declared_group

        return [declared_group(self._account, record) for record in self._account.store.all(NODE_GROUP)]

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called after a group, its Auto Scaling tags or an identity changed; it must not block."""
        self._callbacks.append(callback)

    def changed(self) -> None:
        """Tell every subscriber."""
        for callback in list(self._callbacks):
            callback()
