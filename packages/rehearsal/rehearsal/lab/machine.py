"""One machine: a disk over the base root, its identity, and systemd as PID 1 of its own namespaces.

The machines' LAN, which follows from their addresses, is a bridge in this process's network namespace, with a web
server for their package sources.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import ipaddress
import os
import pty
import re
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rehearsal.cluster.processes import Child, Processes
from rehearsal.lab import isolation

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


_FILES: Final = Path(__file__).parent / "files"
_BOOT_SECONDS: Final = 120.0
_SSH_PORT: Final = 22
_ENVIRONMENT: Final = (
    "env",
    "-i",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL=C.UTF-8",
)
_GPU_CLASS: Final = "0x030200"
"""A 3D controller (https://admin.pci-ids.ucw.cz/read/PD/03), as NVIDIA's GPUs for servers are."""


class MachineError(Exception):
    """A machine that does not boot, or has no power; the message has the end of its console."""


@dataclass(frozen=True)
class Site:
    """What the machines of a lab share: its id, a folder for logs, the lower folders of their disks, the LAN, names."""

    lab: str
    logs: Path
    lower: Sequence[Path]
    lan: IPv4Interface
    names: dict[str, str]
    """Name → address."""


class LabMachine:
    """A machine whose disk is in ``folder``; without power until ``power_on``."""

    def __init__(self, spec: MachineSpec, folder: Path, site: Site, processes: Processes) -> None:
        self.spec = spec
        self.host_key = ""
        self._folder = folder
        self._site = site
        self._processes = processes
        self._supply: Child | None = None
        self._terminal, self._console = pty.openpty()
        self._log = site.logs / f"{spec.name}-console.log"
        threading.Thread(name=f"console-{spec.name}", target=self._copy_console, daemon=True).start()

    def install(self) -> None:
        """Make the disk with the machine's name, address, identity and SSH host key; sets ``host_key``."""
        for name in ("upper", "work", "root", "containerd", "kubelet", "pci"):
            (self._folder / name).mkdir(parents=True)
        key, self.host_key = new_key()
        hosts = {"localhost": "127.0.0.1", **self._site.names}
        network = (f"[Match]\nName=eth0\n[Network]\nAddress={self.spec.address}/{self._site.lan.network.prefixlen}\n"
                   f"Gateway={self._site.lan.ip}\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n")  # fmt: skip
        files = {
            "hostname": f"{self.spec.name}\n",
            "hosts": "".join(f"{address} {name}\n" for name, address in hosts.items()),
            # Nobody answers there; without a line CoreDNS does not start.
            "resolv.conf": f"nameserver {self._site.lan.ip}\n",
            "machine-id": f"{secrets.token_hex(16)}\n",
            "ssh/ssh_host_ed25519_key": key,
            "ssh/ssh_host_ed25519_key.pub": f"{self.host_key}\n",
            "systemd/network/10-lan.network": network,
        }
        for name, text in files.items():
            file = self._folder / "upper" / "etc" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o600 if name.endswith("_key") else 0o644)
        for slot in range(self.spec.gpus):
            device = self._folder / "pci" / f"0000:{0x10 + slot:02x}:00.0"
            device.mkdir()
            ids = {"vendor": "0x10de", "device": self.spec.gpu_device_id, "class": _GPU_CLASS}
            for name, value in {**ids, "subsystem_vendor": "0x10de", "numa_node": "-1"}.items():
                (device / name).write_text(f"{value}\n")

    @property
    def powered(self) -> bool:
        """Whether it runs, or is just rebooting."""
        return self._supply is not None and self._supply.process.poll() is None

    def console(self) -> str:
        """What appeared on its screen since the machine was made, and what its power supply wrote."""
        return self._log.read_text(errors="replace") + (self._supply.output() if self._supply is not None else "")

    def power_on(self) -> None:
        """Start it; returns at once, see ``wait_for_ssh``. Nothing happens if it is on."""
        if self.powered:
            return
        address = int(self._site.lan.network.network_address) | int(self.spec.address.rpartition(".")[2])
        mac = ":".join(f"{byte:02x}" for byte in (0x02, 0, *address.to_bytes(4, "big")))
        self._supply = self._processes.start(
            self.spec.name,
            ["/bin/sh", _FILES / "supervise.sh", _FILES / "boot.sh"],
            {
                "NAME": self.spec.name,
                "FOLDER": str(self._folder),
                "LOWER": ":".join(map(str, self._site.lower)),
                "CGROUPS": isolation.create(self._site.lab, self.spec.name),
                "BRIDGE": BRIDGE,
                "CONSOLE": os.ttyname(self._console),
                "PORT": f"port{self.spec.address.rpartition('.')[2]}",
                "MAC": mac,
            },
            may_end=True,
        )

    def wait_for_ssh(self, seconds: float = _BOOT_SECONDS) -> None:
        """Return when its SSH server answers. Raises MachineError after ``seconds``, or if it loses power."""
        deadline = time.monotonic() + seconds
        while not self._ssh_answers():
            if not self.powered:
                raise self._error("has no power")
            if time.monotonic() > deadline:
                raise self._error(f"has no SSH server after {seconds:.0f} s")
            time.sleep(0.1)

    def power_cut(self) -> None:
        """Take the power away at once; the disk stays as it is. Raises MachineError if it has none."""
        os.kill(self._pid(), signal.SIGKILL)
        self._wait_until_off()

    def remove(self) -> None:
        """Take the power away if it has any, and its disk and cgroups. Safe to call twice."""
        if not self._folder.exists():
            return
        if self._supply is not None and self.powered:
            try:
                self.power_cut()
            except MachineError:  # no PID 1 yet, or between two boots
                self._processes.stop(self._supply, grace=0)
        self._wait_until_off()
        os.close(self._console)
        shutil.rmtree(self._folder)

    @property
    def containerd(self) -> Path:
        """Its ``/var/lib/containerd`` on the host's disk."""
        return self._folder / "containerd"

    def run(
        self, command: Sequence[str], *, check: bool = True, seconds: float = 120.0, stdin: Path = Path(os.devnull)
    ) -> str:
        """Run as root inside, not by SSH, and return what it wrote, errors included; for the scenario's own looks.

        Raises:
            MachineError: it has no power, or with ``check`` the command failed.
        """
        line = ["nsenter", "--target", str(self._pid()), "--all", "--", *_ENVIRONMENT, *command]
        with stdin.open("rb") as file:
            answer = subprocess.run(
                line, stdin=file, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds
            )
        if check and answer.returncode:
            raise MachineError(f"{self.spec.name}: {' '.join(command)}: exit code {answer.returncode}\n{answer.stdout}")
        return answer.stdout

    def _copy_console(self) -> None:
        with contextlib.suppress(OSError), self._log.open("wb", buffering=0) as log:
            while text := os.read(self._terminal, 4096):  # an error when remove has closed the other end
                log.write(text.replace(b"\r", b""))
        os.close(self._terminal)

    def _pid(self) -> int:
        with contextlib.suppress(OSError, ValueError):
            pid = int((self._folder / "pid").read_text())
            if self.powered and pid in isolation.pids(self._site.lab, self.spec.name):
                return pid
        raise self._error("has no power")

    def _ssh_answers(self) -> bool:
        try:
            with socket.create_connection((self.spec.address, _SSH_PORT), timeout=2) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def _wait_until_off(self) -> None:
        if self._supply is not None:
            self._supply.process.wait(timeout=_BOOT_SECONDS)
            self._processes.stop(self._supply)
        isolation.remove(self._site.lab, self.spec.name)

    def _error(self, what: str) -> MachineError:
        lines = self.console().splitlines()[-20:]
        return MachineError(
            "\n".join([f"machine {self.spec.name} {what}; its console:", *(f"    {line}" for line in lines)])
        )


def new_key() -> tuple[str, str]:
    """An Ed25519 key pair in OpenSSH's formats: the private key's file and the public key's line."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private.decode(), public.decode()
