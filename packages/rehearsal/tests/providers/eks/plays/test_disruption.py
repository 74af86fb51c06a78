"""What becomes of a running job: the real Karpenter drains and replaces its node only when the machine is really lost.

One cluster serves all plays. What would disturb the job is in each play tried against the pools as the program declares
them, and against the same pools without the setting that protects it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, Final

import pytest

from components.outputs import gpu_job
from facts.jobs.job import TrainingJobSpec, manifests
from packages.rehearsal.tests.providers.eks.karpenter_changes import changed, class_path, pool_path
from packages.rehearsal.tests.providers.eks.karpenter_world import CLUSTER, KarpenterWorld, karpenter_world
from packages.rehearsal.tests.simulated_cluster import JOBS, PODS, eventually, job, pod
from rehearsal.cluster.api import Object
from rehearsal.providers.eks.base.supply import ScheduledEvent
from rehearsal.providers.eks.machines import reclaim as machines_reclaim
from rehearsal.providers.eks.resources.event_bus import spot_interruption
from rehearsal.scenario.plan import SECONDS as HELD
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.watcher import Watcher
from tests.components import eks_specs

pytestmark = [pytest.mark.rehearsal, pytest.mark.exhaustive]

SPOT: Final = "t4-1-spot"
STEADY: Final = "t4-1"
SECONDS: Final = 600
"""Long enough for a machine that does other things too; nothing waits in vain."""
_NODES: Final = "/api/v1/nodes"
_CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
_RULE: Final = f"{CLUSTER}-spot-interruption"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KarpenterWorld]:
    spot = eks_specs.gpu_pool(SPOT, zones=eks_specs.THREE_ZONES)
    steady = eks_specs.gpu_pool(STEADY, zones=eks_specs.THREE_ZONES, spot=False, preference=1)
    with karpenter_world(tmp_path_factory.mktemp("disruption"), spot, steady) as world:
        yield world


@pytest.fixture
def world(running: KarpenterWorld) -> Iterator[KarpenterWorld]:
    running.mark()
    yield running
    running.api.delete(JOBS)
    running.settle()


def submit(world: KarpenterWorld, name: str, pool: str) -> None:
    """A job of one pod for an hour, which may be interrupted."""
    made = job(name, 1, seconds=3600, nodeSelector={"gpucluster.dev/pool": pool})
    world.api.create(JOBS, {**made, "spec": {**made["spec"], "backoffLimit": 3}})


def node_of(world: KarpenterWorld, name: str, *, but: str = "") -> str:
    """The node on which the job's pod runs, another than ``but``."""

    def found() -> str:
        pods = world.api.list(PODS, labelSelector=f"job-name={name}")
        placed = [each["spec"].get("nodeName", "") for each in pods if each["status"].get("phase") == "Running"]
        return next((node for node in placed if node not in ("", but)), "")

    node: str = eventually(f"{name} runs", found, SECONDS)
    return node


def instance_of(world: KarpenterWorld, node: str) -> str:
    provider: str = world.api.get(f"{_NODES}/{node}")["spec"]["providerID"]
    return provider.rpartition("/")[2]


def state_of(world: KarpenterWorld, instance: str) -> str:
    (group,) = world.aws("ec2", "DescribeInstances", InstanceIds=[instance])["Reservations"]
    state: str = group["Instances"][0]["State"]["Name"]
    return state


def claim(world: KarpenterWorld) -> Object:
    (found,) = world.claims()
    return found


def conditions(world: KarpenterWorld) -> dict[str, str]:
    """The only claim's."""
    return conditions_of(claim(world))


def conditions_of(found: Object) -> dict[str, str]:
    return {each["type"]: each["status"] for each in found["status"].get("conditions", [])}


def running_pod(world: KarpenterWorld, name: str) -> str:
    """The uid of the pod of the job that runs and is not being ended."""
    pods = world.api.list(PODS, labelSelector=f"job-name={name}")
    running = [each for each in pods if each["status"].get("phase") == "Running"]
    (found,) = [each["metadata"]["uid"] for each in running if "deletionTimestamp" not in each["metadata"]]
    return str(found)


