"""A node that the cloud takes back: its pods end in the way of that cloud, which a Job can tell from failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typing_extensions import override

from components import node_reaper
from facts.concepts.kubernetes import Taint
from facts.concepts.offer import CheckpointsOffer, Offer, PoolOffer
from facts.concepts.parts import Gpus, Nodes, Scaling
from packages.rehearsal.tests.fleet.facts import TOLERATIONS, Running, ready_gpus, running_fleet
from packages.rehearsal.tests.objects import gpu_pool
from packages.rehearsal.tests.simulated_cluster import CLUSTER, JOBS, PODS, ZONES, eventually, gpu_group, job, nodes
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.cron_jobs import run_all
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet.broken_gpus import break_gpu
from rehearsal.fleet.machine_types import EFA
from rehearsal.fleet.nodes import EFA_PLUGIN
from rehearsal.fleet.reclaim import reclaim as reclaim_node
from rehearsal.fleet.reclaim import renew_nodes
from rehearsal.scenario.check import Check
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import Watcher
from rehearsal.work import reclaim, repair
from rehearsal.work.jobs import Workplace

pytestmark = pytest.mark.rehearsal

IGNORED = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
PLUGINS = {"eviction": {}, "kubelet": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}}
"""Labels by which the nodes' device plugin is NVIDIA's or Google's."""
WAYS = {"eviction": "EvictionByEvictionAPI", "kubelet": "TerminationByKubelet"}
KIND = {"gpucluster.dev/gpu": "nvidia-t4", "gpucluster.dev/gpus-per-node": "1"}
ITS_PATH = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/gpucluster-uninterrupted"
PERMANENT = {"autoscaled": False, "min_nodes": 2, "max_nodes": 2}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_fleet(tmp_path_factory.mktemp("reclaim")) as running:
        for way in WAYS:
            running.fleet.apply_group(gpu_group(way, pods_ended_by=way, **PERMANENT))
            name = f"{way}-scaled"
            labels = {**KIND, **PLUGINS[way], "gpucluster.dev/pool": name}
            running.fleet.apply_group(gpu_group(name, pods_ended_by=way, labels=labels))
        yield running


def submitted(
    running: Running, name: str, group: str, labels: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    """The running pod of a job of one pod."""
    manifest = job(name, 1, seconds=3600, tolerations=TOLERATIONS, nodeSelector={"gpucluster.dev/pool": group})
    manifest["spec"]["template"]["metadata"].setdefault("labels", {}).update(labels or {})
    running.api.create(JOBS, {**manifest, "spec": {**manifest["spec"], "backoffLimit": 0, **spec}})
    (pod,) = eventually(f"{name} runs", lambda: running_pods(running, name))
    return dict(pod)


BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "gpucluster-uninterrupted", "namespace": "default"},
    "spec": {
        "minAvailable": 2147483647,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": {"matchLabels": {"gpucluster.dev/uninterrupted": "true"}},
    },
}


@cases
def test_a_budget_keeps_a_job_on_its_node_in_a_maintenance_night(
    running: Running, renewal: str, outcome: str | None, survives: bool, cordoned: bool
) -> None:
    name = f"night-{renewal or 'never'}"
    running.fleet.apply_group(gpu_group(name, renewal=renewal, autoscaled=False, min_nodes=2, max_nodes=2))
    running.api.apply(ITS_PATH, BUDGET)
    plain = submitted(running, f"{name}-plain", name)
    protected = submitted(running, f"{name}-kept", name, labels={"gpucluster.dev/uninterrupted": "true"})
    eventually("the budget counts", lambda: running.api.get(ITS_PATH)["status"].get("expectedPods") == 1)
    outcomes = renew_nodes(running.api)
    for pod, alive in ((protected, survives), (plain, not renewal)):
        now = running.api.find(f"{PODS}/{pod['metadata']['name']}")
        assert (now is not None and now["status"]["phase"] == "Running") is alive, (pod, outcomes)
    assert outcomes.get(protected["spec"]["nodeName"]) == outcome
    if renewal:
        assert outcomes[plain["spec"]["nodeName"]] == "renewed"
    node = running.api.get(f"/api/v1/nodes/{protected['spec']['nodeName']}")
    assert bool(node["spec"].get("unschedulable")) is cordoned
    for job_name in (f"{name}-plain", f"{name}-kept"):
        running.api.delete(f"{JOBS}/{job_name}")
    running.fleet.delete_group(CLUSTER, name)


