"""Sessions on machines: one SSH connection per machine, host keys pinned, no program of the user's computer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import asyncssh

from machines.errors import OperationError, Unreachable
from machines.scripts import FACTS, Phase, answer, compose

CONNECT_SECONDS: Final = 20
_REBOOT_SECONDS: Final = 600
_SESSIONS: Final = 8
"""At once on one connection; sshd's MaxSessions is 10 (https://man.openbsd.org/sshd_config#MaxSessions)."""

Progress = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class SshMachine:
    """Where a machine is and how it proves that it is the one; ``host_key`` is an OpenSSH public key line."""

    name: str
    address: str
    host_key: str
    user: str = ""
    port: int = 0

    @classmethod
    def of(cls, value: Mapping[str, Any], name: str = "") -> SshMachine:
        """From the property ``machine``, or the provider's ``jumpHost``, which has no name."""
        own = name or str(value["name"])
        return cls(own, str(value["address"]), str(value["hostKey"]), value.get("user") or "", value.get("port") or 0)


@dataclass(frozen=True)
class SshAccess:
    """The provider's configuration. ``private_key`` None: the SSH agent's keys."""

    user: str = "ubuntu"
    port: int = 22
    private_key: str | None = field(default=None, repr=False)
    jump_host: SshMachine | None = None
    skip_unreachable: frozenset[str] = frozenset()
    control_planes: tuple[SshMachine, ...] = ()

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> SshAccess:
        """From a checked configuration."""
        jump = config.get("jumpHost")
        return cls(
            config.get("user") or "ubuntu",
            int(config.get("port") or 22),
            config.get("privateKey") or None,
            SshMachine.of(jump, "the jump host") if jump else None,
            frozenset(config.get("skipUnreachable") or ()),
            tuple(SshMachine.of(each) for each in config.get("controlPlanes") or ()),
        )


