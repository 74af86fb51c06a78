"""Upgrades of Kubernetes and certificates that end: in which order, and what an interruption leaves."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from machines.errors import OperationError
from machines.inputs import CONTROL_PLANE, WORKER
from machines.wire import UNKNOWN
from packages.machines.tests.simulated import CA_HASH, CORDONED, SimulatedMachine, Site, control_plane, worker
from packages.machines.tests.test_resources import joined


def upgraded(inputs: dict[str, Any], version: str) -> dict[str, Any]:
    news = copy.deepcopy(inputs)
    news["software"]["kubernetes"]["version"] = version
    return news


async def test_a_control_plane_is_upgraded_before_its_own_kubelet_and_gives_a_new_kubeconfig() -> None:
    plane = SimulatedMachine("cp1")
    async with Site(plane) as site:
        inputs = control_plane(plane)
        _, state = await site.resources.create(CONTROL_PLANE, inputs, site.log)
        news = upgraded(inputs, "1.35.0")
        preview = site.resources.preview(CONTROL_PLANE, state, news)
        assert preview["kubernetesVersion"] is UNKNOWN
        assert preview["caHash"] == CA_HASH
        plane.phases.clear()
        state = await site.resources.update(CONTROL_PLANE, state, news, site.log)
    done = [variables.get("STEP") or variables.get("ACTION") or name for name, variables in plane.phases]
    expected = ["plane", "drain", "node", "set", "prepare", "init"]
    assert [each for each in done if each not in ("facts", "get")] == expected
    assert state["kubernetesVersion"] == "v1.35.0"


async def test_a_worker_is_drained_for_its_upgrade_and_serves_again() -> None:
    async with joined() as up:
        state = await up.update(**upgraded(up.inputs, "1.34.5"))
    assert up.machine.names == ["upgrade", "prepare", "join"]
    assert dict(up.machine.phases)["upgrade"]["STEP"] == "node"
    assert [each for each in up.node_actions() if each != "get"] == ["drain", "set"]
    assert CORDONED not in up.plane.nodes["gpu1"]["metadata"]["annotations"]
    assert state["kubernetesVersion"] == "v1.34.5"


async def test_workers_are_upgraded_one_after_the_other() -> None:
    plane, *workers = machines = [SimulatedMachine("cp1"), SimulatedMachine("gpu1"), SimulatedMachine("gpu2")]
    async with Site(*machines) as site:
        await site.resources.create(CONTROL_PLANE, control_plane(plane), site.log)
        states = [await site.resources.create(WORKER, worker(each, plane), site.log) for each in workers]
        plane.phases.clear()
        news = [upgraded(worker(each, plane), "1.34.5") for each in workers]
        pairs = zip(states, news, strict=True)
        updates = [site.resources.update(WORKER, state, each, site.log) for (_, state), each in pairs]
        await asyncio.gather(*updates)
    actions = [(each["NODE_NAME"], each["ACTION"]) for name, each in plane.phases if name == "node"]
    changes = [each for each in actions if each[1] != "get"]
    assert sorted([changes[:2], changes[2:]]) == [[(name, "drain"), (name, "set")] for name in ("gpu1", "gpu2")]


@pytest.mark.parametrize("broken", ["upgrade", "prepare"], ids=["before it has ended", "after it"])
async def test_an_interrupted_upgrade_goes_on_and_leaves_no_node_cordoned(broken: str) -> None:
    async with joined() as up:
        news = upgraded(up.inputs, "1.34.5")
        up.machine.broken[broken] = None
        with pytest.raises(OperationError, match="run the command again") as failure:
            await up.update(**news)
        assert failure.value.begun
        up.machine.broken.clear()
        await up.update({**up.state, **news, **failure.value.state}, **news)
    assert up.machine.facts["kubeletVersion"] == "v1.34.5"
    assert CORDONED not in up.plane.nodes["gpu1"]["metadata"]["annotations"]


async def test_a_killed_command_leaves_no_node_cordoned() -> None:
    async with joined() as up:
        up.plane.nodes["gpu1"]["metadata"]["annotations"] = {CORDONED: "yes"}
        await up.update({**up.state, "drift": ["kubelet is enabled and inactive"]})
    assert CORDONED not in up.plane.nodes["gpu1"]["metadata"]["annotations"]


async def test_the_version_of_an_upgraded_control_plane_is_known_after_a_failure() -> None:
    plane = SimulatedMachine("cp1")
    async with Site(plane) as site:
        inputs = control_plane(plane)
        _, state = await site.resources.create(CONTROL_PLANE, inputs, site.log)
        plane.broken["node"] = "cp1 cannot be drained"
        news = upgraded(inputs, "1.35.0")
        with pytest.raises(OperationError) as failure:
            await site.resources.update(CONTROL_PLANE, state, news, site.log)
        state |= {**news, **failure.value.state}
        with pytest.raises(OperationError, match="cannot go back"):
            site.resources.diff(CONTROL_PLANE, news, state, inputs)


async def test_certificates_that_end_are_drift_and_renewed() -> None:
    plane = SimulatedMachine("cp1")
    async with Site(plane) as site:
        inputs = control_plane(plane)
        _, state = await site.resources.create(CONTROL_PLANE, inputs, site.log)
        plane.facts["certificatesEnding"] = "apiserver.crt admin.conf"
        state = await site.resources.read(CONTROL_PLANE, inputs, state, site.log)
        assert state["drift"] == ["certificates end within 30 days: apiserver.crt admin.conf"]
        state = await site.resources.update(CONTROL_PLANE, state, inputs, site.log)
        assert (await site.resources.read(CONTROL_PLANE, inputs, state, site.log))["drift"] == []
