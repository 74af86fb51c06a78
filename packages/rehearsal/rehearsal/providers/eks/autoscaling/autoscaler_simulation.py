"""Keeps the fleet's groups as the deployed cluster-autoscaler would have them: looks, decides, and tells the fleet."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Set
from functools import partial
from typing import Any, Final

from typing_extensions import override

from rehearsal.cluster.threads import PollingThread
from rehearsal.providers.eks import scaling_group
from rehearsal.providers.eks.authorization.identity import PodIdentityError, Role, Roles
from rehearsal.providers.eks.autoscaling import cluster_autoscaler
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.cluster import require_cluster
from rehearsal.providers.eks.nodes import DeclaredGroup, declared_groups, is_leaving
from rehearsal.providers.pool_order import priorities
from rehearsal.simulation import Fleet, SimulatedNodeGroup

DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
_NODES: Final = "/api/v1/nodes"
_NODE_GROUP_LABEL: Final = "eks.amazonaws.com/nodegroup"
_SERVICES: Final = ("autoscaling", "eks")
_PERIOD_SECONDS: Final = 0.5
_log = logging.getLogger("rehearsal.aws.autoscaling")


class AutoscalerSimulation(PollingThread):
    """Decides about every group each half second; what it read of the account counts until AWS changes it.

    The fleet hears of a group when the decision differs from the one before, and after ``refresh``. A look that fails
    (a request that is in the middle of a change, an API server that stops) is logged and tried again.
    """

    def __init__(self, account: Account) -> None:
        super().__init__("autoscaler-simulation", _PERIOD_SECONDS)
        self._account = account
        self._fleet: Fleet = account.machines()
        self._roles = Roles(account)
        self._turn = threading.Lock()
        self._reported: dict[tuple[str, str], SimulatedNodeGroup | None] = {}
        self._declared: list[DeclaredGroup] = []
        self._read_at = ""

    @override
    def failed(self, error: Exception) -> None:
        # The next look decides; nothing depends on this one.
        _log.debug("autoscaler simulation: %s", error, exc_info=True)

    def refresh(self) -> None:
        """Look now, in this thread, at the account too, and tell the fleet again: the change of a group may have told
        it something already. Raises what the look raises."""
        with self._turn:
            self._reported = dict.fromkeys(self._reported)
            self._read_at = ""
        self.look()

    @override
    def look(self) -> None:
        with self._turn:
            state = "/".join(str(self._account.writes(service)) for service in _SERVICES)
            if state != self._read_at:
                self._declared, self._read_at = declared_groups(self._account), state
            decided = list(self._decisions())
            for group in decided:
                # A deletion may have begun since the decision.
                if not is_leaving(self._account, group.cluster, group.name):
                    self._tell(group)
            self._resize({(group.cluster, group.name) for group in decided if group.scaling.autoscaled})
            self._withdraw({(each.base.cluster, each.base.name) for each in self._declared})

    def _decisions(self) -> Iterator[SimulatedNodeGroup]:
        deployments = self._fleet.list_objects(DEPLOYMENTS)
        clusters = dict.fromkeys(group.base.cluster for group in self._declared)
        snapshots = {cluster: self._snapshot(cluster, deployments) for cluster in clusters}
        for group in self._declared:
            had_nodes = partial(self._fleet.had_nodes, group.base.cluster, group.base.name)
            yield cluster_autoscaler.evaluate(snapshots[group.base.cluster], group, had_nodes)

    def _snapshot(self, cluster: str, deployments: list[dict[str, Any]]) -> cluster_autoscaler.ClusterSnapshot:
        """The cluster-autoscaler among ``deployments``, with all that decides about every group."""
        installation = cluster_autoscaler.cluster_autoscaler(deployments)
        if installation is None:
            return cluster_autoscaler.ClusterSnapshot(None, "", "")
        config_maps = self._fleet.list_objects(f"/api/v1/namespaces/{installation.namespace}/configmaps")
        return cluster_autoscaler.ClusterSnapshot(
            installation,
            self._role(cluster, installation),
            priorities(config_maps, installation.namespace),
            {"aws:RequestedRegion": self._account.region, "aws:PrincipalTag/eks-cluster-name": cluster},
        )

    def _role(self, cluster: str, installation: cluster_autoscaler.Installation) -> Role | str:
        record = require_cluster(self._account, cluster)
        try:
            return self._roles.of_pod(self._fleet, record, installation.namespace, installation.service_account)
        except PodIdentityError as error:
            return str(error)

    def _tell(self, group: SimulatedNodeGroup) -> None:
        key = group.cluster, group.name
        if self._reported.get(key) != group:
            self._fleet.apply_group(group)
            self._reported[key] = group
            if group.not_scaled_because:
                _log.info("node group %s does not scale: %s", group.name, group.not_scaled_because)

    def _resize(self, autoscaled: Set[tuple[str, str]]) -> None:
        """Give each autoscaled group's Auto Scaling group the size that the group has: by it the autoscaler changes the
        number of nodes (SetDesiredCapacity), and in it everybody else reads how many there are.

        https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
        """
        labels = (node["metadata"].get("labels") or {} for node in self._fleet.list_objects(_NODES))
        nodes = Counter(each.get(_NODE_GROUP_LABEL) for each in labels)
        for group in self._declared:
            key = group.base.cluster, group.base.name
            size = min(max(nodes[group.base.name], group.min_size), group.max_size)
            if key in autoscaled and size != group.desired and not is_leaving(self._account, *key):
                scaling_group.set_size(self._account, group.asg_name, size)

    def _withdraw(self, existing: Set[tuple[str, str]]) -> None:
        """Remove what this thread told the fleet of groups that were deleted, perhaps while it was telling."""
        for key in [key for key in self._reported if key not in existing]:
            self._fleet.delete_group(*key)
            del self._reported[key]
