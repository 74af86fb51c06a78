"""Who calls a server on the loopback interface.

Pulumi's engine reaches a provider plugin over TCP on 127.0.0.1 and shows no secret, and every user of the machine can
connect there. The kernel knows the user of each connection: /proc/net/tcp lists the sockets of both ends with their
owners (https://docs.kernel.org/networking/proc_net_tcp.html, proc_pid_net(5)).
"""

from __future__ import annotations

import inspect
import ipaddress
import os
import socket
import stat
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import grpc

_TABLES: Final = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}
"""IP version of the caller's socket → its table. A socket of IPv6 may hold an IPv4 connection."""

_ESTABLISHED: Final = "01"
_DESCRIPTORS: Final = Path("/proc/self/fd")
_REMEMBERED: Final = 256
_Address = tuple[str, int]
"""IP address and port; an IPv4 address in IPv6 is written as IPv4."""


class CallersUnknown(Exception):
    """This machine does not tell who calls. The message is for the user."""


class StrangerError(Exception):
    """The caller is another user, or unknown."""


def require_known_callers(name: str) -> None:
    """Raise CallersUnknown where the program ``name`` could not tell its own user from others."""
    table = _TABLES[4]
    try:
        table.read_bytes()
    except OSError as error:
        raise CallersUnknown(
            f"{name} does not start: it learns from {table} which user calls it, and this machine has no such file "
            f"({error.strerror}). Any user of the machine could give it orders. Run this on Linux, with /proc mounted"
        ) from None
    # Users that a user namespace does not map all look like this one.
    unmapped = int(Path("/proc/sys/kernel/overflowuid").read_text())
    whole = Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]
    if os.geteuid() == unmapped and not whole:
        raise CallersUnknown(
            f"{name} does not start: in this container all other users look like yours, {unmapped}. "
            "Any of them could give it orders. Run this as another user"
        )


@dataclass(frozen=True)
class _Connection:
    """An accepted connection: the server's socket by descriptor and inode; ``own``: this process's user opened it."""

    descriptor: int
    inode: int
    caller: str
    own: bool


class LocalCallers:
    """The connections of one gRPC server at ``port`` of 127.0.0.1. Thread-safe.

    A caller is looked up once per connection. The connection is known by the inode of its accepted socket, not by the
    caller's port: the next connection from that port may be another user's.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._known: OrderedDict[str, _Connection] = OrderedDict()
        self._lock = threading.Lock()

    def connection(self, peer: str) -> int:
        """The identity of the connection with gRPC's ``peer`` (``ipv4:127.0.0.1:40000``).

        Raises StrangerError: another user's.
        """
        with self._lock:
            known = self._known.get(peer)
            address = _address(peer)
            if known is None or self._inode(known.descriptor, address) != known.inode:
                known = self._known[peer] = self._look_up(peer, address)
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            self._known.move_to_end(peer)
        if not known.own:
            raise StrangerError(f"{known.caller} may not call this server: it answers user {os.geteuid()} alone")
        return known.inode

    def _look_up(self, peer: str, address: _Address) -> _Connection:
        for entry in _DESCRIPTORS.iterdir():
            if inode := self._inode(int(entry.name), address):
                user = owner(address, ("127.0.0.1", self.port))
                caller = "an unknown caller" if user is None else f"user {user}"
                return _Connection(int(entry.name), inode, caller, user == os.geteuid())
        raise StrangerError(f"{peer} has no connection to this server")

    def _inode(self, descriptor: int, address: _Address) -> int:
        """The inode of the socket at ``descriptor`` if it is this server's end of a connection from ``address``."""
        try:
            copy = os.dup(descriptor)
        except OSError:  # closed meanwhile
            return 0
        try:
            entry = os.fstat(copy)
            if not stat.S_ISSOCK(entry.st_mode):
                return 0
            # An address names its own family; that of IPv6 needs most room.
            end = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, fileno=copy)
            try:
                ours = (_plain(end.getpeername()), _plain(end.getsockname())) == (address, ("127.0.0.1", self.port))
            finally:
                end.detach()
            return entry.st_ino if ours else 0
        except OSError:  # not connected, or of another kind
            return 0
        finally:
            os.close(copy)


def owner(local: _Address, remote: _Address) -> int | None:
    """The user who holds the open socket of this machine at ``local`` that is connected to ``remote``."""
    entry = _entry(local, remote)
    # A socket that has been closed meanwhile belongs to nobody, which is written as root.
    if entry is None or (entry[0] == 0 and _entry(local, remote) != entry):
        return None
    return entry[0]


def _entry(local: _Address, remote: _Address) -> tuple[int, int] | None:
    """Owner and inode of an established connection's socket."""
    for version, table in _TABLES.items():
        ends = [_hexadecimal(*local, version), _hexadecimal(*remote, version)]
        try:
            lines = table.read_text().splitlines()
        except OSError:  # no IPv6
            continue
        for line in lines:
            fields = line.split()
            if fields[1:3] == ends and fields[3] == _ESTABLISHED and fields[9] != "0":
                return int(fields[7]), int(fields[9])
    return None


def _hexadecimal(host: str, port: int, version: int) -> str:
    """An address as the tables write it: 32-bit words in the machine's byte order."""
    packed = ipaddress.ip_address(host if version == 4 else f"::ffff:{host}").packed
    words = (packed[place : place + 4] for place in range(0, len(packed), 4))
    return f"{''.join(f'{int.from_bytes(word, sys.byteorder):08X}' for word in words)}:{port:04X}"


def _address(peer: str) -> _Address:
    kind, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6"):
        raise StrangerError(f"{peer} is no caller over 127.0.0.1")
    return _plain((host.strip("[]"), int(port)))


def _plain(address: Any) -> _Address:
    """Without the form of IPv6; of a Unix socket, which has a path, nothing is left."""
    if not isinstance(address, tuple):
        return "", 0
    host = ipaddress.ip_address(address[0])
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else None
    return str(mapped or host), int(address[1])


class OwnUserOnly(grpc.ServerInterceptor):
    """Refuses every call of another user to a server with threads."""

    def __init__(self, callers: LocalCallers) -> None:
        self._callers = callers

    def intercept_service(self, continuation: Callable[[Any], Any], handler_call_details: Any) -> Any:
        """Put the check in front of the method."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None

        def checked(request: Any, context: Any) -> Any:
            try:
                self._callers.connection(context.peer())
            except StrangerError as error:
                context.abort(grpc.StatusCode.PERMISSION_DENIED, str(error))
            return handler.unary_unary(request, context)

        return _replaced(handler, checked)


class OwnUserOnlyAsync(grpc.aio.ServerInterceptor):
    """The same for a server on asyncio."""

    def __init__(self, callers: LocalCallers) -> None:
        self._callers = callers

    async def intercept_service(self, continuation: Callable[[Any], Any], handler_call_details: Any) -> Any:
        """Put the check in front of the method."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None

        async def checked(request: Any, context: Any) -> Any:
            try:
                self._callers.connection(context.peer())
            except StrangerError as error:
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(error))
            answer = handler.unary_unary(request, context)
            return await answer if inspect.isawaitable(answer) else answer

        return _replaced(handler, checked)


def _replaced(handler: Any, method: Callable[[Any, Any], Any]) -> Any:
    """The handler of a unary method, the only kind that providers have, with another function."""
    return grpc.unary_unary_rpc_method_handler(method, handler.request_deserializer, handler.response_serializer)
