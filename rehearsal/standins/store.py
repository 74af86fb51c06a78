"""What exists in a simulated cloud: one JSON file that survives engine runs and a killed process."""

from __future__ import annotations

import copy
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.standins.base import Properties, ProviderError


@dataclass(frozen=True)
class Record:
    """One existing resource: ``id`` is its path (``projects/p/global/networks/n``), ``type`` its Pulumi token."""

    id: str
    type: str
    inputs: Properties
    outputs: Properties = field(default_factory=dict)

    @property
    def state(self) -> Properties:
        """What the engine keeps: the inputs and what the cloud added."""
        return {**copy.deepcopy(self.inputs), **copy.deepcopy(self.outputs)}


class Store:
    """A thread-safe map from resource path to :class:`Record`, written through to ``<directory>/<cloud>.json``.

    Every change is on disk (written beside, then renamed) before the call returns, under a lock that other processes
    on the same directory respect too; reading takes in what they wrote. Raises ``ValueError`` for a damaged file.
    ``exists`` makes the cloud's error for a path that is taken already.
    """

    def __init__(self, directory: Path, cloud: str, exists: Callable[[str], ProviderError]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / f"{cloud}.json"
        self._lock_path = directory / f"{cloud}.lock"
        self._exists = exists
        self._mutex = threading.RLock()
        self._records: dict[str, Record] = {}
        self._seen: tuple[int, int, int] | None = None

    def get(self, id: str) -> Record | None:
        """The resource at ``id``, or ``None``."""
        with self._locked():
            return self._records.get(id)

    def all(self, type: str) -> list[Record]:
        """Every resource of one type, oldest first."""
        with self._locked():
            return [record for record in self._records.values() if record.type == type]

    def everything(self) -> list[Record]:
        """Every resource of every type, oldest first."""
        with self._locked():
            return list(self._records.values())

    def add(self, record: Record) -> None:
        """Record a new resource; a resource that exists at that path already is an error."""
        with self._locked():
            if record.id in self._records:
                raise self._exists(record.id)
            self._write({**self._records, record.id: record})

    def put(self, record: Record) -> None:
        """Record a resource as it is now."""
        with self._locked():
            self._write({**self._records, record.id: record})

    def remove(self, id: str) -> None:
        """Forget a resource; fine when there is none."""
        with self._locked():
            self._write({key: record for key, record in self._records.items() if key != id})

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._mutex, self._lock_path.open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._refresh()
            yield

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._records, self._seen = {}, None
            return
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._seen:
            try:
                raw = json.loads(self._path.read_text(encoding="utf-8"))
                self._records = {key: Record(id=key, **value) for key, value in raw.items()}
            except (TypeError, ValueError) as error:
                raise ValueError(f"{self._path} is not a state of this provider ({error}); delete it") from error
            self._seen = stamp

    def _write(self, records: dict[str, Record]) -> None:
        raw: dict[str, Any] = {
            record.id: {"type": record.type, "inputs": record.inputs, "outputs": record.outputs}
            for record in records.values()
        }
        draft = self._path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.tmp")
        # Not synced: the state must survive a killed process, not a power cut.
        draft.write_text(json.dumps(raw, separators=(",", ":")), encoding="utf-8")
        draft.replace(self._path)
        status = self._path.stat()
        self._records, self._seen = records, (status.st_ino, status.st_mtime_ns, status.st_size)
