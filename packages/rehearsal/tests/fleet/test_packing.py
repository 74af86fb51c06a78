"""Which nodes an autoscaler empties although they are in use, and which pods keep theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from facts.concepts.kubernetes import pod_requests
from packages.rehearsal.tests.fleet.emptying import PACKING
from packages.rehearsal.tests.fleet.facts import TOLERATIONS, Running, running_fleet
from packages.rehearsal.tests.simulated_cluster import (
    GPU_TAINT,
    JOBS,
    PODS,
    daemon_set,
    eventually,
    gpu_group,
    job,
    nodes,
    pod,
)
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Api, Object
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate
from rehearsal.fleet.packing import Packer, Used, unneeded, usable
from rehearsal.simulation import NodeShape, Packing, SimulatedNodeGroup

HELD = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
OWNER = {"kind": "Job", "controller": True}


def node(name: str, gpus: int = 0, **fields: Any) -> Object:
    allocatable = {"cpu": "4", "memory": "16Gi", "pods": "10", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    ready = [{"type": "Ready", "status": "True"}]
    spec = {"taints": [GPU_TAINT.manifest] if gpus else [], **fields}
    status = {"allocatable": allocatable, "conditions": ready}
    labels = {"on": name, "kubernetes.io/hostname": name}
    return {"metadata": {"name": name, "uid": name, "labels": labels}, "spec": spec, "status": status}


def running(gpus: int = 0, cpu: str = "100m", **fields: Any) -> Object:
    """A pod of a Job."""
    metadata = {"namespace": "default", "ownerReferences": [OWNER], **fields.pop("metadata", {})}
    asked = {"requests": {"cpu": cpu}, **({"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {})}
    container = {"resources": asked, "ports": fields.pop("ports", [])}
    spec = {"containers": [container], "tolerations": TOLERATIONS, **fields}
    return {"metadata": metadata, "spec": spec}


def emptied(pods: list[Object], gpus: int = 4, packing: Packing = PACKING, **other: Any) -> bool:
    """Whether a node with these pods is emptied beside one like it, on which 2 GPUs are taken."""
    taken = [running(2)] if gpus else []
    there = Used(node("there", gpus, **other), taken)
    return unneeded(Used(node("here", gpus), pods), [there], packing)


@cases
def test_a_gpu_node_at_most_half_in_use_is_emptied_if_its_pods_may_go(pods: list[Any], expected: bool) -> None:
    assert emptied([running(**pod) for pod in pods]) is expected


@pytest.mark.parametrize(("cpu", "expected"), [("100m", True), ("2", True), ("2001m", False), ("3", False)])
def test_a_node_without_gpus_counts_what_is_scarcer(cpu: str, expected: bool) -> None:
    assert emptied([running(cpu=cpu)], gpus=0) is expected


def test_pods_go_only_where_they_all_fit() -> None:
    three = [running(1), *(running(cpu="10m") for _ in range(9))]
    assert not emptied(three), "ten pods beside one would be eleven on a node for ten"
    assert emptied(three[:-1])
    assert not emptied([running(1)], taints=[GPU_TAINT.manifest, {"key": "team", "value": "a", "effect": "NoSchedule"}])


@pytest.mark.parametrize("moves", [True, False])
def test_the_profile_says_what_else_keeps_a_node(moves: bool) -> None:
    packing = replace(PACKING, moves_local_storage=moves, moves_system_pods=moves)
    assert emptied([running(volumes=[{"name": "tmp", "emptyDir": {}}])], gpus=0, packing=packing) is moves
    assert emptied([running(volumes=[{"name": "shm", "emptyDir": {"medium": "Memory"}}])], gpus=0, packing=packing)
    assert emptied([running(metadata={"namespace": "kube-system"})], gpus=0, packing=packing) is moves


@pytest.mark.parametrize(
    "going", [{"unschedulable": True}, {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}]
)
def test_a_node_that_goes_takes_no_pods(going: dict[str, Any]) -> None:
    assert usable(node("stays"))
    assert not usable(node("goes", **going))
    assert not usable({**node("starts"), "status": {}})


def test_a_look_at_a_large_fleet_examines_each_node_once(monkeypatch: pytest.MonkeyPatch) -> None:
    examined: list[Object] = []
    monkeypatch.setattr("rehearsal.fleet.packing.usable", lambda node, _cordoned: not examined.append(node))
    template = NodeTemplate(gpu_group("t4", 4, packing=PACKING), ClusterFacts("c", "us-central1", "1.34.4"))
    packer = Packer(cast(Api, SimpleNamespace(list=lambda path: [])), lambda name: template)
    fleet = [node(f"t4-{number}", 4) for number in range(20)]
    for each in fleet:
        each["metadata"]["labels"]["karpenter.sh/nodepool"] = "t4"
    monkeypatch.setattr(packer, "_nodes", SimpleNamespace(items=lambda: fleet))
    packer.look()
    assert examined == fleet


@pytest.mark.parametrize(
    ("unneeded_minutes", "delay", "by_group", "other_grew_at", "goes_at"),
    [
        (None, 0, False, 0, 10),
        (3, 0, False, 0, 3),
        (20, 0, False, 0, 20),
        (3, 10, False, 0, 10),
        (3, 10, False, 8, 18),
        (3, 10, True, 8, 10),
    ],
)
def test_an_idle_node_goes_after_its_groups_time_and_the_delay_after_a_scale_up(
    monkeypatch: pytest.MonkeyPatch,
    unneeded_minutes: int | None,
    delay: float,
    by_group: bool,
    other_grew_at: int,
    goes_at: int,
) -> None:
    packing = replace(PACKING, delay_minutes=delay, delay_by_group=by_group)
    group = gpu_group("t4", 4, packing=packing, unneeded_minutes=unneeded_minutes)
    packer, api = packer_of(monkeypatch, group)
    api.nodes = [started("idle", "t4")]
    for second in range(goes_at):
        api.second = second
        if second == other_grew_at:
            api.nodes = [*api.nodes, started("other", "other")]
        packer.look()
        assert api.deleted == [], second
    api.second = goes_at
    packer.look()
    assert api.deleted == ["claim-idle"]


@pytest.mark.parametrize(("stays", "gone"), [(False, ["claim-idle"]), (True, [])])
def test_an_idle_node_out_of_service_goes_and_takes_nobodys_pods(
    monkeypatch: pytest.MonkeyPatch, stays: bool, gone: list[str]
) -> None:
    packer, api = packer_of(monkeypatch, gpu_group("t4", 4, packing=replace(PACKING, delay_minutes=0)))
    api.nodes = [started("idle", "t4"), started("used", "t4")]
    api.nodes[0]["spec"]["unschedulable"] = True
    if stays:
        api.nodes[0]["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
    api.pods = [running(1, nodeName="used")]
    for api.second in (0, 10):
        packer.look()
    assert api.deleted == gone


def test_a_node_that_waits_for_its_devices_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    packer, api = packer_of(monkeypatch, gpu_group("t4", 4, packing=replace(PACKING, delay_minutes=0)))
    api.nodes = [started("idle", "t4")]
    api.nodes[0]["metadata"]["labels"].pop("karpenter.sh/initialized")
    for api.second in (0, 1000):
        packer.look()
    assert api.deleted == []


def test_a_look_reads_anew_only_the_nodes_that_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    packer, api = packer_of(monkeypatch, gpu_group("t4", 20, packing=PACKING))
    api.nodes = [started(f"node-{index}", "t4") for index in range(20)]
    pods = [running(1, metadata={"annotations": HELD}, nodeName=f"node-{index // 4}") for index in range(80)]
    monkeypatch.setattr(packer, "_pods", SimpleNamespace(items=lambda: pods))
    read: list[str] = []

    def noted(spec: Object) -> Any:
        read.append(spec["nodeName"])
        return pod_requests(spec)

    monkeypatch.setattr("rehearsal.fleet.packing.pod_requests", noted)
    packer.look()
    assert {*read} == {f"node-{index}" for index in range(20)}
    read.clear()
    packer.look()
    assert read == []
    pods[0] = {**pods[0]}
    packer.look()
    assert {*read} == {"node-0"}
    del pods[:4]
    packer.look()
    api.second = 10
    packer.look()
    assert api.deleted == ["claim-node-0"], "what is kept does not outlive its pods"


@pytest.mark.parametrize(("phase", "saved"), [("Running", True), ("Succeeded", False)])
def test_a_pod_that_is_placed_before_the_taint_saves_its_node(
    monkeypatch: pytest.MonkeyPatch, phase: str, saved: bool
) -> None:
    packer, api = packer_of(monkeypatch, gpu_group("t4", 4, packing=replace(PACKING, delay_minutes=0)))
    api.nodes, api.late = [started("idle", "t4")], [{**running(1), "status": {"phase": phase}}]
    for api.second in (0, 10):
        packer.look()
    declared, going = "nvidia.com/gpu", "ToBeDeletedByClusterAutoscaler"
    expected = [[declared, going], [declared]] if saved else [[declared, going]]
    assert [[taint["key"] for taint in taints] for taints in api.taints] == expected
    assert api.deleted == ([] if saved else ["claim-idle"])


class Idle:
    """An ``Api`` with nodes of Karpenter's; ``late`` are pods that were placed since they were listed."""

    def __init__(self) -> None:
        self.second = 0
        self.nodes: list[Object] = []
        self.pods: list[Object] = []
        self.late: list[Object] = []
        self.volumes: list[Object] = []
        self.budgets: list[Object] = []
        self.deleted: list[str] = []
        self.taints: list[list[Object]] = []
        self.events: list[tuple[str, str]] = []

    def list(self, path: str, **query: str) -> list[Object]:
        if query:
            return self.late
        found = {"nodes": self.nodes, "pods": self.pods, "persistentvolumes": self.volumes}
        return {**found, "poddisruptionbudgets": self.budgets}[path.rpartition("/")[2]]

    def claims(self) -> list[Object]:
        names = [node["metadata"]["name"] for node in self.nodes]
        return [{"metadata": {"name": f"claim-{name}"}, "status": {"nodeName": name}} for name in names]

    def create(self, path: str, body: Object) -> None:
        """Every eviction is allowed."""
        if body["kind"] == "Event":
            about, name = body["involvedObject"], body["source"]["component"]
            assert (name, body["type"]) == ("cluster-autoscaler", "Normal")
            self.events.append((about["kind"], f"{body['reason']}: {body['message']}"))

    def merge_if_there(self, path: str, body: Object) -> None:
        self.taints.append(body["spec"]["taints"])

    def delete(self, path: str) -> None:
        self.deleted.append(path.rpartition("/")[2])


