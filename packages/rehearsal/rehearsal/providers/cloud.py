"""What every simulated resource works with: the account's state, the machines' simulation, the catalogue.

What exists is in memory, or in one JSON file that survives engine runs and a killed process.
"""

from __future__ import annotations

import copy
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rehearsal.providers.account_limits import UNLIMITED, AccountLimits
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.simulation import Fleet

if TYPE_CHECKING:
    from facts.catalog import CloudCatalog
    from facts.catalog.model import Machine


@dataclass(frozen=True)
class Record:
    """One existing resource: ``id`` is the provider's, one of a kind for its ``type``, which is its Pulumi token."""

    id: str
    type: str
    inputs: Properties
    outputs: Properties = field(default_factory=dict)

    @property
    def state(self) -> Properties:
        """What the engine keeps: the inputs and what the cloud added."""
        return {**copy.deepcopy(self.inputs), **copy.deepcopy(self.outputs)}


_Records = dict[tuple[str, str], Record]


class Store:
    """A thread-safe map from type and id to :class:`Record`.

    With a ``directory`` it is written through to ``<directory>/<cloud>.json``: every change is on disk (written beside,
    then renamed) before the call returns, under a lock that other processes on the same directory respect too;
    reading takes in what they wrote. Raises ``ValueError`` for a damaged file.
    """

    def __init__(self, directory: Path | None = None, cloud: str = "") -> None:
        self._directory = directory
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            self._path = directory / f"{cloud}.json"
            self._lock_path = directory / f"{cloud}.lock"
        self._mutex = threading.RLock()
        self._depth = 0
        self._records: _Records = {}
        self._stamp: tuple[int, int, int] | None = None

    def get(self, type: str, id: str) -> Record | None:
        """The resource of that type and id, or ``None``."""
        with self.held():
            return self._records.get((type, id))

    def all(self, type: str) -> list[Record]:
        """Every resource of one type, oldest first."""
        with self.held():
            return [record for record in self._records.values() if record.type == type]

    def everything(self) -> list[Record]:
        """Every resource of every type, oldest first."""
        with self.held():
            return list(self._records.values())

    def put(self, record: Record) -> None:
        """Record a resource as it is now."""
        with self.held():
            self._write({**self._records, (record.type, record.id): record})

    def remove(self, type: str, id: str) -> None:
        """Remove a resource; one that does not exist is no error."""
        with self.held():
            self._write({key: record for key, record in self._records.items() if key != (type, id)})

    @contextmanager
    def held(self) -> Iterator[None]:
        """The account for this thread alone; nests. What reads and then writes, happens inside one."""
        with self._mutex, ExitStack() as stack:
            if self._depth == 0 and self._directory is not None:
                handle = stack.enter_context(self._lock_path.open("a"))
                fcntl.flock(handle, fcntl.LOCK_EX)
                self._refresh()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._records, self._stamp = {}, None
            return
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            try:
                raw = json.loads(self._path.read_text(encoding="utf-8"))
                records = (Record(**each) for each in raw)
                self._records = {(record.type, record.id): record for record in records}
            except (TypeError, ValueError) as error:
                raise ValueError(f"{self._path} is not a state of this provider ({error}); delete it") from error
            self._stamp = stamp

    def _write(self, records: _Records) -> None:
        if self._directory is not None:
            raw: list[dict[str, Any]] = [vars(record) for record in records.values()]
            draft = self._path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.tmp")
            # Not synced: the state must survive a killed process, not a power cut.
            draft.write_text(json.dumps(raw, separators=(",", ":")), encoding="utf-8")
            draft.replace(self._path)
            status = self._path.stat()
            self._stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        self._records = records


# Whose price nobody knows is chosen last, not first.
_PRICE_UNKNOWN: Final = 1e6


@dataclass(frozen=True)
class SimulatedCloud:
    """One simulated account. ``fleet`` is ``None`` for previews, ``config`` has the provider's settings.

    ``catalogue`` gives the machines, GPUs, zones and prices; it is read on first use. ``changing`` is held while
    machines follow a change or end of their pool, so that nobody gives them back what the pool was before.
    ``account_limits`` are the account's quotas, reservations, keys and missing permissions.
    """

    store: Store
    fleet: Fleet | None
    catalogue: Callable[[], CloudCatalog]
    config: Mapping[str, Any] = field(default_factory=dict)
    changing: threading.RLock = field(default_factory=threading.RLock)
    account_limits: AccountLimits = UNLIMITED

    @property
    def catalog(self) -> CloudCatalog:
        """What is known about the cloud's machines."""
        return self.catalogue()

    def default(self, key: str) -> str | None:
        """A setting of the provider's configuration."""
        value = self.config.get(key)
        return str(value) if value else None

    def machines(self) -> Fleet:
        """The fleet; raises :class:`ProviderError` where there is none."""
        if self.fleet is None:
            raise ProviderError("this rehearsal runs without a control plane: clusters can be previewed, not created")
        return self.fleet

    def hourly_usd(self, machine: Machine, region: str, *, spot: bool) -> float:
        """A machine's price, by which groups are ordered: of the region, else of the reference region."""
        places = (region, self.catalog.reference_region)
        known = (self.catalog.prices.machine(place, machine, spot=spot) for place in places)
        return next((price.usd for price in known if price is not None), _PRICE_UNKNOWN)

    def find(self, id: str, type: str) -> Record | None:
        """The resource of a type at ``id``."""
        return self.store.get(type, id)


def last_part(link: str) -> str:
    """A resource's name from its name, path, id or URL."""
    return link.rstrip("/").rpartition("/")[2]