class Sessions:
    """Connections that stay open for the plugin's life; writing phases of one machine run one after the other."""

    def __init__(self, access: SshAccess) -> None:
        self.access = access
        self.stopping = False
        self._connections: dict[SshMachine, asyncssh.SSHClientConnection] = {}
        self._writing: dict[str, asyncio.Semaphore] = {}
        self._reading: dict[str, asyncio.Semaphore] = {}

    async def run(
        self,
        machine: SshMachine,
        phase: Phase,
        variables: Mapping[str, str],
        progress: Progress | None = None,
        *,
        always: bool = False,
    ) -> dict[str, Any]:
        """The phase's answer; after a cancellation only if it must run ``always``.

        Raises ``OperationError`` with the phase's own words, and ``Unreachable``.
        """
        limits, count = (self._writing, 1) if phase.writes else (self._reading, _SESSIONS)
        async with limits.setdefault(machine.name, asyncio.Semaphore(count)):
            if self.stopping and not always:
                raise OperationError(
                    f"{machine.name}: cancelled before {phase.name}; run the command again to continue"
                )
            connection = await self._connection(machine)
            try:
                return await self._run(connection, machine, phase, variables, progress)
            except (asyncssh.Error, OSError) as error:
                self._connections.pop(machine, None)
                raise Unreachable(
                    f"{machine.name} ({machine.address}): the connection broke during {phase.name}"
                    f" ({type(error).__name__}); the script ends by itself there, run the command again"
                ) from None

    async def _run(
        self,
        connection: asyncssh.SSHClientConnection,
        machine: SshMachine,
        phase: Phase,
        variables: Mapping[str, str],
        progress: Progress | None,
    ) -> dict[str, Any]:
        shell = "sh -s" if self._user(machine) == "root" else "sudo -n sh -s"
        process = await connection.create_process(shell, encoding="utf-8", errors="replace")
        with contextlib.suppress(BrokenPipeError):  # sudo refuses before it reads
            process.stdin.write(compose(phase, variables))
            process.stdin.write_eof()
        last = ""

        async def follow() -> None:
            nonlocal last
            async for line in process.stderr:
                last = line.strip() or last
                if progress is not None and line.strip():
                    await progress(f"{machine.name}: {line.strip()}")

        try:
            output, _, _ = await asyncio.wait_for(
                asyncio.gather(process.stdout.read(), follow(), process.wait_closed()), phase.seconds
            )
        except asyncio.TimeoutError:
            process.close()
            raise OperationError(
                f"{machine.name}: {phase.name} has not ended after {phase.seconds // 60} minutes; see"
                " /var/log/gpucluster-machines.log there, and run the command again"
            ) from None
        result = answer(str(output))
        if result is None and "sudo" in last:
            raise Unreachable(
                f"{machine.name}: {self._user(machine)} may not use sudo without a password ({last}); add a file in"
                f" /etc/sudoers.d with: {self._user(machine)} ALL=(ALL) NOPASSWD:ALL"
            )
        if result is None:
            raise OperationError(f"{machine.name}: {phase.name} ended without an answer ({last or 'no output'})")
        if "error" in result:
            raise OperationError(f"{machine.name}: {result['error']}")
        return result

    async def reboot(self, machine: SshMachine, boot: str, progress: Progress) -> None:
        """Reboot and wait until another boot than ``boot`` (a fact) answers."""
        await progress(f"{machine.name}: reboot for the driver")
        connection = await self._connection(machine)
        with contextlib.suppress(asyncssh.Error, OSError, asyncio.TimeoutError):
            prefix = "" if self._user(machine) == "root" else "sudo -n "
            await asyncio.wait_for(connection.run(f"{prefix}systemctl reboot"), 30)
        self._drop(machine)
        deadline = asyncio.get_running_loop().time() + _REBOOT_SECONDS
        while True:
            await asyncio.sleep(3)
            with contextlib.suppress(OperationError):
                if (await self.run(machine, FACTS, {}))["boot"] != boot:
                    return
            self._drop(machine)
            if self.stopping:
                raise OperationError(f"{machine.name}: cancelled while it restarts; run the command again to continue")
            if asyncio.get_running_loop().time() > deadline:
                raise OperationError(
                    f"{machine.name} ({machine.address}) has not come back {_REBOOT_SECONDS // 60} minutes after its"
                    " reboot; look at its console, then run the command again"
                )

    async def close(self) -> None:
        """End all connections."""
        for machine in list(self._connections):
            self._drop(machine)

    def _drop(self, machine: SshMachine) -> None:
        connection = self._connections.pop(machine, None)
        if connection is not None:
            connection.abort()

    def _user(self, machine: SshMachine) -> str:
        return machine.user or self.access.user

    async def _connection(self, machine: SshMachine) -> asyncssh.SSHClientConnection:
        connection = self._connections.get(machine)
        if connection is None or connection.is_closed():
            jump = self.access.jump_host
            tunnel = await self._connection(jump) if jump is not None and machine != jump else None
            connection = self._connections[machine] = await self._connect(machine, tunnel)
        return connection

    async def _connect(
        self, machine: SshMachine, tunnel: asyncssh.SSHClientConnection | None
    ) -> asyncssh.SSHClientConnection:
        port, user = machine.port or self.access.port, self._user(machine)
        place = f"{machine.name}: {machine.address}:{port}"
        key = self.access.private_key
        agent = os.environ.get("SSH_AUTH_SOCK", "")
        if key is None and not agent:
            raise Unreachable(
                f"{place} needs an SSH key: `pulumi config set --secret gpucluster:sshPrivateKey`, or an SSH agent"
                " (SSH_AUTH_SOCK)"
            )
        try:
            return await asyncssh.connect(
                machine.address,
                port,
                tunnel=tunnel or (),
                config=None,
                username=user,
                client_keys=[asyncssh.import_private_key(key)] if key is not None else None,
                agent_path=None if key is not None else agent,
                known_hosts=([asyncssh.import_public_key(machine.host_key)], [], []),
                preferred_auth=["publickey"],
                connect_timeout=CONNECT_SECONDS,
                login_timeout=CONNECT_SECONDS,
                keepalive_interval=15,
                keepalive_count_max=8,
            )
        except asyncssh.HostKeyNotVerifiable:
            text = (
                "shows another host key than hostKey in the stack file. If the machine was installed again, read its"
                " key at its console (/etc/ssh/ssh_host_ed25519_key.pub); if not, somebody else answers at this address"
            )
        except asyncssh.PermissionDenied:
            source = "the SSH agent" if key is None else "gpucluster:sshPrivateKey"
            text = f"refuses the key of {source} for {user}; add its public key to ~{user}/.ssh/authorized_keys there"
        except socket.gaierror:
            text = "the name cannot be resolved; write an IP address"
        except ConnectionRefusedError:
            text = "refuses the connection; is sshd running there, and on this port?"
        except (asyncio.TimeoutError, TimeoutError):
            text = f"does not answer within {CONNECT_SECONDS} s; is it on, and does a firewall let SSH through?"
        except asyncssh.ChannelOpenError:
            text = f"cannot be reached from the jump host {self.access.jump_host and self.access.jump_host.address}"
        except OSError as error:
            text = f"has no route from here ({error.strerror or error})"
        except asyncssh.Error as error:
            text = f"ended the SSH handshake ({type(error).__name__})"
        raise Unreachable(f"{place} {text}") from None
