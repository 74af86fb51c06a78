"""Orders pools by what the cluster says of them, also when that changes between two updates."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from typing_extensions import override

from rehearsal.cluster.threads import PollingThread
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.store import Record

_LOOK_SECONDS: Final = 1.0
_Cloud = TypeVar("_Cloud", bound=SimulatedCloud)
_log = logging.getLogger(__name__)


class PoolOrder(PollingThread, Generic[_Cloud]):
    """Watches the cluster while there is something ``ordered``."""

    def __init__(self, name: str, cloud: _Cloud) -> None:
        super().__init__(name, _LOOK_SECONDS)
        self._cloud = cloud
        self._lock = threading.Lock()

    @abstractmethod
    def ordered(self) -> Sequence[Record]:
        """The clusters or pools whose order the cluster may say."""

    def watch(self) -> None:
        """Start to watch once something is ``ordered``."""
        with self._lock:
            if self.ident is None and self._cloud.fleet is not None and self.ordered():
                self.start()

    @override
    def failed(self, error: Exception) -> None:
        _log.info("%s: %s", self.name, error)

    def apply(self, pool: Record, start: Callable[[_Cloud, Record], object]) -> None:
        """``start`` the pool's machines again, as it is now."""
        with self._cloud.changing:
            # The pool may have been changed or deleted since it was read.
            present = self._cloud.store.get(pool.type, pool.id)
            if present is not None:
                start(self._cloud, present)
