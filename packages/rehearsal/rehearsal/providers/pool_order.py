"""Orders pools by what the cluster says of them, also when that changes between two updates; and the ConfigMap by which
cluster-autoscaler's ``priority`` expander orders groups of machines
(https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md).
"""

from __future__ import annotations

import logging
import re
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import yaml
from typing_extensions import override

from rehearsal.cluster.threads import PollingThread
from rehearsal.providers.cloud import Record, SimulatedCloud

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


NAME: Final = "cluster-autoscaler-priority-expander"
_KEY: Final = "priorities"

Priorities = Mapping[int, Sequence[re.Pattern[str]]]


def priorities(config_maps: Iterable[Mapping[str, Any]], namespace: str) -> Priorities | str:
    """The priorities in the autoscaler's namespace, or why there are none: one invalid part spoils all."""
    where = f"ConfigMap {namespace}/{NAME}"
    places = ((each["metadata"], each) for each in config_maps)
    mine = (each for place, each in places if (place.get("namespace", ""), place["name"]) == (namespace, NAME))
    config_map = next(mine, None)
    if config_map is None:
        return f"{where} does not exist: the priority expander scales nothing; create it, or choose another --expander"
    text = (config_map.get("data") or {}).get(_KEY)
    try:
        raw = yaml.safe_load(text or "")
        return {int(number): [re.compile(str(regex)) for regex in regexes] for number, regexes in raw.items()}
    except (yaml.YAMLError, re.error, AttributeError, TypeError, ValueError) as error:
        return f"{where}, key {_KEY}: not a map from numbers to lists of regular expressions ({error}); mend it"


def rank(group: str, known: Priorities) -> float | None:
    """The place of a group in the fleet's order, smaller first: its highest priority, negated; ``None`` without one."""
    numbers = [number for number, regexes in known.items() if any(regex.search(group) for regex in regexes)]
    return -float(max(numbers)) if numbers else None
