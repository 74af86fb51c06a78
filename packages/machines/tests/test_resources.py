"""What create, update, read and delete do on machines, in which order, and what is left when they fail."""

from __future__ import annotations

import asyncio
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
    run,
    worker,
)


async def up(site: Site, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A control plane and one worker; the worker's inputs and state."""
    plane, machine = site.machines[:2]
    await site.resources.create(CONTROL_PLANE, control_plane(plane), site.log)
    inputs = worker(machine, plane, **more)
    return inputs, (await site.resources.create(WORKER, inputs, site.log))[1]


def two(**facts: Any) -> tuple[SimulatedMachine, SimulatedMachine]:
    return SimulatedMachine("cp1"), SimulatedMachine("gpu1", facts)


def test_a_control_plane_is_prepared_then_initialised() -> None:
    async def work() -> None:
        plane = SimulatedMachine("cp1")
        async with Site(plane) as site:
            name, state = await site.resources.create(CONTROL_PLANE, control_plane(plane), site.log)
        assert name == "cp1"
        assert plane.names == ["prepare", "init"]
        assert state["endpoint"] == "https://127.0.0.1:6443"
        assert state["caHash"] == CA_HASH
        assert state["adminKubeconfig"] == KUBECONFIG
        assert state["drift"] == []

    run(work())


def test_a_worker_gets_its_driver_before_it_joins_and_its_token_is_gone_afterwards() -> None:
    async def work() -> None:
        plane, machine = two(gpus=2)
        async with Site(plane, machine) as site:
            _, state = await up(site, nvidia={"driver": "580"}, gpus=2)
        assert machine.names == ["prepare", "driver", "join"]
        assert [(name, each["ACTION"]) for name, each in plane.phases if name == "token"] == [
            ("token", "create"),
            ("token", "delete"),
        ]
        assert plane.tokens == set()
        assert state["driverVersion"] == "580.95.05"
        assert plane.nodes["gpu1"]["metadata"]["labels"] == {"gpucluster.dev/gpu": "nvidia-t4"}
        assert TOKEN not in str(state)
        assert TOKEN not in str(site.log.lines)

    run(work())


@pytest.mark.parametrize("error", ["kubeadm join failed", None], ids=["an error", "a lost connection"])
def test_no_token_is_left_when_the_join_fails_and_the_next_run_continues(error: str | None) -> None:
    async def work() -> None:
        plane, machine = two()
        async with Site(plane, machine) as site:
            machine.broken["join"] = error
            with pytest.raises(OperationError, match="gpu1") as failure:
                await up(site)
            assert failure.value.begun, "the state must have the machine, so that destroy cleans it"
            assert plane.tokens == set()
            assert TOKEN not in str(failure.value)
            machine.broken.clear()
            await site.resources.update(WORKER, {}, worker(machine, plane), site.log)
        assert machine.facts["joined"] == CA_HASH

    run(work())


def test_a_machine_that_has_joined_already_joins_without_a_token() -> None:
    async def work() -> None:
        plane, machine = two(joined=CA_HASH)
        async with Site(plane, machine) as site:
            plane.nodes["gpu1"] = {"metadata": {"labels": {}}, "spec": {}}
            await up(site)
        assert [each["ACTION"] for name, each in plane.phases if name == "token"] == []
        assert dict(machine.phases)["join"]["JOIN_CONFIG"] == ""

    run(work())


def test_a_reboot_is_waited_for_and_the_driver_phase_goes_on() -> None:
    async def work() -> None:
        plane, machine = two(gpus=2)
        machine.reboot_needed = True
        async with Site(plane, machine) as site:
            await up(site, nvidia={"driver": "580"}, gpus=2)
        assert machine.names == ["prepare", "driver", "reboot", "driver", "join"]
        drivers = [each["AFTER_REBOOT"] for name, each in machine.phases if name == "driver"]
        assert drivers == ["no", "yes"]

    run(work())


def test_labels_change_on_the_control_plane_alone() -> None:
    async def work() -> None:
        plane, machine = two()
        async with Site(plane, machine) as site:
            inputs, state = await up(site)
            machine.phases.clear()
            news = {**inputs, "labels": {"team": "vision"}}
            after = await site.resources.update(WORKER, state, news, site.log)
        assert machine.phases == []
        assert plane.nodes["gpu1"]["metadata"]["labels"] == {"team": "vision"}
        assert after["caHash"] == CA_HASH
        assert after["kubernetesVersion"] == "v1.34.4"

    run(work())


def test_another_driver_is_installed_on_a_drained_node() -> None:
    async def work() -> None:
        plane, machine = two(gpus=2)
        async with Site(plane, machine) as site:
            inputs, state = await up(site, nvidia={"driver": "575"}, gpus=2)
            plane.phases.clear()
            await site.resources.update(WORKER, state, {**inputs, "nvidia": {"driver": "580"}}, site.log)
        actions = [each["ACTION"] for name, each in plane.phases if name == "node"]
        assert actions[:2] == ["drain", "set"]
        assert plane.phases[1][1]["UNCORDON"] == "yes"
        assert machine.facts["driverVersion"] == "580.95.05"

    run(work())


def test_a_refresh_of_an_unchanged_machine_changes_nothing_and_only_looks() -> None:
    async def work() -> None:
        plane, machine = two()
        async with Site(plane, machine) as site:
            inputs, state = await up(site)
            machine.phases.clear()
            plane.phases.clear()
            assert await site.resources.read(WORKER, inputs, state, site.log) == state
        assert [name for name, _ in machine.phases] == ["facts"]
        assert [(name, each["ACTION"]) for name, each in plane.phases] == [("node", "get")]

    run(work())


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"kubelet": "enabled/inactive"}, "kubelet is enabled and inactive, not enabled and active"),
        ({"containerd": "disabled/active"}, "containerd is disabled and active, not enabled and active"),
        ({"changedFiles": "/etc/containerd/config.toml"}, "changed since: /etc/containerd/config.toml"),
        ({"kubeletVersion": "v1.34.9"}, "kubeletVersion is v1.34.9, not v1.34.4"),
        ({"holds": "kubelet kubectl"}, "not held: kubeadm"),
        ({"swap": "/dev/sda3"}, "uses swap: /dev/sda3"),
        ({"driverVersion": ""}, "NVIDIA driver not running, not 580"),
        ({"driverGpus": 1}, "nvidia-smi lists 1 GPUs, not 2"),
        ({"joined": ""}, "is in no cluster any more"),
    ],
)
def test_drift_of_the_machine_is_one_sentence_and_up_mends_it(facts: dict[str, Any], sentence: str) -> None:
    async def work() -> None:
        plane, machine = two(gpus=2)
        async with Site(plane, machine) as site:
            inputs, state = await up(site, nvidia={"driver": "580"}, gpus=2)
            machine.facts |= facts
            after = await site.resources.read(WORKER, inputs, state, site.log)
            assert after["drift"] == [sentence]
            assert site.resources.diff(WORKER, inputs, after, inputs).changes == {"drift"}
            await site.resources.update(WORKER, after, inputs, site.log)
        assert machine.names.count("prepare") == 2

    run(work())


