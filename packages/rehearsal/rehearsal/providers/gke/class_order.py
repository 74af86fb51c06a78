"""Orders the pools of the ComputeClasses, also when one is created or changed after its pools."""

from __future__ import annotations

from typing_extensions import override

from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.compute_classes import CLASS_LABEL, Classes, classes
from rehearsal.providers.gke.node_pool import POOL, start
from rehearsal.providers.pool_order import PoolOrder
from rehearsal.providers.store import Record
from rehearsal.providers.values import at


class ClassOrder(PoolOrder[SimulatedCloud]):
    """Applies the order of the ComputeClasses to the pools that have their label, while there are any."""

    def __init__(self, cloud: SimulatedCloud) -> None:
        super().__init__("compute-classes", cloud)
        self._applied: Classes = {}

    @override
    def look(self) -> None:
        """Apply the classes to their pools if one of them has changed."""
        known = classes(self._cloud)
        if known == self._applied:
            return
        for pool in self.ordered():
            self.apply(pool, lambda cloud, present: start(cloud, present, None))
        self._applied = known

    @override
    def ordered(self) -> list[Record]:
        return [
            pool
            for pool in self._cloud.store.all(POOL)
            if (at(pool.inputs, "nodeConfig.labels") or {}).get(CLASS_LABEL)
        ]
