"""Another ``timeSharing`` of machines that are always there, while pods have their GPUs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from facts.concepts.pool import POOL_LABEL
from tests.api_server import ApiServer, Reader
from tests.program.test_machine_keys import EXAMPLES, existing_pool, host_key, own_pool
from tests.recorder import Recording
from tests.stacks import run_with

SECRET = "gpucluster:kubeconfig"
POOLS = {"own": own_pool, "existing": existing_pool}
FOUR: dict[str, Any] = {"timeSharing": {"clientsPerGpu": 4}}
EIGHT: dict[str, Any] = {"timeSharing": {"clientsPerGpu": 8}}
# A pool of an existing cluster has the number of GPUs in its name.
RENAMED: dict[str, dict[str, Any]] = {"own": {"name": "renamed"}, "existing": {"gpusPerNode": 8}}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    api = ApiServer()
    with mock.patch("components.cluster_reader.ClusterReader", return_value=Reader(api, "")):
        yield api


def update(stack: str, deployed: Recording | None = None, **pool: Any) -> Recording:
    keys = {**EXAMPLES[stack], "gpucluster:gpuPools": [POOLS[stack](**pool)], "gpucluster:teams": []}
    login = {SECRET: "secret-content"} if stack == "existing" else {}
    return run_with({**keys, **login}, "lab", secrets=[*login], deployed=deployed)


def add_pod(server: ApiServer, node: str, phase: str = "Running", gpus: int = 1) -> None:
    requests = {"requests": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    pod = {"nodeName": node, "containers": [{"name": "c", "resources": requests}]}
    name = f"{node}-{phase}-{gpus}".lower()
    metadata = {"namespace": "research", "name": name}
    server.objects[f"/api/v1/namespaces/research/pods/{name}"] = {
        "metadata": metadata,
        "spec": pod,
        "status": {"phase": phase},
    }


def plugins(program: Recording) -> dict[str, list[str]]:
    """Variant of the device plugin → the pools on whose machines it runs."""
    result = {}
    for each in program.of_type("kubernetes:apps/v1:DaemonSet"):
        _, found, variant = each.name.partition("device-plugin-")
        if found:
            affinity = each.inputs["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
            (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
            result[variant] = [name for name in term["matchExpressions"][0]["values"] if name]
    return result


@pytest.mark.parametrize("stack", POOLS)
@pytest.mark.parametrize(("before", "after"), [({}, FOUR), (EIGHT, FOUR)])
def test_it_waits_until_no_pod_has_one_of_them(
    stack: str, before: dict[str, Any], after: dict[str, Any], server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    monkeypatch.setattr("pulumi.info", messages.append)
    first = update(stack, **before)
    ((old, (pool,)),) = plugins(first).items()
    new = "shared-4"
    for node, name in (("gpu1", pool), ("other", "other")):
        metadata = {"name": node, "labels": {POOL_LABEL: name}}
        server.objects[f"/api/v1/nodes/{node}"] = {"metadata": metadata}
    add_pod(server, "gpu1")
    second = update(stack, first, **after)
    assert plugins(second) == {old: [pool], new: []}
    assert [each.secret_inputs for each in second.of_type("kubernetes:apps/v1:DaemonSet") if each.secret_inputs] == []
    (line,) = messages
    assert f"{pool} has pods with GPUs (research/gpu1-running-1): run `up` again" in line
    server.objects = {path: each for path, each in server.objects.items() if "/pods/" not in path}
    add_pod(server, "gpu1", phase="Succeeded")
    add_pod(server, "gpu1", gpus=0)
    add_pod(server, "other")
    third = update(stack, second, **after)
    assert plugins(third) == {old: [], new: [pool]}
    add_pod(server, "gpu1")
    assert plugins(update(stack, third, **after)) == {new: [pool]}
    assert len(messages) == 1


@pytest.mark.parametrize("stack", POOLS)
@pytest.mark.parametrize("waits", [False, True])
def test_it_waits_for_a_pool_of_another_name(
    stack: str, waits: bool, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machines and their pods are the same; also if the sharing waits since the update before."""
    monkeypatch.setattr("pulumi.info", lambda text: None)
    deployed = update(stack, **EIGHT)
    ((old, (pool,)),) = plugins(deployed).items()
    server.objects["/api/v1/nodes/gpu1"] = {"metadata": {"name": "gpu1", "labels": {POOL_LABEL: pool}}}
    add_pod(server, "gpu1")
    if waits:
        deployed = update(stack, deployed, **FOUR)
    renamed = update(stack, deployed, **FOUR, **RENAMED[stack])
    running = plugins(renamed)
    (name,) = running[old]
    assert name != pool
    assert running == {old: [name], "shared-4": []}
    server.objects["/api/v1/nodes/gpu1"]["metadata"]["labels"] = {POOL_LABEL: name}
    assert plugins(update(stack, renamed, **FOUR, **RENAMED[stack])) == running
    server.objects = {path: each for path, each in server.objects.items() if "/pods/" not in path}
    assert plugins(update(stack, renamed, **FOUR, **RENAMED[stack])) == {old: [], "shared-4": [name]}


