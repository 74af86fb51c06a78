"""What create, update, read and delete do on machines, in which order, and what is left when they fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from machines.errors import OperationError
from machines.inputs import CONTROL_PLANE, PREFLIGHT, WORKER
from packages.machines.tests.simulated import (
    CA_HASH,
    KUBECONFIG,
    TOKEN,
    SimulatedMachine,
    Site,
    control_plane,
    preflight,
    software,
    worker,
)


def two(**facts: Any) -> tuple[SimulatedMachine, SimulatedMachine]:
    return SimulatedMachine("cp1"), SimulatedMachine("gpu1", facts)


@dataclass
class Up:
    """A control plane and one worker; the worker's inputs and state. Nothing is noted of how they came up."""

    site: Site
    plane: SimulatedMachine
    machine: SimulatedMachine
    inputs: dict[str, Any]
    state: dict[str, Any]

    async def update(self, state: dict[str, Any] | None = None, **news: Any) -> dict[str, Any]:
        return await self.site.resources.update(WORKER, state or self.state, {**self.inputs, **news}, self.site.log)

    async def read(self) -> dict[str, Any]:
        return await self.site.resources.read(WORKER, self.inputs, self.state, self.site.log)

    async def delete(self) -> None:
        await self.site.resources.delete(WORKER, self.inputs, self.state, self.site.log)

    def node_actions(self) -> list[str]:
        return [each["ACTION"] for name, each in self.plane.phases if name == "node"]


async def join(site: Site, **more: Any) -> Up:
    """Create the site's two machines."""
    plane, machine = site.machines
    await site.resources.create(CONTROL_PLANE, control_plane(plane), site.log)
    inputs = worker(machine, plane, **more)
    return Up(site, plane, machine, inputs, (await site.resources.create(WORKER, inputs, site.log))[1])


@asynccontextmanager
async def joined(**more: Any) -> AsyncIterator[Up]:
    plane, machine = two(gpus=more.get("gpus", 0))
    async with Site(plane, machine) as site:
        up = await join(site, **more)
        plane.phases.clear()
        machine.phases.clear()
        yield up


async def test_a_control_plane_is_prepared_then_initialised() -> None:
    plane = SimulatedMachine("cp1")
    async with Site(plane) as site:
        name, state = await site.resources.create(CONTROL_PLANE, control_plane(plane), site.log)
    assert name == "cp1"
    assert plane.names == ["prepare", "init"]
    assert state["endpoint"] == "https://127.0.0.1:6443"
    assert state["caHash"] == CA_HASH
    assert state["adminKubeconfig"] == KUBECONFIG
    assert state["drift"] == []


@pytest.mark.parametrize(
    ("answer", "reported"), [(TimeoutError(), True), (OSError("no route"), True), (ConnectionRefusedError(), False)]
)
async def test_an_api_server_that_does_not_answer_is_reported_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, answer: Exception, reported: bool
) -> None:
    async def open_connection(*_: Any) -> Any:
        raise answer

    plane = SimulatedMachine("cp1")
    async with Site(plane) as site:
        monkeypatch.setattr("machines.resources.asyncio.open_connection", open_connection)
        await site.resources.create(CONTROL_PLANE, control_plane(plane), site.log)
    text = str(site.log.lines)
    assert ("network.authorizedNetworks" in text) is reported
    assert ("ssh -N -L 127.0.0.1:6443:127.0.0.1:6443" in text) is reported


async def test_a_worker_gets_its_driver_before_it_joins_and_its_token_goes() -> None:
    plane, machine = two(gpus=2)
    async with Site(plane, machine) as site:
        up = await join(site, nvidia={"driver": "580"}, gpus=2)
    assert machine.names == ["prepare", "driver", "join"]
    assert dict(machine.phases)["join"]["RESTART"] == "no"
    expected = [("token", "create"), ("token", "delete")]
    assert [(name, each["ACTION"]) for name, each in plane.phases if name == "token"] == expected
    assert plane.tokens == set()
    assert up.state["driverVersion"] == "580.95.05"
    assert plane.nodes["gpu1"]["metadata"]["labels"] == {"gpucluster.dev/gpu": "nvidia-t4"}
    assert TOKEN not in str(up.state)
    assert TOKEN not in str(site.log.lines)


@pytest.mark.parametrize("error", ["kubeadm join failed", None], ids=["an error", "a lost connection"])
async def test_no_token_is_left_when_the_join_fails_and_the_next_run_continues(error: str | None) -> None:
    plane, machine = two()
    async with Site(plane, machine) as site:
        machine.broken["join"] = error
        with pytest.raises(OperationError, match="gpu1") as failure:
            await join(site)
        assert failure.value.begun, "the state must have the machine, so that destroy cleans it"
        assert plane.tokens == set()
        assert TOKEN not in str(failure.value)
        machine.broken.clear()
        await site.resources.update(WORKER, {}, worker(machine, plane), site.log)
    assert machine.facts["joined"] == CA_HASH


