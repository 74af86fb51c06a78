"""Each way in which a session cannot be had is a sentence of its own that names the machine."""

from __future__ import annotations

import asyncio
import socket

import asyncssh
import pytest

from machines import ssh
from machines.errors import OperationError, Unreachable
from machines.scripts import FACTS, PREPARE, Phase, compose
from machines.ssh import Sessions, SshAccess, SshMachine
from packages.machines.tests.simulated import SimulatedMachine, Site


async def refused(machine: dict[str, object], private_key: str | None, **config: object) -> str:
    sessions = Sessions(SshAccess.of({"privateKey": private_key, **config}))
    with pytest.raises(Unreachable) as failure:
        await sessions.run(SshMachine.of(machine), FACTS, {})
    await sessions.close()
    return str(failure.value)


async def test_a_host_key_that_is_not_the_pinned_one_is_refused() -> None:
    gpu1, other = SimulatedMachine("gpu1"), SimulatedMachine("other")
    async with Site(gpu1, other) as site:
        text = await refused({**gpu1.property, "hostKey": other.property["hostKey"]}, site.private_key)
    assert text.startswith(f"gpu1: 127.0.0.1:{gpu1.port} shows another host key")
    assert gpu1.phases == []


async def test_a_key_that_the_machine_does_not_know_is_refused_and_not_shown() -> None:
    gpu1 = SimulatedMachine("gpu1")
    stranger = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    async with Site(gpu1):
        text = await refused(gpu1.property, stranger)
    assert "refuses the key of gpucluster:sshPrivateKey for ubuntu" in text
    assert "PRIVATE" not in text


async def test_without_a_key_and_an_agent_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    gpu1 = SimulatedMachine("gpu1")
    assert "needs an SSH key" in await refused({**gpu1.property, "port": 22}, None)


async def test_an_agent_is_used_where_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nonexistent/agent")
    gpu1 = SimulatedMachine("gpu1")
    async with Site(gpu1):
        assert "the key of the SSH agent" in await refused(gpu1.property, None)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(113, "No route to host"), "has no route from here (No route to host)"),
        (ConnectionRefusedError(), "refuses the connection"),
        (TimeoutError(), "does not answer within 20 s"),
        (asyncio.TimeoutError(), "does not answer within 20 s"),
        (socket.gaierror(), "cannot be resolved"),
        (asyncssh.ConnectionLost("x"), "ended the SSH handshake"),
    ],
)
async def test_what_the_network_does(monkeypatch: pytest.MonkeyPatch, error: Exception, text: str) -> None:
    async def connect(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ssh.asyncssh, "connect", connect)
    key = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    message = await refused({**SimulatedMachine("gpu1").property, "port": 2222}, key)
    assert message.startswith("gpu1: 127.0.0.1:2222 ")
    assert text in message


async def test_sudo_with_a_password_is_named() -> None:
    gpu1 = SimulatedMachine("gpu1", sudo=False)
    async with Site(gpu1) as site:
        text = await refused(gpu1.property, site.private_key)
    assert "ubuntu may not use sudo without a password" in text
    assert "NOPASSWD" in text


async def test_a_phase_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu1 = SimulatedMachine("gpu1", slow=asyncio.Event())
    async with Site(gpu1) as site:
        sessions = Sessions(SshAccess.of({"privateKey": site.private_key}))
        with pytest.raises(OperationError, match="gpu1: prepare has not ended"):
            await sessions.run(SshMachine.of(gpu1.property), Phase("prepare", 1), {})
        assert gpu1.slow is not None
        gpu1.slow.set()
        await sessions.close()


async def test_writing_phases_of_one_machine_run_one_after_the_other_and_looks_at_once() -> None:
    gpu1 = SimulatedMachine("gpu1", slow=asyncio.Event())
    async with Site(gpu1) as site:
        sessions = Sessions(SshAccess.of({"privateKey": site.private_key}))
        machine = SshMachine.of(gpu1.property)
        writing = [asyncio.create_task(sessions.run(machine, PREPARE, {})) for _ in range(2)]
        while gpu1.names != ["prepare"]:
            await asyncio.sleep(0.01)
        await asyncio.gather(*(sessions.run(machine, FACTS, {}) for _ in range(20)))
        assert gpu1.names == ["prepare"], "the second waits"
        assert gpu1.slow is not None
        gpu1.slow.set()
        await asyncio.gather(*writing)
        await sessions.close()
    assert gpu1.names == ["prepare", "prepare"]


async def test_a_session_through_a_jump_host() -> None:
    jump, gpu1 = SimulatedMachine("jump"), SimulatedMachine("gpu1")
    async with Site(jump, gpu1) as site:
        host = {key: value for key, value in jump.property.items() if key != "name"}
        sessions = Sessions(SshAccess.of({"privateKey": site.private_key, "jumpHost": host}))
        assert (await sessions.run(SshMachine.of(gpu1.property), FACTS, {}))["hostname"] == "gpu1"
        await sessions.close()


def test_values_with_quotes_and_lines_reach_the_script_as_they_are() -> None:
    script = compose(FACTS, {"A": "it's $(reboot) `x`\nnext", "B": ""})
    assert script.startswith("# phase: facts\nA='it'\"'\"'s $(reboot) `x`\nnext'\nB=''\n# shellcheck")
    assert script.endswith("\nmain </dev/null\n")