def packer_of(monkeypatch: pytest.MonkeyPatch, group: SimulatedNodeGroup) -> tuple[Packer, Idle]:
    """With the group's nodes as ``Idle`` has them, at its second."""
    template, api = NodeTemplate(group, ClusterFacts("c", "us-central1", "1.34.4")), Idle()
    packer = Packer(cast(Api, api), lambda name: template if name == group.name else None)
    monkeypatch.setattr(packer, "_nodes", SimpleNamespace(items=lambda: api.nodes))
    monkeypatch.setattr(packer, "_claims", SimpleNamespace(items=api.claims))
    monkeypatch.setattr(
        "rehearsal.fleet.packing.time", SimpleNamespace(monotonic=lambda: float(api.second), time=lambda: 0)
    )
    return packer, api


def started(name: str, group: str, gpus: int = 4) -> Object:
    """A node of a group that has its devices."""
    made = node(name, gpus)
    made["metadata"]["labels"] |= {"karpenter.sh/initialized": "true", "rehearsal.gpucluster.dev/group": group}
    return made


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Running]:
    with running_fleet(tmp_path) as running:
        yield running


@pytest.mark.rehearsal
def test_a_running_job_is_ended_to_pack_nodes_unless_it_is_annotated(fleet: Running) -> None:
    api, groups = fleet.api, {"packed": PACKING, "kept": PACKING, "others": None}

    def bound(prefix: str, count: int) -> bool:
        pods = [each for each in api.list(PODS) if each["metadata"]["name"].startswith(prefix)]
        return len([each for each in pods if each["spec"].get("nodeName")]) == count

    for name, packing in groups.items():
        machine = NodeShape(16, 60, 4)
        fleet.fleet.apply_group(gpu_group(name, 4, machine=machine, packing=packing))
        for index in range(2):
            filler = pod(f"filler-{name}-{index}", 3, seconds=600, tolerations=TOLERATIONS, nodeSelector=pool(name))
            api.create(PODS, filler)
    eventually("two nodes of each group have one GPU left", lambda: bound("filler-", 6))
    for name in groups:
        manifest = job(name, 2, 1, 900, tolerations=TOLERATIONS, nodeSelector=pool(name))
        manifest["spec"]["backoffLimit"] = 0
        if name == "kept":
            manifest["spec"]["template"]["metadata"]["annotations"] |= HELD
        api.create(JOBS, manifest)
    eventually("one pod of a job on each node", lambda: all(bound(f"{name}-", 2) for name in groups))
    for name in groups:
        for index in range(2):
            api.delete(f"{PODS}/filler-{name}-{index}")
    eventually("the job was ended", lambda: api.get(f"{JOBS}/packed")["status"].get("failed"))
    eventually("a node is gone", lambda: len(nodes(api, "packed")) <= 1)
    for name in ("kept", "others"):
        assert "failed" not in api.get(f"{JOBS}/{name}")["status"]
        assert len(nodes(api, name)) == 2


