"""The loopback interface, which a rehearsal needs: it is down in a new network namespace (``unshare -n``)."""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
from typing import Final

# https://man7.org/linux/man-pages/man7/netdevice.7.html
_READ_FLAGS: Final = 0x8913
_WRITE_FLAGS: Final = 0x8914
_UP: Final = 0x1
_REQUEST: Final = struct.Struct("16sh22x")


class LoopbackDown(Exception):
    """127.0.0.1 cannot be reached; the message says what to do."""


def require() -> None:
    """Bring the loopback interface up if it is down; needs ``CAP_NET_ADMIN``.

    Raises:
        LoopbackDown: it is down, and this process may not bring it up.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        if _reached(probe):
            return
        try:
            name, flags = _REQUEST.unpack(fcntl.ioctl(probe, _READ_FLAGS, _REQUEST.pack(b"lo", 0)))
            fcntl.ioctl(probe, _WRITE_FLAGS, _REQUEST.pack(name, flags | _UP))
        except OSError as refusal:
            raise LoopbackDown(
                f"127.0.0.1 cannot be reached, and bringing the interface up failed ({refusal}). "
                "Run `ip link set lo up` as root, in this network namespace"
            ) from refusal


def _reached(probe: socket.socket) -> bool:
    try:
        # Nothing is sent: connecting a datagram socket only looks up the route.
        probe.connect(("127.0.0.1", 9))
    except OSError as error:
        if error.errno == errno.ENETUNREACH:
            return False
        raise
    return True