def test_from_zero_and_back_twice(world: KarpenterWorld) -> None:
    for name in ("once", "again"):
        assert world.instances() == []
        submit(world, name, SPOT)
        node = node_of(world, name)
        instance = instance_of(world, node)
        assert state_of(world, instance) == "running"
        world.api.delete(f"{JOBS}/{name}")
        eventually("the node is gone", lambda node=node: world.api.find(f"{_NODES}/{node}") is None, SECONDS)
        eventually("so is the machine", lambda id=instance: state_of(world, id) == "terminated", SECONDS)


def test_an_interrupted_machine_is_drained_and_replaced_and_the_job_goes_on(world: KarpenterWorld) -> None:
    submit(world, "long", SPOT)
    first = node_of(world, "long")
    zone = world.api.get(f"{_NODES}/{first}")["metadata"]["labels"]["topology.kubernetes.io/zone"]
    lost = instance_of(world, first)
    (queue,) = spot_interruption(world.account, lost)
    assert queue.endswith(f":{CLUSTER}-interruptions")
    second = node_of(world, "long", but=first)
    eventually("the warned machine is ended", lambda: state_of(world, lost) == "terminated", SECONDS)
    eventually("its node is gone", lambda: world.api.find(f"{_NODES}/{first}") is None, SECONDS)
    labels = world.api.get(f"{_NODES}/{second}")["metadata"]["labels"]
    # Where spot machines are taken away now, there is none to be had.
    assert (labels["karpenter.sh/capacity-type"], labels["topology.kubernetes.io/zone"] != zone) == ("spot", True)


@pytest.mark.parametrize("spot", [True, False], ids=["as submitted", "with do-not-disrupt"])
def test_a_submitted_job_hears_of_the_interruption_because_it_does_not_hold_its_node(
    world: KarpenterWorld, monkeypatch: pytest.MonkeyPatch, spot: bool
) -> None:
    taints = eks_specs.gpu_pool(SPOT, zones=eks_specs.THREE_ZONES).taints
    wanted = TrainingJobSpec(
        name="train", namespace="default", image="train:1", pools=(SPOT,), taints=taints, spot=spot
    )
    (made,) = manifests(wanted)
    made["spec"]["template"]["metadata"]["annotations"][HELD] = "3600"
    timeline = Timeline()
    watcher = Watcher(world.api, timeline)
    world.api.create(JOBS, made)
    node = node_of(world, "train")
    monkeypatch.setattr(machines_reclaim, "NOTICE_SECONDS", 120.0 if spot else 20.0)
    assert machines_reclaim.reclaim(world.account, node)
    assert node_of(world, "train", but=node)

    def ended() -> str:
        return next((one.disrupted for one in timeline.pods_of("train") if one.node == node), "")

    # Who holds the node is on it when the machine goes, and has heard of nothing.
    assert eventually("its end is known", ended, SECONDS) == ("EvictionByEvictionAPI" if spot else "DeletionByPodGC")
    watcher.stop()
    assert not world.api.get(f"{JOBS}/train")["status"].get("failed")


@pytest.mark.parametrize("part", ["target", "rule", "policy"])
def test_without_the_way_to_the_queue_nobody_hears_of_an_interruption(world: KarpenterWorld, part: str) -> None:
    targets = world.aws("events", "ListTargetsByRule", Rule=_RULE)["Targets"]
    url = world.aws("sqs", "GetQueueUrl", QueueName=f"{CLUSTER}-interruptions")["QueueUrl"]
    policy = world.aws("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    if part == "target":
        world.aws("events", "RemoveTargets", Rule=_RULE, Ids=[each["Id"] for each in targets])
    elif part == "rule":
        world.aws("events", "DisableRule", Name=_RULE)
    else:
        world.aws("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": ""})
    try:
        assert spot_interruption(world.account, "i-0123456789abcdef0") == []
    finally:
        world.aws("events", "PutTargets", Rule=_RULE, Targets=targets)
        world.aws("events", "EnableRule", Name=_RULE)
        world.aws("sqs", "SetQueueAttributes", QueueUrl=url, Attributes=policy)


