"""Orders the pools of the ComputeClasses, also when one is created or changed after its pools."""

from __future__ import annotations

import logging
import threading
from typing import Final

from typing_extensions import override

from rehearsal.cluster.threads import PollingThread
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.compute_classes import CLASS_LABEL, Classes, classes
from rehearsal.providers.gke.node_pool import POOL, start
from rehearsal.providers.values import at

_LOOK_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)


class ClassOrder(PollingThread):
    """Applies the order of the ComputeClasses to the pools that have their label, while there are any."""

    def __init__(self, cloud: SimulatedCloud) -> None:
        super().__init__("compute-classes", _LOOK_SECONDS)
        self._cloud = cloud
        self._lock = threading.Lock()
        self._applied: Classes = {}

    def watch(self) -> None:
        """Start to watch once a pool needs it."""
        with self._lock:
            if self.ident is None and self._cloud.fleet is not None and self._pools():
                self.start()

    @override
    def failed(self, error: Exception) -> None:
        _log.info("ComputeClasses: %s", error)

    @override
    def look(self) -> None:
        """Apply the classes to their pools if one of them has changed."""
        known = classes(self._cloud)
        if known == self._applied:
            return
        for pool in self._pools():
            with self._cloud.changing:
                # The pool may have been changed or deleted since it was read.
                present = self._cloud.store.get(POOL, pool)
                if present is not None:
                    start(self._cloud, present, None)
        self._applied = known

    def _pools(self) -> list[str]:
        return [
            pool.id
            for pool in self._cloud.store.all(POOL)
            if (at(pool.inputs, "nodeConfig.labels") or {}).get(CLASS_LABEL)
        ]