@pytest.mark.parametrize("stack", POOLS)
def test_machines_that_nobody_is_to_share_any_more_say_so_at_once(stack: str, server: ApiServer) -> None:
    """Their labels and taints do: with the former plugin, pods that share nothing would get a share."""
    first = update(stack, **FOUR)
    (pool,) = plugins(first)["shared-4"]
    server.objects["/api/v1/nodes/gpu1"] = {"metadata": {"name": "gpu1", "labels": {POOL_LABEL: pool}}}
    add_pod(server, "gpu1")
    assert plugins(update(stack, first)) == {"shared-4": [], "whole": [pool]}


@pytest.mark.parametrize("stack", POOLS)
def test_it_waits_while_nobody_knows(stack: str, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr("pulumi.info", messages.append)
    first = update(stack)
    server.denied = frozenset({"list pods"})
    assert plugins(update(stack, first, **FOUR)) == {**plugins(first), "shared-4": []}
    assert ["nothing is known" in each and "cannot list" in each for each in messages] == [True]


def test_an_update_without_it_asks_nothing(server: ApiServer) -> None:
    for stack in POOLS:
        update(stack, update(stack), labels={"example.com/rack": "7"})
    assert server.asked == []


@pytest.mark.parametrize("moved", [{"name": "renamed"}, {"gpusPerNode": 4}])
def test_a_machine_stays_the_resource_that_it_was(moved: dict[str, Any]) -> None:
    """As another one it would join, and then leave the cluster as the former one goes. From one update to the next, and
    from 0.1.0, where the pool was in its name."""
    first = update("own")
    second = update("own", first, **moved)
    workers = [recording.of_type("gpucluster-machines:index:Worker") for recording in (first, second)]
    assert {each.name for each in workers[0]} == {each.name for each in workers[1]} == {"gpu1", "gpu2"}
    assert {each.inputs["labels"][POOL_LABEL] for each in workers[0] + workers[1]} > {"t4-2"}
    earlier = {urn.replace("Worker::", "Worker::t4-2-pool-"): answer for urn, answer in first.answers.items()}
    after = update("own", dataclasses.replace(first, answers=earlier), **moved).of_type(
        "gpucluster-machines:index:Worker"
    )
    for each in after:
        (alias,) = each.aliases
        assert f"Worker::t4-2-pool-{each.name}" in alias
        assert each.urn.rpartition("::")[0] in alias


def test_a_machine_of_another_name_is_the_same_resource_which_is_replaced() -> None:
    """It leaves the cluster, and joins it by its new name. An added machine is a resource of its own."""
    first = update("own")
    machines = POOLS["own"]()["machines"]
    renamed = update("own", first, machines=[{**machines[0], "name": "gpu9"}, machines[1]])
    workers = {each.name: each for each in renamed.of_type("gpucluster-machines:index:Worker")}
    assert set(workers) == {"gpu9", "gpu2"}
    assert ["Worker::gpu1" in alias for alias in workers["gpu9"].aliases] == [True]
    added = update(
        "own",
        first,
        machines=[*machines, {**machines[0], "name": "gpu3", "address": "10.99.0.14", "hostKey": host_key(4)}],
    )
    (new,) = (each for each in added.of_type("gpucluster-machines:index:Worker") if each.name == "gpu3")
    assert new.aliases == ()