@pytest.mark.parametrize("program", [True, False], ids=["the programs job", "a job without the annotation"])
def test_an_announced_reboot_waits_for_the_job_that_the_program_gives(world: KarpenterWorld, program: bool) -> None:
    """Karpenter gives a node up the minute that EC2 announces anything for it, two weeks ahead here."""
    made = job("long", 1, seconds=3600, nodeSelector={"gpucluster.dev/pool": STEADY})
    wanted = gpu_job(eks_specs.gpu_pool(STEADY, spot=False), "karpenter" if program else "cluster-autoscaler")
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    annotations.update(wanted["spec"]["template"]["metadata"]["annotations"])
    world.api.create(JOBS, {**made, "spec": {**made["spec"], "backoffLimit": 3}})
    node = node_of(world, "long")
    pod = running_pod(world, "long")
    in_two_weeks = datetime.now(timezone.utc) + timedelta(days=14)
    world.account.supply.announce(instance_of(world, node), ScheduledEvent("instance-reboot", in_two_weeks))
    if not program:
        assert node_of(world, "long", but=node)
        return
    name = claim(world)["metadata"]["name"]
    eventually("the machine is to go", lambda: _claimed(world, name)["metadata"].get("deletionTimestamp"), SECONDS)
    eventually("its pod holds it", lambda: "Drained" in conditions_of(_claimed(world, name)), SECONDS)
    assert running_pod(world, "long") == pod
    world.api.delete(f"{JOBS}/long", propagationPolicy="Background")
    eventually("then it goes", lambda: world.api.find(f"{_NODES}/{node}") is None, SECONDS)


def _claimed(world: KarpenterWorld, name: str) -> Object:
    return world.api.get(f"{_CLAIMS}/{name}")


def _disk(spec: Any) -> None:
    spec["blockDeviceMappings"][0]["ebs"]["volumeSize"] = "200Gi"


def _tag(spec: Any) -> None:
    spec["tags"]["team"] = "another"


def _image(spec: Any) -> None:
    spec["amiSelectorTerms"] = [{"alias": "bottlerocket@latest"}]


@pytest.mark.parametrize("change", [_disk, _tag, _image])
def test_a_job_keeps_its_node_when_what_nodes_are_made_from_changes(
    world: KarpenterWorld, change: Callable[[Any], None]
) -> None:
    submit(world, "long", STEADY)
    node = node_of(world, "long")
    with changed(world, class_path(world, STEADY), change):
        eventually("Karpenter sees it", lambda: conditions(world).get("Drifted") == "True", SECONDS)
        said = "No allowed disruptions for disruption reason Drifted due to blocking budget"
        eventually("and may not act on it", lambda: said in "\n".join(world.events("NodePool", STEADY)), SECONDS)
        assert node_of(world, "long") == node
        assert len(world.claims()) == 1


def test_only_the_budget_protects_a_job_from_drift(world: KarpenterWorld) -> None:
    submit(world, "long", STEADY)
    node = node_of(world, "long")

    def unprotected(spec: Any) -> None:
        spec["disruption"]["budgets"] = [{"nodes": "100%"}]

    with changed(world, pool_path(STEADY), unprotected), changed(world, class_path(world, STEADY), _disk):
        assert node_of(world, "long", but=node)


def test_a_job_keeps_its_node_for_ever_and_only_the_pool_says_so(world: KarpenterWorld) -> None:
    submit(world, "long", STEADY)
    assert node_of(world, "long")
    assert claim(world)["spec"]["expireAfter"] == "Never"
    world.api.delete(f"{JOBS}/long")
    world.settle()

    def soon(spec: Any) -> None:
        spec["template"]["spec"]["expireAfter"] = "20s"

    with changed(world, pool_path(STEADY), soon):
        submit(world, "expires", STEADY)
        node = node_of(world, "expires")
        eventually("its node is gone", lambda: world.api.find(f"{_NODES}/{node}") is None, SECONDS)


