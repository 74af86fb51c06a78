"""Orders the pools by the cluster's ConfigMap, also when it changes between two updates."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from rehearsal.providers.aks.agent_pool import CLUSTER, POOL, pools_of, start_nodes
from rehearsal.providers.aks.cloud import Subscription
from rehearsal.providers.aks.expander import rank_of, uses_priorities
from rehearsal.providers.cloud import last_part
from rehearsal.providers.store import Record

_LOOK_SECONDS: Final = 1.0
_UNSEEN: Final = object()
_log = logging.getLogger(__name__)


class Ranking:
    """Watches the clusters of one subscription that use the priority expander, while there are any."""

    def __init__(self, cloud: Subscription) -> None:
        self._cloud = cloud
        self._lock = threading.Lock()
        self._thread: Ranks | None = None
        self._known: dict[str, float | None] = {}

    def watch(self) -> None:
        """Start to watch once a cluster needs it."""
        with self._lock:
            if self._thread is None and self._cloud.fleet is not None and self._clusters():
                self._thread = Ranks(self.look)
                self._thread.start()

    def close(self) -> None:
        """Stop to watch."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()

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


class Ranks(threading.Thread):
    """Notices a changed ConfigMap: ``look`` runs every few ``seconds`` until ``close``, which waits for it."""

    def __init__(self, look: Callable[[], None], seconds: float = _LOOK_SECONDS) -> None:
        super().__init__(name="autoscaler-priorities", daemon=True)
        self._look = look
        self._seconds = seconds
        self._closed = threading.Event()

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        self.join()

    def run(self) -> None:
        """The thread's loop."""
        while not self._closed.wait(self._seconds):
            try:
                self._look()
            except Exception as error:
                _log.info("priorities of the autoscaler: %s", error)