async def test_a_machine_that_has_joined_needs_no_token_and_one_of_a_killed_run_is_deleted() -> None:
    plane, machine = two(joined=CA_HASH)
    plane.tokens.add("gpu1")
    async with Site(plane, machine) as site:
        plane.nodes["gpu1"] = {"metadata": {"labels": {}}, "spec": {}}
        await join(site)
    assert [each["ACTION"] for name, each in plane.phases if name == "token"] == ["delete"]
    assert plane.tokens == set()
    assert dict(machine.phases)["join"]["JOIN_CONFIG"] == ""


@pytest.mark.parametrize(("system", "fingerprint"), [("debian 12", "A" * 40), ("debian 13", "B" * 40)])
async def test_the_key_is_that_of_the_machines_release(system: str, fingerprint: str) -> None:
    plane, machine = two(gpus=2, os=system)
    async with Site(plane, machine) as site:
        made = software()
        made["nvidia"]["keys"] = {"debian13": {"keyUrl": "https://mirror.example/13.pub", "keyFingerprint": "B" * 40}}
        await join(site, nvidia={"driver": "580"}, gpus=2, software=made)
    assert dict(machine.phases)["driver"]["NVIDIA_KEY_FINGERPRINT"] == fingerprint
    assert ("13.pub" in dict(machine.phases)["driver"]["NVIDIA_KEY_URL"]) == (system == "debian 13")


async def test_preflight_looks_for_other_sources_of_the_repositories_that_a_machine_gets() -> None:
    plane, machine = two(gpus=2)
    async with Site(plane, machine) as site:
        await site.resources.create(PREFLIGHT, preflight(plane, machine, gpus=2), site.log)
    assert len(dict(plane.phases)["facts"]["SOURCES"].split()) == 1
    assert len(dict(machine.phases)["facts"]["SOURCES"].split()) == 3


async def test_a_reboot_is_waited_for_and_the_driver_phase_goes_on() -> None:
    plane, machine = two(gpus=2)
    machine.reboot_needed = True
    async with Site(plane, machine) as site:
        await join(site, nvidia={"driver": "580"}, gpus=2)
    assert machine.names == ["prepare", "driver", "reboot", "driver", "join"]
    drivers = [each["AFTER_REBOOT"] for name, each in machine.phases if name == "driver"]
    assert drivers == ["no", "yes"]


async def test_a_machine_of_an_earlier_version_of_the_plugin_is_brought_in_order_undrained() -> None:
    async with joined(nvidia={"driver": "580"}, gpus=2) as up:
        earlier = {key: value for key, value in up.state.items() if key != "scripts"}
        assert up.site.resources.diff(WORKER, up.inputs, up.state, up.inputs).changes == set()
        assert up.site.resources.diff(WORKER, up.inputs, earlier, up.inputs).changes == {"scripts"}
        after = await up.update(state=earlier)
    assert up.machine.names == ["prepare", "driver", "join"]
    assert "drain" not in up.node_actions()
    assert after == up.state


async def test_labels_change_on_the_control_plane_alone() -> None:
    async with joined() as up:
        after = await up.update(labels={"team": "vision"})
    assert up.machine.phases == []
    assert up.plane.nodes["gpu1"]["metadata"]["labels"] == {"team": "vision"}
    assert after["caHash"] == CA_HASH
    assert after["kubernetesVersion"] == "v1.34.4"


async def test_another_driver_is_installed_on_a_drained_node() -> None:
    async with joined(nvidia={"driver": "575"}, gpus=2) as up:
        await up.update(nvidia={"driver": "580"})
    actions = up.node_actions()
    assert actions[:2] == ["drain", "set"]
    assert up.plane.phases[1][1]["UNCORDON"] == "yes"
    assert up.machine.facts["driverVersion"] == "580.95.05"


async def test_a_refresh_of_an_unchanged_machine_changes_nothing_and_only_looks() -> None:
    async with joined() as up:
        assert await up.read() == up.state
    assert [name for name, _ in up.machine.phases] == ["facts"]
    assert [(name, each["ACTION"]) for name, each in up.plane.phases] == [("node", "get")]


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"kubelet": "enabled/inactive"}, "kubelet is enabled and inactive, not enabled and active"),
        ({"containerd": "disabled/active"}, "containerd is disabled and active, not enabled and active"),
        ({"changedFiles": "/etc/containerd/config.toml"}, "changed since: /etc/containerd/config.toml"),
        ({"kubeletVersion": "v1.34.9"}, "kubeletVersion is v1.34.9, not v1.34.4"),
        ({"notHeld": "kubeadm libcuda1"}, "not held: kubeadm, libcuda1"),
        ({"swap": "/dev/sda3"}, "uses swap: /dev/sda3"),
        ({"driverVersion": ""}, "NVIDIA driver not running, not 580"),
        ({"driverGpus": 1}, "nvidia-smi lists 1 GPUs, not 2"),
        ({"joined": ""}, "is in no cluster any more"),
    ],
)
async def test_drift_of_the_machine_is_one_sentence_and_up_mends_it(facts: dict[str, Any], sentence: str) -> None:
    async with joined(nvidia={"driver": "580"}, gpus=2) as up:
        up.machine.facts |= facts
        after = await up.read()
        assert after["drift"] == [sentence]
        assert up.site.resources.diff(WORKER, up.inputs, after, up.inputs).changes == {"drift"}
        await up.update(after)
    assert up.machine.names.count("prepare") == 1


