"""What listens in processes, and what another user of the machine or a web page gets there.

docs/architecture.md of the rehearsal has the table of all listeners. Each socket is tried as user 65534 and with the
headers of a web page; what it answers has to be in the table.
"""

from __future__ import annotations

import errno
import http.client
import re
import socket
import ssl
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from tests.other_user import OtherUser
from tests.provider_calls import refusals
from tests.stacks import ROOT

_PAGE: Final = ROOT / "packages" / "rehearsal" / "docs" / "architecture.md"
_HEAD: Final = "| process | listener | who is answered | everybody else gets |"
_LISTENS: Final = 0x10000  # __SO_ACCEPTCON, include/uapi/linux/net.h

_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_TLS.check_hostname, _TLS.verify_mode = False, ssl.CERT_NONE
_WEB_PAGE: Final = {"Origin": "http://evil.example", "Host": "evil.example", "Content-Type": "text/plain"}
_SIGNED: Final = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=simulated/20260101/us-west-2/ec2/aws4_request",
    "Content-Type": "application/x-www-form-urlencoded",
}
_PATHS: Final = (
    "/", "/healthz", "/readyz", "/livez", "/version", "/metrics", "/debug/pprof/", "/api/v1/secrets", "/pods",
    "/containerLogs/kube-system/any/any", "/v1/credentials", "/v3/kv/range",
)  # fmt: skip


@dataclass(frozen=True)
class Listener:
    """A listening socket: ``where`` is an address with a port, or a path."""

    process: str
    where: str


def allowed() -> list[tuple[str, frozenset[str]]]:
    """Process and answers of each row of the table."""
    text = _PAGE.read_text()
    lines = text[text.index(_HEAD) :].split("\n\n")[0].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in lines]
    return [(row[0].strip("`"), frozenset(re.findall(r"`([^`]+)`", row[3]))) for row in rows]


def listeners(processes: Iterable[psutil.Process]) -> Iterator[Listener]:
    """All their listening sockets."""
    unix = {int(fields[6]): fields[7:] for fields in _unix_sockets() if int(fields[3], 16) & _LISTENS}
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            name = "sandbox" if process.name().startswith("python") else process.name()
            for each in process.net_connections("inet"):
                if each.status == psutil.CONN_LISTEN:
                    yield Listener(name, f"{each.laddr.ip.removeprefix('::ffff:')}:{each.laddr.port}")
            for inode in _inodes(process.pid) & unix.keys():
                yield Listener(name, str(Path(process.cwd(), *unix[inode])) if unix[inode] else "without a name")


def _unix_sockets() -> Iterator[list[str]]:
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        yield line.split()


def _inodes(pid: int) -> set[int]:
    inodes: set[int] = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if match := re.fullmatch(r"socket:\[(\d+)\]", str(entry.readlink())):
                inodes.add(int(match[1]))
    return inodes


def wrong(listening: Iterable[Listener], user: OtherUser) -> dict[Listener, frozenset[str]]:
    """The listeners that are not in the table, or answer otherwise than it says, with what they answer."""
    rows = allowed()
    answered = {each: answers(each.where, user) for each in listening}
    return {
        each: words
        for each, words in answered.items()
        if not any(process == each.process and words <= expected for process, expected in rows)
    }


def answers(where: str, user: OtherUser) -> frozenset[str]:
    """What another user and a web page get at a listener, in the words of the table."""
    if where.startswith("/"):
        try:
            user.connect_to_file(where).close()
        except OSError as error:
            return frozenset({errno.errorcode[error.errno or 0]})
        return frozenset({"a connection"})
    address, _, port = where.rpartition(":")
    if address != "127.0.0.1":
        return frozenset({f"a port at {address}"})
    return tcp_answers(int(port), user)


def tcp_answers(port: int, user: OtherUser) -> frozenset[str]:
    """The same at a port of 127.0.0.1, in whichever protocol it speaks."""
    tls = _speaks_tls(port, user)
    if not tls and not _request(port, user, False, "GET", "/", {})[0]:
        return frozenset(_grpc_word(text) for text in refusals(user, port).values())
    words = set[str]()
    for headers in ({}, _WEB_PAGE, {"Authorization": "Bearer x"}, _SIGNED):
        for path in _PATHS:
            words.add(_word(*_request(port, user, tls, "GET", path, headers)))
        words.add(
            _word(*_request(port, user, tls, "POST", "/v3/kv/range", headers, '{"key": "AA==", "range_end": "AA=="}'))
        )
        words.add(_word(*_request(port, user, tls, "POST", "/", headers, "Action=DescribeVpcs&Version=2016-11-15")))
    preflight = {
        **_WEB_PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    words.add(_word(*_request(port, user, tls, "OPTIONS", "/", preflight)))
    return frozenset(words - {""}) or frozenset({"no answer in a known protocol"})


def _grpc_word(text: str) -> str:
    return "PERMISSION_DENIED" if "may not call this server" in text else text


def _word(status: str, headers: Mapping[str, str], body: bytes) -> str:
    if any(header.lower().startswith("access-control-") for header in headers):
        return f"a permission for web pages: {dict(headers)}"
    return "ok" if (status, body) == ("200", b"ok") else status


def _speaks_tls(port: int, user: OtherUser) -> bool:
    try:
        with _TLS.wrap_socket(_patient(user.connect(port))):
            return True
    except (ssl.SSLError, OSError):
        return False


def _patient(connection: socket.socket) -> socket.socket:
    connection.settimeout(10)
    return connection


def _request(
    port: int, user: OtherUser, tls: bool, method: str, path: str, headers: Mapping[str, str], body: str | None = None
) -> tuple[str, Mapping[str, str], bytes]:
    """Status, headers and body; in place of a status a TLS alert's name, or nothing where the answer is no HTTP."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    plain: Any = _patient(user.connect(port))
    try:
        connection.sock = _TLS.wrap_socket(plain) if tls else plain
        connection.request(method, urllib.parse.quote(path), body, dict(headers))
        answer = connection.getresponse()
        return str(answer.status), dict(answer.headers), answer.read()
    except ssl.SSLError as error:
        return str(error.reason or "").rpartition("ALERT_")[2], {}, b""
    except (OSError, http.client.HTTPException):
        return "", {}, b""
    finally:
        connection.close()