def test_a_pool_that_is_removed_takes_its_machines_along(world: KarpenterWorld) -> None:
    """``pulumi destroy`` removes the pool first, then what its nodes are made from, and Karpenter last."""
    submit(world, "long", STEADY)
    instance = instance_of(world, node_of(world, "long"))
    pool, made_from = pool_path(STEADY), class_path(world, STEADY)
    kept = {path: world.api.get(path) for path in (pool, made_from)}
    try:
        world.api.delete(pool, propagationPolicy="Foreground")
        eventually("the pool is gone", lambda: world.api.find(pool) is None, SECONDS)
        eventually("so is its machine", lambda: state_of(world, instance) == "terminated", SECONDS)
        assert world.claims() == []
        eventually("the job waits", lambda: _pending(world, "long"), SECONDS)
    finally:
        _restore(world, kept)


def test_what_nodes_are_made_from_stays_until_the_last_of_them_is_gone(world: KarpenterWorld) -> None:
    made = pod("held", gpus=1, seconds=3600, nodeSelector={"gpucluster.dev/pool": STEADY})
    made["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] = "true"
    world.submit(made)
    eventually("held runs", lambda: world.phase("held") == "Running", SECONDS)
    (instance,) = world.instances()
    pool, made_from = pool_path(STEADY), class_path(world, STEADY)
    kept = {path: world.api.get(path) for path in (pool, made_from)}
    try:
        world.api.delete(pool)
        world.api.delete(made_from)
        eventually("the machine is to go", lambda: claim(world)["metadata"].get("deletionTimestamp"), SECONDS)
        eventually("its pod holds it", lambda: "Drained" in conditions(world), SECONDS)
        assert state_of(world, instance["InstanceId"]) == "running"
        assert world.phase("held") == "Running"
        assert world.api.find(made_from) is not None
        world.api.delete(f"{PODS}/held", gracePeriodSeconds=0)
        eventually("then it goes", lambda: world.api.find(made_from) is None, SECONDS)
        assert state_of(world, instance["InstanceId"]) in ("shutting-down", "terminated")
    finally:
        # For five minutes Karpenter takes the launch templates that went with it for there, and the new one for broken:
        # https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/launchtemplate/launchtemplate.go
        world.restart()
        _restore(world, kept)


def test_without_karpenter_a_removed_pool_leaves_its_machines_behind(world: KarpenterWorld) -> None:
    """Why the program removes Karpenter last."""
    submit(world, "long", STEADY)
    instance = instance_of(world, node_of(world, "long"))
    pool = pool_path(STEADY)
    kept = {pool: world.api.get(pool)}
    world.release("karpenter", {"replicas": 0}, wait=False)
    try:
        eventually("Karpenter is gone", lambda: not world.controllers(), SECONDS)
        world.api.delete(pool)
        eventually("the machine is to go", lambda: claim(world)["metadata"].get("deletionTimestamp"), SECONDS)
        assert state_of(world, instance) == "running"
    finally:
        world.release("karpenter")
        eventually("Karpenter ends it", lambda: state_of(world, instance) == "terminated", SECONDS)
        _restore(world, kept)


def _pending(world: KarpenterWorld, name: str) -> bool:
    pods = world.api.list(PODS, labelSelector=f"job-name={name}")
    return any(each["status"].get("phase") == "Pending" for each in pods)


def _restore(world: KarpenterWorld, kept: dict[str, Object]) -> None:
    for path, found in kept.items():
        eventually(f"{path} is gone", lambda path=path: "deletionTimestamp" not in str(world.api.find(path)), SECONDS)
        if world.api.find(path) is None:
            metadata = {
                key: found["metadata"][key] for key in ("name", "labels", "annotations") if key in found["metadata"]
            }
            world.api.create(path.rpartition("/")[0], {**found, "metadata": metadata, "status": {}})
    ready = {"type": "Ready", "status": "True"}.items()

    def all_ready() -> bool:
        told = [world.api.get(path).get("status", {}).get("conditions", []) for path in kept]
        return all(any(ready <= each.items() for each in found) for found in told)

    eventually("they are ready again", all_ready, SECONDS)
