"""Several control planes: how they join and leave, which of them administers, and what no running cluster takes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from machines.differences import difference
from machines.errors import OperationError
from machines.inputs import ADDITIONAL_PLANE, CONTROL_PLANE, WORKER, problems_of
from machines.preflight import Candidate, problems
from packages.machines.tests.simulated import (
    CA_HASH,
    CERTIFICATE_KEY,
    CORDONED,
    ENCRYPTION,
    FACTS,
    TOKEN,
    VIRTUAL,
    SimulatedMachine,
    Site,
    additional,
    control_plane,
    preflight,
    worker,
)
from packages.machines.tests.test_life import upgraded


@dataclass
class Three:
    """Three control planes; ``inputs`` and ``states`` by machine. Nothing is noted of how they came up."""

    site: Site
    machines: tuple[SimulatedMachine, ...]
    inputs: dict[str, dict[str, Any]]
    states: dict[str, dict[str, Any]]

    async def update(self, kind: str, name: str, **news: Any) -> dict[str, Any]:
        inputs = {**self.inputs[name], **news}
        return await self.site.resources.update(kind, self.states[name], inputs, self.site.log)

    async def switch_off(self, machine: SimulatedMachine) -> None:
        await self.site.resources.close()
        await machine.stop()


@asynccontextmanager
async def three() -> AsyncIterator[Three]:
    first, *others = machines = tuple(SimulatedMachine(name) for name in ("cp1", "cp2", "cp3"))
    async with Site(*machines) as site:
        site.configure(controlPlanes=[each.property for each in machines])
        inputs = {"cp1": control_plane(first, virtualAddress=VIRTUAL)}
        inputs |= {each.name: additional(each, first) for each in others}
        create = site.resources.create
        states = {"cp1": (await create(CONTROL_PLANE, inputs["cp1"], site.log))[1]}
        made = await asyncio.gather(*(create(ADDITIONAL_PLANE, inputs[each.name], site.log) for each in others))
        states |= dict(made)
        yield Three(site, machines, inputs, states)


def clear(*machines: SimulatedMachine) -> None:
    for machine in machines:
        machine.phases.clear()


async def test_they_join_one_after_the_other_by_a_token_and_a_key_that_are_gone_afterwards() -> None:
    async with three() as up:
        first, second, third = up.machines
    assert [each.names for each in up.machines] == [["prepare", "init"]] * 3
    assert first.members == {"cp1", "cp2", "cp3"}
    assert first.tokens == set()
    tokens = [(each["NODE_NAME"], each["ACTION"]) for name, each in first.phases if name == "token"]
    assert tokens in (
        [(name, action) for name in names for action in ("create", "delete")]
        for names in (("cp2", "cp3"), ("cp3", "cp2"))
    )
    sent = dict(second.phases)["init"]
    documents = {each["kind"]: each for each in map(json.loads, sent["JOIN_CONFIG"].split("\n---\n"))}
    join = documents["JoinConfiguration"]
    expected = {"localAPIEndpoint": {"advertiseAddress": "127.0.0.1"}, "certificateKey": CERTIFICATE_KEY}
    assert join["controlPlane"] == expected
    assert join["discovery"]["bootstrapToken"]["apiServerEndpoint"] == f"{VIRTUAL}:6443"
    assert sent["ENCRYPTION"] == ENCRYPTION
    assert sent["VIRTUAL_ADDRESS"] == VIRTUAL
    made = map(json.loads, dict(first.phases)["init"]["INIT_CONFIG"].split("\n---\n"))
    (cluster,) = [each for each in made if each["kind"] == "ClusterConfiguration"]
    assert cluster["controlPlaneEndpoint"] == f"{VIRTUAL}:6443"
    assert up.states["cp1"]["endpoint"] == f"https://{VIRTUAL}:6443"
    assert third.facts["controlPlane"]
    for secret in (TOKEN, CERTIFICATE_KEY, ENCRYPTION):
        assert secret not in str(up.states)
        assert secret not in str(up.site.log.lines)


async def test_no_token_and_no_key_is_left_when_a_control_plane_does_not_join_and_the_next_run_continues() -> None:
    first, second = SimulatedMachine("cp1"), SimulatedMachine("cp2")
    async with Site(first, second) as site:
        await site.resources.create(CONTROL_PLANE, control_plane(first, virtualAddress=VIRTUAL), site.log)
        second.broken["init"] = "kubeadm join failed"
        with pytest.raises(OperationError, match="kubeadm join failed") as failure:
            await site.resources.create(ADDITIONAL_PLANE, additional(second, first), site.log)
        assert failure.value.begun
        assert first.tokens == set()
        second.broken.clear()
        # What the attempt left in the cluster goes first.
        first.members.add("cp2")
        clear(first)
        await site.resources.update(ADDITIONAL_PLANE, {}, additional(second, first), site.log)
    actions = [(each["ACTION"], each["MEMBER"]) for name, each in first.phases if name == "node"]
    assert actions[0] == ("forget", "127.0.0.1")
    assert first.members == {"cp1", "cp2"}


async def test_a_control_plane_leaves_etcd_before_it_is_reset() -> None:
    async with three() as up:
        first, second, third = up.machines
        clear(*up.machines)
        delete = up.site.resources.delete
        leaving = [(up.inputs[each.name], up.states[each.name]) for each in (second, third)]
        await asyncio.gather(*(delete(ADDITIONAL_PLANE, *its, up.site.log) for its in leaving))
        assert first.members == {"cp1"}
        assert second.names == third.names == ["reset", "restore"]
        clear(first)
        await up.site.resources.delete(CONTROL_PLANE, up.inputs["cp1"], up.states["cp1"], up.site.log)
    assert [(name, each) for name, each in first.phases if name == "reset"] == [("reset", {"OTHERS": "no"})]


async def test_another_control_plane_administers_while_the_first_is_off() -> None:
    async with three() as up:
        first, second, third = up.machines
        machine = SimulatedMachine("gpu1")
        machine.plane = first
        machine.nodes = first.nodes
        await machine.start(up.site.user)
        inputs = worker(machine, first)
        _, state = await up.site.resources.create(WORKER, inputs, up.site.log)
        clear(*up.machines, machine)
        await up.switch_off(first)
        await up.site.resources.update(WORKER, state, {**inputs, "labels": {"team": "vision"}}, up.site.log)
        assert first.nodes["gpu1"]["metadata"]["labels"] == {"team": "vision"}
        assert machine.phases == first.phases == third.phases == []
        assert {name for name, _ in second.phases} == {"node"}
        await up.site.resources.delete(WORKER, inputs, state, up.site.log)
        assert "gpu1" not in first.nodes
        assert machine.names == ["reset", "restore"]
        await up.site.resources.close()
        await machine.stop()


async def test_a_lost_control_plane_is_replaced_by_another_once_it_is_named() -> None:
    async with three() as up:
        first, _, third = up.machines
        await up.switch_off(third)
        new = SimulatedMachine("cp4")
        new.plane, new.nodes, new.tokens, new.members = first, first.nodes, first.tokens, first.members
        await new.start(up.site.user)
        planes = [each.property for each in (*up.machines[:2], new)]
        up.site.configure(controlPlanes=planes, skipUnreachable=["cp3", "cp9", "gpu1"])
        first.nodes["cp9"] = {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}, "spec": {}}
        first.nodes["gpu1"] = {"metadata": {"labels": {}}, "spec": {}}
        clear(first)
        await up.site.resources.create(ADDITIONAL_PLANE, additional(new, first), up.site.log)
        actions = [each for name, each in first.phases if name == "node"]
        forgotten = [each["NODE_NAME"] for each in actions if each.get("ACTION") == "forget"]
        assert forgotten == ["cp4", "cp3", "cp9"], "etcd takes no member while one of it does not answer"
        assert sorted(first.nodes) == ["cp1", "cp2", "cp4", "gpu1"], "a worker that is off keeps its node"
        await up.site.resources.delete(ADDITIONAL_PLANE, up.inputs["cp3"], up.states["cp3"], up.site.log)
        assert first.members == {"cp1", "cp2", "cp4"}
        await up.site.resources.close()
        await new.stop()


async def test_the_first_control_plane_joins_the_others_if_it_was_installed_anew() -> None:
    async with three() as up:
        first = up.machines[0]
        first.facts |= {"machineId": "id-new", "joined": "", "controlPlane": ""}
        clear(*up.machines)
        up.states["cp1"]["drift"] = ["is in no cluster any more"]
        state = await up.update(CONTROL_PLANE, "cp1")
    sent = dict(first.phases)["init"]
    assert sent["JOIN_CONFIG"]
    assert not sent["INIT_CONFIG"]
    assert state["caHash"] == CA_HASH
    assert first.members == {"cp1", "cp2", "cp3"}


async def test_it_makes_no_second_cluster_while_nobody_knows_whether_the_others_have_one() -> None:
    async with three() as up:
        first, *others = up.machines
        first.facts |= {"joined": "", "controlPlane": ""}
        up.states["cp1"]["drift"] = ["is in no cluster any more"]
        for machine in others:
            await up.switch_off(machine)
        clear(first)
        with pytest.raises(OperationError, match=r"whether cp2 still is cannot be known(.|\n)*skipUnreachable"):
            await up.update(CONTROL_PLANE, "cp1")
    assert "init" not in first.names


async def test_control_planes_are_upgraded_one_after_the_other_the_first_decides() -> None:
    async with three() as up:
        clear(*up.machines)
        kinds = {"cp1": CONTROL_PLANE, "cp2": ADDITIONAL_PLANE, "cp3": ADDITIONAL_PLANE}
        for turn in (("cp1",), ("cp2", "cp3")):
            updates = [up.update(kinds[name], name, **upgraded(up.inputs[name], "1.34.5")) for name in turn]
            up.states |= dict(zip(turn, await asyncio.gather(*updates), strict=True))
        steps = [
            [(each["STEP"], each["FIRST"]) for name, each in machine.phases if name == "upgrade"]
            for machine in up.machines
        ]
        assert steps == [[("plane", "yes"), ("node", "yes")], *[[("plane", "no"), ("node", "no")]] * 2]
        actions = [(each["NODE_NAME"], each["ACTION"]) for name, each in up.machines[0].phases if name == "node"]
        changes = [each for each in actions if each[1] != "get"]
        assert [name for name, _ in changes[::2]] == [name for name, _ in changes[1::2]], "one at a time"
        assert [action for _, action in changes] == ["drain", "set"] * 3
        for name, state in up.states.items():
            assert state["kubernetesVersion"] == "v1.34.5"
            assert CORDONED not in up.machines[0].nodes[name]["metadata"]["annotations"]


async def test_a_stopped_keepalived_is_drift_where_there_is_a_shared_address() -> None:
    async with three() as up:
        up.machines[1].facts["keepalived"] = "enabled/inactive"
        state = await up.site.resources.read(ADDITIONAL_PLANE, up.inputs["cp2"], up.states["cp2"], up.site.log)
    assert state["drift"] == ["keepalived is enabled and inactive, not enabled and active"]


CP1, CP2 = SimulatedMachine("cp1"), SimulatedMachine("cp2")
CP1.port = CP2.port = 22
STATE = {"facts": {"cgroup": "v2"}, "kubernetesVersion": "v1.34.4"}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (None, "127.0.0.9", "for three, write it before the cluster is made"),
        ("127.0.0.9", None, "write virtualAddress: 127.0.0.9"),
        ("127.0.0.9", "127.0.0.8", "write virtualAddress: 127.0.0.9"),
    ],
)
def test_the_shared_address_cannot_change(before: str | None, after: str | None, words: str) -> None:
    def inputs(address: str | None) -> dict[str, Any]:
        return control_plane(CP1, **({"virtualAddress": address} if address else {}))

    with pytest.raises(OperationError) as refused:
        difference(CONTROL_PLANE, inputs(before), STATE, inputs(after))
    assert words in str(refused.value)
    assert "virtualAddress cannot change" in str(refused.value)
    assert difference(CONTROL_PLANE, inputs(after), {}, inputs(before)).changes == {"virtualAddress"}


@pytest.mark.parametrize(
    ("shared", "words"), [({"virtualAddress": VIRTUAL}, "install it anew"), ({}, "take this one down first")]
)
def test_another_first_control_plane_is_refused(shared: dict[str, str], words: str) -> None:
    """With one control plane it would be another cluster, and this one with all of its volumes gone."""
    olds, news = (control_plane(each, **shared) for each in (CP1, CP2))
    with pytest.raises(OperationError, match=rf"cp1 .* has to be the first .*{words}"):
        difference(CONTROL_PLANE, olds, STATE, news)


def test_the_shared_address_is_in_the_network_of_each_control_plane() -> None:
    known = {"hostname": "cp1", "machineId": "1", "addresses": "192.0.2.10/24 192.0.2.9/32"}
    facts = {**FACTS, **known, "time": time.time()}
    inputs = {**preflight(CP1), "virtualAddress": "192.0.2.9"}
    assert problems([Candidate("cp1", "controlPlane", 0, facts)], inputs, {}) == []
    inputs["virtualAddress"] = "198.51.100.9"
    (problem,) = problems([Candidate("cp1", "controlPlane", 0, facts)], inputs, {})
    assert "is in 192.0.2.0/24, which virtualAddress 198.51.100.9 is not in" in problem.text
    assert problems([Candidate("gpu1", "worker", 0, facts)], inputs, {}) == []


def test_inputs_of_an_additional_control_plane() -> None:
    assert problems_of(ADDITIONAL_PLANE, additional(CP2, CP1)) == []
    wrong = {**additional(CP2, CP1), "virtualAddress": "cp.example", "nvidia": {"driver": "580"}}
    assert {each.where for each in problems_of(ADDITIONAL_PLANE, wrong)} == {"virtualAddress", "nvidia"}
    own = control_plane(CP1, virtualAddress="127.0.0.1")
    assert [each.where for each in problems_of(CONTROL_PLANE, own)] == ["virtualAddress"]