def running_pods(running: Running, name: str) -> list[dict[str, Any]]:
    pods = running.api.list(PODS, labelSelector=f"job-name={name}", fieldSelector="status.phase=Running")
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def status(running: Running, name: str) -> dict[str, Any]:
    return dict(running.api.get(f"{JOBS}/{name}")["status"])


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_ignores_disruptions_goes_on_elsewhere(running: Running, way: str) -> None:
    name = f"goes-on-{way}"
    before = submitted(running, name, way, podFailurePolicy=IGNORED)
    node = before["spec"]["nodeName"]
    assert reclaim_node(running.api, node)

    def moved() -> bool:
        pods = running_pods(running, name)
        return bool(pods) and pods[0]["spec"]["nodeName"] != node

    eventually("it runs on another node", moved)
    eventually("the node is gone", lambda: running.api.find(f"/api/v1/nodes/{node}") is None)
    assert not status(running, name).get("failed")
    running.api.delete(f"{JOBS}/{name}")


def test_there_is_no_such_node(running: Running) -> None:
    assert not reclaim_node(running.api, "nowhere")


class Without(Api):
    """Submits Jobs without some parts of their spec, and with others instead."""

    def __init__(self, kubeconfig: Kubeconfig, lacking: tuple[str, ...] = (), **instead: Any) -> None:
        super().__init__(kubeconfig)
        self._lacking, self._instead = lacking, instead

    @override
    def submit(self, path: str, body: Object, **query: str) -> tuple[Object, tuple[str, ...]]:
        if body["kind"] == "Job":
            remaining = {key: value for key, value in body["spec"].items() if key not in self._lacking}
            body = {**body, "spec": {**remaining, **self._instead}}
        return super().submit(path, body, **query)


@pytest.fixture
def played(running: Running) -> Iterator[Callable[..., Check]]:
    """Plays the reclaimed job on a pool, by a developer whose job may be another than the program's."""
    timeline = Timeline()
    watcher = Watcher(running.api, timeline)
    kubeconfig = Kubeconfig.parse((running.run_dir / "control-plane" / "kubeconfig").read_text())

    def play_it(
        way: str, lacking: tuple[str, ...] = (), *, breaks: bool = False, patience: float = 240.0, **instead: Any
    ) -> Check:
        pool = PoolOffer(
            name=f"{way}-scaled",
            nodes=Nodes(
                machine_types=("n1-standard-4",),
                zones=ZONES[:1],
                labels={**KIND, "gpucluster.dev/pool": f"{way}-scaled"},
                taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),),
                hourly_usd=1.2,
            ),
            scaling=Scaling(max_nodes=3, capacity_type="spot", unneeded_minutes=10),
            gpus=Gpus(type="nvidia-t4", per_node=1),
            allocatable_gpus=1,
            gpus_per_pod=1,
            notice_seconds=15,
        )
        bucket = CheckpointsOffer(url="s3://bucket", service_account="default/default")
        offer = Offer(stack="s", cloud="c", region="r", cluster=CLUSTER, pools=(pool,), checkpoints=bucket)
        developer = Without(kubeconfig, lacking, **instead)

        def reclaim_machine(node: str) -> None:
            assert reclaim_node(running.api, node)

        broken: list[str] = []

        def break_it(node: str) -> None:
            break_gpu(running.api, node)
            broken.append(node)

        def wait(condition: Callable[[], bool], seconds: float) -> bool:
            return timeline.wait_until(condition, patience if broken else seconds)

        there = Workplace(offer, running.api, developer, timeline, wait)
        if breaks:
            check = repair.play(there, break_it, lambda: cron_jobs(running))
        else:
            check = reclaim.play(there, reclaim_machine)
        name = "repaired-job" if breaks else "reclaimed-job"
        eventually("the job is gone", lambda: running.api.find(f"{JOBS}/{name}") is None)
        eventually("so are its pods", lambda: not running.api.list(PODS, labelSelector=f"job-name={name}"))
        running.api.delete(f"/api/v1/namespaces/default/services/{name}")
        for node in broken:
            running.api.delete(f"/api/v1/nodes/{node}")
        paths = [f"/api/v1/nodes/{node}" for node in broken]
        eventually("so are the broken nodes", lambda: not any(running.api.find(path) for path in paths))
        return check

    yield play_it
    watcher.stop()