@pytest.mark.rehearsal
def test_an_idle_node_stays_if_daemon_sets_count_and_reach_the_threshold(fleet: Running) -> None:
    api, low = fleet.api, replace(PACKING, others_below=0.00001)
    groups = {"counted": low, "ignored": replace(low, ignores_daemon_sets=True)}
    for name, packing in groups.items():
        machine = NodeShape(4, 15)
        fleet.fleet.apply_group(gpu_group(name, 0, machine=machine, packing=packing))
        agents = daemon_set(name, nodeSelector=pool(name), tolerations=[{"operator": "Exists"}])
        agents["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m"}}
        api.apply_manifest(agents)
        api.create(PODS, pod(name, 0, tolerations=TOLERATIONS, nodeSelector=pool(name)))
    eventually("both pods are done", lambda: all(phase(api, name) == "Succeeded" for name in groups))
    eventually("the idle node of one group is gone", lambda: not nodes(api, "ignored"))
    # Both are idle for as long as a node of the other group lives from its first to its last moment.
    api.create(PODS, pod("again", 0, tolerations=TOLERATIONS, nodeSelector=pool("ignored")))
    eventually("another pod is done there", lambda: phase(api, "again") == "Succeeded")
    eventually("its node is gone, too", lambda: not nodes(api, "ignored"))
    assert len(nodes(api, "counted")) == 1


def phase(api: Api, name: str) -> str:
    """Of a pod, which outlives its node or not: ``Succeeded`` when it was deleted with it."""
    live = api.find(f"{PODS}/{name}")
    return "Succeeded" if live is None else str(live["status"].get("phase"))


def pool(name: str) -> dict[str, str]:
    return {"gpucluster.dev/pool": name}