def test_a_label_and_a_node_that_are_gone_are_drift() -> None:
    async def work() -> None:
        plane, machine = two()
        async with Site(plane, machine) as site:
            inputs, state = await up(site)
            plane.nodes["gpu1"]["metadata"]["labels"].clear()
            after = await site.resources.read(WORKER, inputs, state, site.log)
            assert after["drift"] == ["label gpucluster.dev/gpu is missing, not nvidia-t4"]
            del plane.nodes["gpu1"]
            after = await site.resources.read(WORKER, inputs, state, site.log)
            assert after["drift"] == ["its Node object is gone"]
            await site.resources.update(WORKER, after, inputs, site.log)
        assert [each["RESTART"] for name, each in machine.phases if name == "join"] == ["no", "yes"]

    run(work())


def test_a_deleted_worker_is_drained_reset_and_restored() -> None:
    async def work() -> None:
        plane, machine = two()
        async with Site(plane, machine) as site:
            inputs, state = await up(site)
            machine.phases.clear()
            plane.phases.clear()
            await site.resources.delete(WORKER, inputs, state, site.log)
        assert machine.names == ["reset", "restore"]
        assert [each["ACTION"] for name, each in plane.phases if name == "node"] == ["remove"]

    run(work())


def test_a_machine_that_is_off_stops_refresh_and_delete_by_its_name_unless_it_is_skipped() -> None:
    async def work() -> None:
        plane, machine = two()
        async with Site(plane, machine) as site:
            inputs, state = await up(site)
            await site.resources.close()
            await machine.stop()
            for task in (site.resources.read, site.resources.delete):
                with pytest.raises(OperationError, match=r"gpu1: .*refuses the connection(.|\n)*skipUnreachable"):
                    await task(WORKER, inputs, state, site.log)
            assert "gpu1" in plane.nodes
            site.resources.configure({"privateKey": site.private_key, "skipUnreachable": ["gpu1"]})
            assert await site.resources.read(WORKER, inputs, state, site.log) == state
            await site.resources.delete(WORKER, inputs, state, site.log)
        assert "gpu1" not in plane.nodes
        assert [each["ACTION"] for name, each in plane.phases if name == "node"][-1] == "forget"
        assert any("Clean it by hand" in line for line in site.log.lines)

    run(work())


def test_another_machine_at_the_same_address_is_left_alone() -> None:
    async def work() -> None:
        plane, machine = two()
        async with Site(plane, machine) as site:
            inputs, state = await up(site)
            machine.facts["machineId"] = "id-other"
            machine.phases.clear()
            state["drift"] = ["kubelet is disabled"]
            with pytest.raises(OperationError, match="another machine"):
                await site.resources.update(WORKER, state, inputs, site.log)
        assert machine.names == []

    run(work())


def test_a_cancelled_command_ends_the_running_phase_and_starts_no_other() -> None:
    async def work() -> None:
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

    run(work())


def test_preflight_reports_all_problems_of_all_machines_and_changes_nothing() -> None:
    async def work() -> None:
        plane = SimulatedMachine("cp1", {"ports": "22 6443", "addresses": "10.244.3.1/24"})
        no_sudo = SimulatedMachine("gpu1", sudo=False)
        copied = SimulatedMachine("gpu2", {"machineId": "id-gpu3", "swap": "/dev/sda2"})
        original = SimulatedMachine("gpu3", {"hostname": "gpu2"})
        machines = (plane, no_sudo, copied, original)
        async with Site(*machines) as site:
            inputs = preflight(*machines)
            other = SimulatedMachine("other").property["hostKey"]
            inputs["machines"].append(
                {"machine": {**original.property, "name": "gpu4", "hostKey": other}, "role": "worker", "gpus": 1}
            )
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
            "  gpu2 and gpu3: have the same machine-id 'id-gpu3'",
            "  gpu4: 127.0.0.1:",
        ):
            assert line in text
        assert "shows another host key" in text
        assert all(machine.names == [] for machine in machines)

    run(work())


def test_preflight_of_an_added_machine_opens_a_session_on_that_machine_alone() -> None:
    async def work() -> None:
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

    run(work())
