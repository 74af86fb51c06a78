"""Orders the pools by the cluster's ConfigMap, also when it changes between two updates."""

from __future__ import annotations

from typing import Final

from typing_extensions import override

from rehearsal.providers.aks.agent_pool import CLUSTER, pools_of, start_nodes
from rehearsal.providers.aks.cloud import Subscription
from rehearsal.providers.aks.expander import rank_of, uses_priorities
from rehearsal.providers.cloud import last_part
from rehearsal.providers.pool_order import PoolOrder
from rehearsal.providers.store import Record

_UNSEEN: Final = object()


class Ranking(PoolOrder[Subscription]):
    """Applies the ranks to the pools of the clusters that use the priority expander, while there are any."""

    def __init__(self, cloud: Subscription) -> None:
        super().__init__("autoscaler-priorities", cloud)
        self._known: dict[str, float | None] = {}

    @override
    def look(self) -> None:
        """Apply the new rank to the machines of every pool whose rank changed."""
        for cluster in self.ordered():
            for pool in pools_of(self._cloud, cluster.id):
                rank = rank_of(self._cloud, cluster, last_part(pool.id))
                if self._known.get(pool.id, _UNSEEN) != rank:
                    self.apply(pool, start_nodes)
                self._known[pool.id] = rank

    @override
    def ordered(self) -> list[Record]:
        return [each for each in self._cloud.store.all(CLUSTER) if uses_priorities(each)]
