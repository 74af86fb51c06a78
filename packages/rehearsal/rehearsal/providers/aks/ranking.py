"""Orders the pools by the cluster's ConfigMap, also when it changes between two updates."""

from __future__ import annotations

import logging
import threading
from typing import Final

from typing_extensions import override

from rehearsal.cluster.threads import PollingThread
from rehearsal.providers.aks.agent_pool import CLUSTER, POOL, pools_of, start_nodes
from rehearsal.providers.aks.cloud import Subscription
from rehearsal.providers.aks.expander import rank_of, uses_priorities
from rehearsal.providers.cloud import last_part
from rehearsal.providers.store import Record

_LOOK_SECONDS: Final = 1.0
_UNSEEN: Final = object()
_log = logging.getLogger(__name__)


class Ranking(PollingThread):
    """Watches the clusters of one subscription that use the priority expander, while there are any."""

    def __init__(self, cloud: Subscription) -> None:
        super().__init__("autoscaler-priorities", _LOOK_SECONDS)
        self._cloud = cloud
        self._lock = threading.Lock()
        self._known: dict[str, float | None] = {}

    def watch(self) -> None:
        """Start to watch once a cluster needs it."""
        with self._lock:
            if self.ident is None and self._cloud.fleet is not None and self._clusters():
                self.start()

    @override
    def failed(self, error: Exception) -> None:
        _log.info("priorities of the autoscaler: %s", error)

    @override
    def look(self) -> None:
        """Apply the new rank to the machines of every pool whose rank changed."""
        for cluster in self._clusters():
            for pool in pools_of(self._cloud, cluster.id):
                rank = rank_of(self._cloud, cluster, last_part(pool.id))
                if self._known.get(pool.id, _UNSEEN) != rank:
                    with self._cloud.changing:
                        # The pool may have been changed or deleted since it was read.
                        present = self._cloud.store.get(POOL, pool.id)
                        if present is not None:
                            start_nodes(self._cloud, present)
                self._known[pool.id] = rank

    def _clusters(self) -> list[Record]:
        return [each for each in self._cloud.store.all(CLUSTER) if uses_priorities(each)]