async def test_a_label_and_a_node_that_are_gone_are_drift() -> None:
    async with joined() as up:
        up.plane.nodes["gpu1"]["metadata"]["labels"].clear()
        after = await up.read()
        assert after["drift"] == ["label gpucluster.dev/gpu is missing, not nvidia-t4"]
        del up.plane.nodes["gpu1"]
        after = await up.read()
        assert after["drift"] == ["its Node object is gone"]
        await up.update(after)
    assert [each["RESTART"] for name, each in up.machine.phases if name == "join"] == ["yes"]


async def test_a_deleted_worker_is_drained_reset_and_restored() -> None:
    async with joined() as up:
        await up.delete()
    assert up.machine.names == ["reset", "restore"]
    assert up.node_actions() == ["remove"]


async def test_a_machine_that_is_off_stops_refresh_and_delete_by_its_name_unless_it_is_skipped() -> None:
    async with joined() as up:
        await up.site.resources.close()
        await up.machine.stop()
        for task in (up.read, up.delete):
            with pytest.raises(OperationError, match=r"gpu1: .*refuses the connection(.|\n)*skipUnreachable"):
                await task()
        assert "gpu1" in up.plane.nodes
        up.site.resources.configure({"privateKey": up.site.private_key, "skipUnreachable": ["gpu1"]})
        assert await up.read() == up.state
        await up.delete()
    assert "gpu1" not in up.plane.nodes
    assert up.node_actions()[-1] == "forget"
    assert any("Clean it by hand" in line for line in up.site.log.lines)


async def test_another_machine_at_the_same_address_is_left_alone() -> None:
    async with joined() as up:
        up.machine.facts["machineId"] = "id-other"
        up.state["drift"] = ["kubelet is disabled"]
        with pytest.raises(OperationError, match="another machine"):
            await up.update()
    assert up.machine.names == []


async def test_a_cancelled_command_ends_the_running_phase_and_starts_no_other() -> None:
    plane = SimulatedMachine("cp1", slow=asyncio.Event())
    async with Site(plane) as site:
        task = asyncio.create_task(site.resources.create(CONTROL_PLANE, control_plane(plane), site.log))
        while "prepare" not in plane.names:
            await asyncio.sleep(0.01)
        site.resources.cancel()
        assert plane.slow is not None
        plane.slow.set()
        with pytest.raises(OperationError, match="cancelled before init") as failure:
            await task
    assert failure.value.begun
    assert plane.names == ["prepare"]


async def test_preflight_reports_all_problems_of_all_machines_and_changes_nothing() -> None:
    plane = SimulatedMachine("cp1", {"ports": "22 6443", "addresses": "10.244.3.1/24"})
    no_sudo = SimulatedMachine("gpu1", sudo=False)
    copied = SimulatedMachine("gpu2", {"machineId": "id-gpu3", "swap": "/dev/sda2"})
    original = SimulatedMachine("gpu3", {"hostname": "gpu2"})
    machines = (plane, no_sudo, copied, original)
    async with Site(*machines) as site:
        inputs = preflight(*machines)
        other = SimulatedMachine("other").property["hostKey"]
        copy = {**original.property, "name": "gpu4", "hostKey": other}
        inputs["machines"].append({"machine": copy, "role": "worker", "gpus": 1})
        with pytest.raises(OperationError) as failure:
            await site.resources.create(PREFLIGHT, inputs, site.log)
    text = str(failure.value)
    assert text.startswith("7 problems; nothing was changed on any machine:\n")
    for line in (
        "  cp1: already has something listening on 6443",
        "  cp1: is in the network 10.244.3.0/24, which overlaps podCidr 10.244.0.0/16",
        "  gpu1: ubuntu may not use sudo without a password",
        "  gpu2: uses swap (/dev/sda2)",
        "  gpu2 and gpu3: have the same host name 'gpu2'",
        "  gpu2 and gpu3: have the same machine-id 'id-gpu3': sudo rm -f /etc/machine-id /var/lib/dbus/machine-id && ",
        "  gpu4: 127.0.0.1:",
    ):
        assert line in text
    assert "shows another host key" in text
    assert all(machine.names == [] for machine in machines)


async def test_preflight_of_an_added_machine_opens_a_session_on_that_machine_alone() -> None:
    plane, first = two()
    second = SimulatedMachine("gpu2", {"hostname": "gpu1"})
    async with Site(plane, first, second) as site:
        state = (await site.resources.create(PREFLIGHT, preflight(plane, first), site.log))[1]
        plane.phases.clear()
        first.phases.clear()
        with pytest.raises(OperationError, match="gpu1 and gpu2: have the same host name"):
            await site.resources.update(PREFLIGHT, state, preflight(plane, first, second), site.log)
        second.facts["hostname"] = "gpu2"
        after = await site.resources.update(PREFLIGHT, state, preflight(plane, first, second), site.log)
    assert plane.phases == first.phases == []
    assert after["checked"] == ["cp1", "gpu1", "gpu2"]
