"""The machines that a lab is asked for, and their LAN, which follows from their addresses.

It is a bridge in this process's network namespace, with a web server for the machines' package sources.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import ipaddress
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_DEVICE_ID: Final = re.compile(r"0x[0-9a-f]{4}")
_MOST_GPUS: Final = 16
_PREFIX_LENGTH: Final = 24


class SpecError(Exception):
    """Machines that no lab can have; the message lists all problems, one a line."""


@dataclass(frozen=True)
class MachineSpec:
    """One machine. ``gpu_device_id``: the PCI id of its NVIDIA GPUs as sysfs writes it, 0x1eb8 for a T4."""

    name: str
    address: str
    gpus: int = 0
    gpu_device_id: str = ""


def lan(machines: Sequence[MachineSpec]) -> ipaddress.IPv4Interface:
    """The address of the lab's side of the LAN: the lowest that no machine has in the machines' /24.

    Raises SpecError with everything that is wrong with the machines.
    """
    if problems := list(_problems(machines)):
        raise SpecError("\n".join(problems))
    return ipaddress.IPv4Interface(f"{free_address(machines)}/{_PREFIX_LENGTH}")


def free_address(machines: Sequence[MachineSpec], *taken: ipaddress.IPv4Address) -> ipaddress.IPv4Address:
    """The lowest of the machines' network that neither they have nor is ``taken``."""
    addresses = {*taken, *(ipaddress.IPv4Address(each.address) for each in machines)}
    return next(host for host in _network(machines[0].address).hosts() if host not in addresses)


def _problems(machines: Sequence[MachineSpec]) -> Iterator[str]:
    if not machines:
        yield "a lab needs at least one machine"
    networks: dict[ipaddress.IPv4Network, str] = {}
    for machine in machines:
        if not _NAME.fullmatch(machine.name):
            yield f"{machine.name!r} is no host name: use lower-case letters, digits and hyphens, 63 at most"
        if not 0 <= machine.gpus <= _MOST_GPUS:
            yield f"{machine.name}: {machine.gpus} GPUs: write 0 to {_MOST_GPUS}"
        if machine.gpus and not _DEVICE_ID.fullmatch(machine.gpu_device_id):
            yield f"{machine.name}: {machine.gpu_device_id!r} is no PCI device id: write one as 0x1eb8"
        try:
            network = _network(machine.address)
        except ValueError:
            yield f"{machine.name}: {machine.address!r} is no IPv4 address: the lab's LAN has no other, and no DNS"
            continue
        if ipaddress.IPv4Address(machine.address) in (network.network_address, network.broadcast_address):
            yield f"{machine.name}: {machine.address} is the address of a network, not of a machine"
        networks.setdefault(network, machine.name)
    if len(networks) > 1:
        where = ", ".join(f"{name} in {network}" for network, name in networks.items())
        yield f"the lab has one LAN, so all machines need addresses of one /{_PREFIX_LENGTH}: {where}"
    for field in ("name", "address"):
        for value, times in Counter(getattr(machine, field) for machine in machines).items():
            if times > 1:
                yield f"{times} machines have the {field} {value}"


def _network(address: str) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network((ipaddress.IPv4Address(address), _PREFIX_LENGTH), strict=False)


BRIDGE: Final = "lab0"
REPOSITORY_PORT: Final = 8080


def repository_url(interface: ipaddress.IPv4Interface) -> str:
    """Where machines reach their package sources."""
    return f"http://{interface.ip}:{REPOSITORY_PORT}"


@contextlib.contextmanager
def bridge(interface: ipaddress.IPv4Interface, repository: Path) -> Iterator[None]:
    """The bridge with ``interface``'s address, and ``repository`` at port 8080 of it. Enter when isolated."""
    _ip("link", "add", BRIDGE, "type", "bridge")
    _ip("address", "add", str(interface), "dev", BRIDGE)
    _ip("link", "set", BRIDGE, "up")
    handler = functools.partial(_Quiet, directory=str(repository))
    with http.server.ThreadingHTTPServer((str(interface.ip), REPOSITORY_PORT), handler) as server:
        threading.Thread(name="lab-repository", target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            _ip("link", "delete", BRIDGE)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
