"""What the simulated account holds: moto's state and the stand-in's own records, in one file that outlives the process.

moto keeps its resources in module-level dictionaries, one process-wide copy. :class:`Store` owns that copy while it is
held: it loads its file into moto, and writes what changed when it is released.
"""

from __future__ import annotations

import fcntl
import importlib
import io
import os
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import override

from rehearsal.providers.store import Record

ACCOUNT_ID: Final = "123456789012"
_FOLLOWS: Final = {"autoscaling": ("ec2",)}
"""moto's services that change another one's state: a group runs instances."""

_LOCK: Final = type(threading.RLock())

_Key = tuple[str, str]
"""moto's name of a service, and the region its backend is for."""


class Store:
    """The account's state in ``<directory>/aws.state``, written beside and renamed whenever it changed.

    Everything happens inside ``with store.held()``, which nests; threads and processes on one directory take turns. An
    exception that leaves the outermost block undoes the block. Raises ``ValueError`` for a damaged file.
    """

    _turn: ClassVar[threading.RLock] = threading.RLock()
    _in_moto: ClassVar[Store | None] = None

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / "aws.state"
        self._lock_path = directory / "aws.lock"
        self._records: dict[tuple[str, str], Record] = {}
        self._services: dict[_Key, bytes] = {}
        self._changed: set[_Key] = set()
        self._records_changed = False
        self._depth = 0
        self._seen: tuple[int, int, int] | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """The account for this thread alone; what changed is on disk when the outermost block ends."""
        with Store._turn:
            if self._depth:
                yield from self._deeper()
                return
            with self._lock_path.open("a") as handle:
                fcntl.flock(handle, fcntl.LOCK_EX)
                self._refresh()
                try:
                    yield from self._deeper()
                    if self._changed or self._records_changed:
                        self._write()
                except BaseException:
                    self._forget()
                    raise

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
            self._records_changed = True

    def remove(self, type: str, id: str) -> None:
        """Forget a resource; fine when there is none."""
        with self.held():
            self._records_changed |= self._records.pop((type, id), None) is not None

    def changed(self, service: str, region: str, operation: str = "") -> None:
        """Say that a request changed moto's state; only within ``held``."""
        further = () if operation.endswith("Tags") else _FOLLOWS.get(service, ())
        self._changed.update((name, region) for name in (service, *further))

    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _refresh(self) -> None:
        stamp = self._stamp()
        if Store._in_moto is self and stamp == self._seen:
            return
        Store._in_moto = None
        if stamp is None:
            self._records, self._services = {}, {}
        elif stamp != self._seen:
            try:
                self._records, self._services = pickle.loads(self._path.read_bytes())
            except Exception as error:  # a pickle of nonsense raises anything
                raise ValueError(f"{self._path} is not a state of this provider ({error}); delete it") from error
        _load(self._services)
        self._seen = stamp
        Store._in_moto = self

    def _write(self) -> None:
        services = {**self._services, **{key: _dump(key) for key in self._changed}}
        draft = self._path.with_suffix(f".{os.getpid()}.tmp")
        # Not synced: the state must survive a killed process, not a power cut.
        draft.write_bytes(pickle.dumps((self._records, services)))
        draft.replace(self._path)
        self._services, self._seen = services, self._stamp()
        self._changed, self._records_changed = set(), False

    def _forget(self) -> None:
        """Undo the block: the next one reads the file again."""
        if self._changed or self._records_changed:
            self._changed, self._records_changed, self._seen = set(), False, None
            Store._in_moto = None

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size


class _Pickler(pickle.Pickler):
    """Writes a reference where one of moto's services mentions another (or itself)."""

    @override
    def persistent_id(self, obj: Any) -> Any:
        from moto.core.base_backend import BaseBackend

        if isinstance(obj, BaseBackend):
            return type(obj).__module__.split(".")[1], obj.account_id, obj.region_name
        return None

    @override
    def reducer_override(self, obj: Any) -> Any:
        # moto gives every KMS key a key pair, which is an object of a compiled library.
        if hasattr(obj, "private_bytes"):
            from cryptography.hazmat.primitives import serialization as s

            pem = obj.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
            return _private_key, (pem,)
        return (threading.RLock, ()) if isinstance(obj, _LOCK) else NotImplemented


class _Unpickler(pickle.Unpickler):
    @override
    def persistent_load(self, pid: Any) -> Any:
        service, account, region = pid
        return _backends(service)[account][region]


def _private_key(pem: bytes) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return load_pem_private_key(pem, None)


def _backends(service: str) -> Any:
    """moto's accounts of one service; the import takes a moment."""
    from moto.backends import get_backend

    importlib.import_module(f"moto.{service}.models")
    return get_backend(service)  # type: ignore[call-overload]


def _dump(key: _Key) -> bytes:
    service, region = key
    account = _backends(service)[ACCOUNT_ID]
    target = io.BytesIO()
    # A global service has one backend for the whole partition.
    _Pickler(target).dump(vars(account[region if region in account else "aws"]))
    return target.getvalue()


def _load(services: dict[_Key, bytes]) -> None:
    from moto.core.base_backend import BackendDict

    BackendDict.reset()
    for (service, region), state in services.items():
        account = _backends(service)[ACCOUNT_ID]
        backend = account[region if region in account else "aws"]
        vars(backend).update(_Unpickler(io.BytesIO(state)).load())