@pytest.mark.parametrize("way", WAYS)
def test_a_submitted_job_survives_the_reclaim_of_a_worker_s_node(played: Callable[..., Check], way: str) -> None:
    check = played(way)
    assert check.passed, check.detail
    assert WAYS[way] in check.detail


def test_the_check_fails_where_a_reclaim_counts_as_a_failure(played: Callable[..., Check]) -> None:
    check = played("eviction", ("podFailurePolicy",), backoffLimit=0)
    assert not check.passed
    assert "the Job is not complete (FailureTarget" in check.detail


class Starting(Api):
    """A node's autoscaler sees its GPUs at the third look."""

    looks = 0

    @override
    def get(self, path: str, **query: str) -> Object:
        node = super().get(path, **query)
        self.looks += 1
        node["metadata"]["labels"]["karpenter.sh/nodepool"] = "t4"
        if self.looks >= 3:
            node["metadata"]["labels"]["karpenter.sh/initialized"] = "true"
        return node


def test_a_gpu_fails_when_the_autoscaler_has_seen_it(running: Running) -> None:
    labels = {**KIND, "gpucluster.dev/pool": "breaks"}
    running.fleet.apply_group(gpu_group("breaks", labels=labels, autoscaled=False, min_nodes=1, max_nodes=1))
    (node,) = nodes(running.api, "breaks")
    api = Starting(Kubeconfig.parse((running.run_dir / "control-plane" / "kubeconfig").read_text()))
    break_gpu(api, node["metadata"]["name"])
    assert api.looks == 4
    eventually("no GPU is usable", lambda: ready_gpus(running.api, "breaks") == 0)
    running.fleet.delete_group(CLUSTER, "breaks")


def test_a_device_of_a_fabric_fails_in_place_of_a_gpu(running: Running) -> None:
    labels = {**KIND, "gpucluster.dev/pool": "wide"}
    group = gpu_group("wide", labels=labels, efa=4, autoscaled=False, min_nodes=1, max_nodes=1)
    running.fleet.apply_group(group)
    (node,) = nodes(running.api, "wide")
    path = f"/api/v1/nodes/{node['metadata']['name']}"
    running.api.merge(path, {"metadata": {"annotations": {EFA_PLUGIN: "ready"}}})

    def offered() -> int:
        return int(running.api.get(path)["status"].get("allocatable", {}).get(EFA, 0))

    eventually("its devices are usable", lambda: offered() == 4 and ready_gpus(running.api, "wide") == 1)
    break_gpu(running.api, node["metadata"]["name"])
    assert offered() == 3
    assert ready_gpus(running.api, "wide") == 1
    running.fleet.delete_group(CLUSTER, "wide")


def cron_jobs(running: Running) -> list[str]:
    declared = {each["metadata"]["uid"] for each in running.api.list("/apis/batch/v1/namespaces/kube-system/cronjobs")}
    return list(run_all(running.api, running.endpoint, running.ca_pem_base64, running.run_dir / "cron-jobs", declared))


def reaper(running: Running, old: str = "", new: str = "") -> None:
    """The program's CronJob, with a text of its program changed."""
    pools = [gpu_pool(f"{way}-scaled", 1) for way in WAYS]
    for manifest in node_reaper.manifests("managed", pools):
        if manifest["kind"] == "CronJob":
            (container,) = manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
            assert old in container["command"][2]
            container["command"][2] = container["command"][2].replace(old, new)
        running.api.apply_manifest(manifest)


@pytest.mark.parametrize("way", WAYS)
def test_a_job_whose_gpu_fails_continues_elsewhere(running: Running, played: Callable[..., Check], way: str) -> None:
    reaper(running)
    check = played(way, breaks=True)
    assert check.passed, check.detail
    assert "DeletionByTaintManager" in check.detail
    assert "paid for at most 30 minutes (0.60 USD)" in check.detail


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("if __name__", "if not __name__", "is not removed; CronJobs write: nothing"),
        ("NoExecute", "NoSchedule", "is not removed"),
        ('"broken": 10', '"broken": 0', "taken out of service at once"),
    ],
)
def test_the_check_fails_with_a_wrong_reaper(
    running: Running, played: Callable[..., Check], old: str, new: str, problem: str
) -> None:
    reaper(running, old, new)
    check = played("eviction", breaks=True, patience=10.0)
    assert not check.passed
    assert problem in check.detail
