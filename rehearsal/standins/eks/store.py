"""What the simulated account holds beside moto's state: the stand-in's own records, and whose turn it is."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rehearsal.standins.store import Record

ACCOUNT_ID: Final = "123456789012"


class Store:
    """The account's records, in memory: they live as long as the world does, like moto's state.

    Everything that reads and then writes happens inside ``with store.held()``, which nests: threads take turns, at the
    records and at moto. What a failed block changed stays changed, as in AWS.
    """

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._records: dict[tuple[str, str], Record] = {}
        self._writes: Counter[str] = Counter()

    @contextmanager
    def held(self) -> Iterator[None]:
        """The account for this thread alone."""
        with self._turn:
            yield

    def get(self, type: str, id: str) -> Record | None:
        """The resource of that type and id, or ``None``."""
        with self.held():
            return self._records.get((type, id))

    def all(self, type: str) -> list[Record]:
        """Every resource of one type, oldest first."""
        with self.held():
            return [record for record in self._records.values() if record.type == type]

    def put(self, record: Record) -> None:
        """Record a resource as it is now."""
        with self.held():
            self._records[record.type, record.id] = record

    def remove(self, type: str, id: str) -> None:
        """Forget a resource; fine when there is none."""
        with self.held():
            self._records.pop((type, id), None)

    def wrote(self, service: str) -> None:
        """Note a request that may have changed what a service of AWS holds."""
        with self.held():
            self._writes[service] += 1

    def writes(self, service: str) -> int:
        """How many such requests there were: what was read of the service is stale when this has grown."""
        with self.held():
            return self._writes[service]
