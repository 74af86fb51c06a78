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
from packages.rehearsal.tests.providers.eks.karpenter_sandbox import (
    CLUSTER,
    SECONDS,
    KarpenterSandbox,
    changed,
    class_path,
    conditions_of,
    karpenter_sandbox,
    pool_path,
)
from packages.rehearsal.tests.simulated_cluster import JOBS, PODS, eventually, job, pod
from rehearsal.cluster.api import Object
from rehearsal.providers.eks.cloud import ScheduledEvent
from rehearsal.providers.eks.events import spot_interruption
from rehearsal.providers.eks.machines import instance as machines_reclaim
from rehearsal.scenario.plan import SECONDS as HELD
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import Watcher
from tests.components import eks_specs

pytestmark = [pytest.mark.rehearsal]

SPOT: Final = "t4-1-spot"
STEADY: Final = "t4-1"
_NODES: Final = "/api/v1/nodes"
_CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
_RULE: Final = f"{CLUSTER}-spot-interruption"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KarpenterSandbox]:
    spot = eks_specs.gpu_pool(SPOT, zones=eks_specs.THREE_ZONES)
    steady = eks_specs.gpu_pool(STEADY, zones=eks_specs.THREE_ZONES, capacity_type="on-demand", preference=1)
    with karpenter_sandbox(tmp_path_factory.mktemp("disruption"), spot, steady) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(running: KarpenterSandbox) -> Iterator[KarpenterSandbox]:
    running.mark()
    yield running
    running.api.delete(JOBS)
    running.settle()


def submit(sandbox: KarpenterSandbox, name: str, pool: str) -> None:
    """A job of one pod for an hour, which may be interrupted."""
    made = job(name, 1, seconds=3600, nodeSelector={"gpucluster.dev/pool": pool})
    sandbox.api.create(JOBS, {**made, "spec": {**made["spec"], "backoffLimit": 3}})


def node_of(sandbox: KarpenterSandbox, name: str, *, but: str = "") -> str:
    """The node on which the job's pod runs, another than ``but``."""

    def assigned() -> str:
        pods = sandbox.api.list(PODS, labelSelector=f"job-name={name}")
        placed = [each["spec"].get("nodeName", "") for each in pods if each["status"].get("phase") == "Running"]
        return next((node for node in placed if node not in ("", but)), "")

    node: str = eventually(f"{name} runs", assigned, SECONDS)
    return node


def instance_of(sandbox: KarpenterSandbox, node: str) -> str:
    provider: str = sandbox.api.get(f"{_NODES}/{node}")["spec"]["providerID"]
    return provider.rpartition("/")[2]


def state_of(sandbox: KarpenterSandbox, instance: str) -> str:
    (group,) = sandbox.aws("ec2", "DescribeInstances", InstanceIds=[instance])["Reservations"]
    state: str = group["Instances"][0]["State"]["Name"]
    return state


def claim(sandbox: KarpenterSandbox) -> Object:
    (node_claim,) = sandbox.claims()
    return node_claim


def conditions(sandbox: KarpenterSandbox) -> dict[str, str]:
    """The only claim's."""
    return conditions_of(claim(sandbox))


def running_pod(sandbox: KarpenterSandbox, name: str) -> str:
    """The uid of the pod of the job that runs and is not being ended."""
    pods = sandbox.api.list(PODS, labelSelector=f"job-name={name}")
    running = [each for each in pods if each["status"].get("phase") == "Running"]
    (uid,) = [each["metadata"]["uid"] for each in running if "deletionTimestamp" not in each["metadata"]]
    return str(uid)


def test_from_zero_and_back_twice(sandbox: KarpenterSandbox) -> None:
    for name in ("once", "again"):
        assert sandbox.instances() == []
        submit(sandbox, name, SPOT)
        node = node_of(sandbox, name)
        instance = instance_of(sandbox, node)
        assert state_of(sandbox, instance) == "running"
        sandbox.api.delete(f"{JOBS}/{name}")
        eventually("the node is gone", lambda node=node: sandbox.api.find(f"{_NODES}/{node}") is None, SECONDS)
        eventually("so is the machine", lambda id=instance: state_of(sandbox, id) == "terminated", SECONDS)


def test_an_interrupted_machine_is_drained_and_replaced_and_the_job_goes_on(sandbox: KarpenterSandbox) -> None:
    submit(sandbox, "long", SPOT)
    first = node_of(sandbox, "long")
    zone = sandbox.api.get(f"{_NODES}/{first}")["metadata"]["labels"]["topology.kubernetes.io/zone"]
    lost = instance_of(sandbox, first)
    (queue,) = spot_interruption(sandbox.account, lost)
    assert queue.endswith(f":{CLUSTER}-interruptions")
    second = node_of(sandbox, "long", but=first)
    eventually("the warned machine is ended", lambda: state_of(sandbox, lost) == "terminated", SECONDS)
    eventually("its node is gone", lambda: sandbox.api.find(f"{_NODES}/{first}") is None, SECONDS)
    labels = sandbox.api.get(f"{_NODES}/{second}")["metadata"]["labels"]
    # Where spot machines are taken away now, there is none to be had.
    assert (labels["karpenter.sh/capacity-type"], labels["topology.kubernetes.io/zone"] != zone) == ("spot", True)


@pytest.mark.parametrize("spot", [True, False], ids=["as submitted", "with do-not-disrupt"])
def test_a_submitted_job_hears_of_the_interruption_because_it_does_not_hold_its_node(
    sandbox: KarpenterSandbox, monkeypatch: pytest.MonkeyPatch, spot: bool
) -> None:
    taints = eks_specs.gpu_pool(SPOT, zones=eks_specs.THREE_ZONES).nodes.taints
    named: dict[str, Any] = {"name": "train", "namespace": "default", "image": "train:1"}
    spec = TrainingJobSpec(**named, pools=(SPOT,), taints=taints, drained=spot)
    (made,) = manifests(spec)
    made["spec"]["template"]["metadata"]["annotations"][HELD] = "3600"
    timeline = Timeline()
    watcher = Watcher(sandbox.api, timeline)
    sandbox.api.create(JOBS, made)
    node = node_of(sandbox, "train")
    monkeypatch.setattr(machines_reclaim, "NOTICE_SECONDS", 120.0 if spot else 20.0)
    assert machines_reclaim.reclaim(sandbox.account, node)
    assert node_of(sandbox, "train", but=node)

    def ended() -> str:
        return next((one.disrupted for one in timeline.pods_of("train") if one.node == node), "")

    # Who holds the node is on it when the machine goes, and has heard of nothing.
    assert eventually("its end is known", ended, SECONDS) == ("EvictionByEvictionAPI" if spot else "DeletionByPodGC")
    watcher.stop()
    assert not sandbox.api.get(f"{JOBS}/train")["status"].get("failed")


@pytest.mark.parametrize("part", ["target", "rule", "policy"])
def test_without_the_way_to_the_queue_nobody_hears_of_an_interruption(sandbox: KarpenterSandbox, part: str) -> None:
    targets = sandbox.aws("events", "ListTargetsByRule", Rule=_RULE)["Targets"]
    url = sandbox.aws("sqs", "GetQueueUrl", QueueName=f"{CLUSTER}-interruptions")["QueueUrl"]
    policy = sandbox.aws("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    if part == "target":
        sandbox.aws("events", "RemoveTargets", Rule=_RULE, Ids=[each["Id"] for each in targets])
    elif part == "rule":
        sandbox.aws("events", "DisableRule", Name=_RULE)
    else:
        sandbox.aws("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": ""})
    try:
        assert spot_interruption(sandbox.account, "i-0123456789abcdef0") == []
    finally:
        sandbox.aws("events", "PutTargets", Rule=_RULE, Targets=targets)
        sandbox.aws("events", "EnableRule", Name=_RULE)
        sandbox.aws("sqs", "SetQueueAttributes", QueueUrl=url, Attributes=policy)


@pytest.mark.parametrize("program", [True, False], ids=["the programs job", "a job without the annotation"])
def test_an_announced_reboot_waits_for_the_job_that_the_program_gives(sandbox: KarpenterSandbox, program: bool) -> None:
    """Karpenter gives a node up the minute that EC2 announces anything for it, two weeks ahead here."""
    made = job("long", 1, seconds=3600, nodeSelector={"gpucluster.dev/pool": STEADY})
    training_job = gpu_job(
        eks_specs.gpu_pool(STEADY, capacity_type="on-demand"), "karpenter" if program else "cluster-autoscaler"
    )
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    annotations.update(training_job["spec"]["template"]["metadata"]["annotations"])
    sandbox.api.create(JOBS, {**made, "spec": {**made["spec"], "backoffLimit": 3}})
    node = node_of(sandbox, "long")
    pod = running_pod(sandbox, "long")
    in_two_weeks = datetime.now(timezone.utc) + timedelta(days=14)
    sandbox.account.supply.announced[instance_of(sandbox, node)] = ScheduledEvent("instance-reboot", in_two_weeks)
    if not program:
        assert node_of(sandbox, "long", but=node)
        return
    name = claim(sandbox)["metadata"]["name"]
    eventually("the machine is to go", lambda: _claimed(sandbox, name)["metadata"].get("deletionTimestamp"), SECONDS)
    eventually("its pod holds it", lambda: "Drained" in conditions_of(_claimed(sandbox, name)), SECONDS)
    assert running_pod(sandbox, "long") == pod
    sandbox.api.delete(f"{JOBS}/long", propagationPolicy="Background")
    eventually("then it goes", lambda: sandbox.api.find(f"{_NODES}/{node}") is None, SECONDS)


def _claimed(sandbox: KarpenterSandbox, name: str) -> Object:
    return sandbox.api.get(f"{_CLAIMS}/{name}")


def _disk(spec: Any) -> None:
    spec["blockDeviceMappings"][0]["ebs"]["volumeSize"] = "200Gi"


def _tag(spec: Any) -> None:
    spec["tags"]["team"] = "another"


def _image(spec: Any) -> None:
    spec["amiSelectorTerms"] = [{"alias": "bottlerocket@latest"}]


@pytest.mark.parametrize("change", [_disk, _tag, _image])
def test_a_job_keeps_its_node_when_its_class_changes(sandbox: KarpenterSandbox, change: Callable[[Any], None]) -> None:
    submit(sandbox, "long", STEADY)
    node = node_of(sandbox, "long")
    with changed(sandbox, class_path(sandbox, STEADY), change):
        eventually("Karpenter sees it", lambda: conditions(sandbox).get("Drifted") == "True", SECONDS)
        message = "No allowed disruptions for disruption reason Drifted due to blocking budget"
        eventually("and may not act on it", lambda: message in "\n".join(sandbox.events("NodePool", STEADY)), SECONDS)
        assert node_of(sandbox, "long") == node
        assert len(sandbox.claims()) == 1


def test_only_the_budget_protects_a_job_from_drift(sandbox: KarpenterSandbox) -> None:
    submit(sandbox, "long", STEADY)
    node = node_of(sandbox, "long")

    def unprotected(spec: Any) -> None:
        spec["disruption"]["budgets"] = [{"nodes": "100%"}]

    with changed(sandbox, pool_path(STEADY), unprotected), changed(sandbox, class_path(sandbox, STEADY), _disk):
        assert node_of(sandbox, "long", but=node)


def test_a_job_keeps_its_node_for_ever_and_only_the_pool_says_so(sandbox: KarpenterSandbox) -> None:
    submit(sandbox, "long", STEADY)
    assert node_of(sandbox, "long")
    assert claim(sandbox)["spec"]["expireAfter"] == "Never"
    sandbox.api.delete(f"{JOBS}/long")
    sandbox.settle()

    def soon(spec: Any) -> None:
        spec["template"]["spec"]["expireAfter"] = "20s"

    with changed(sandbox, pool_path(STEADY), soon):
        submit(sandbox, "expires", STEADY)
        node = node_of(sandbox, "expires")
        eventually("its node is gone", lambda: sandbox.api.find(f"{_NODES}/{node}") is None, SECONDS)


def test_a_pool_that_is_removed_takes_its_machines_along(sandbox: KarpenterSandbox) -> None:
    """``pulumi destroy`` removes the pool first, then what its nodes are made from, and Karpenter last."""
    submit(sandbox, "long", STEADY)
    instance = instance_of(sandbox, node_of(sandbox, "long"))
    pool, made_from = pool_path(STEADY), class_path(sandbox, STEADY)
    backup = {path: sandbox.api.get(path) for path in (pool, made_from)}
    try:
        sandbox.api.delete(pool, propagationPolicy="Foreground")
        eventually("the pool is gone", lambda: sandbox.api.find(pool) is None, SECONDS)
        eventually("so is its machine", lambda: state_of(sandbox, instance) == "terminated", SECONDS)
        assert sandbox.claims() == []
        eventually("the job waits", lambda: _pending(sandbox, "long"), SECONDS)
    finally:
        _restore(sandbox, backup)


def test_a_node_class_stays_until_its_last_node_is_deleted(sandbox: KarpenterSandbox) -> None:
    made = pod("held", gpus=1, seconds=3600, nodeSelector={"gpucluster.dev/pool": STEADY})
    made["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] = "true"
    sandbox.submit(made)
    eventually("held runs", lambda: sandbox.phase("held") == "Running", SECONDS)
    (instance,) = sandbox.instances()
    pool, made_from = pool_path(STEADY), class_path(sandbox, STEADY)
    backup = {path: sandbox.api.get(path) for path in (pool, made_from)}
    try:
        sandbox.api.delete(pool)
        sandbox.api.delete(made_from)
        eventually("the machine is to go", lambda: claim(sandbox)["metadata"].get("deletionTimestamp"), SECONDS)
        eventually("its pod holds it", lambda: "Drained" in conditions(sandbox), SECONDS)
        assert state_of(sandbox, instance["InstanceId"]) == "running"
        assert sandbox.phase("held") == "Running"
        assert sandbox.api.find(made_from) is not None
        sandbox.api.delete(f"{PODS}/held", gracePeriodSeconds=0)
        eventually("then it goes", lambda: sandbox.api.find(made_from) is None, SECONDS)
        assert state_of(sandbox, instance["InstanceId"]) in ("shutting-down", "terminated")
    finally:
        # For five minutes Karpenter takes the launch templates that went with it for there, and the new one for broken:
        # https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/launchtemplate/launchtemplate.go
        sandbox.restart()
        _restore(sandbox, backup)


def test_without_karpenter_a_removed_pool_leaves_its_machines_behind(sandbox: KarpenterSandbox) -> None:
    """Why the program removes Karpenter last."""
    submit(sandbox, "long", STEADY)
    instance = instance_of(sandbox, node_of(sandbox, "long"))
    pool = pool_path(STEADY)
    backup = {pool: sandbox.api.get(pool)}
    sandbox.release("karpenter", {"replicas": 0}, wait=False)
    try:
        eventually("Karpenter is gone", lambda: not sandbox.controllers(), SECONDS)
        sandbox.api.delete(pool)
        eventually("the machine is to go", lambda: claim(sandbox)["metadata"].get("deletionTimestamp"), SECONDS)
        assert state_of(sandbox, instance) == "running"
    finally:
        sandbox.release("karpenter")
        eventually("Karpenter ends it", lambda: state_of(sandbox, instance) == "terminated", SECONDS)
        _restore(sandbox, backup)


def _pending(sandbox: KarpenterSandbox, name: str) -> bool:
    pods = sandbox.api.list(PODS, labelSelector=f"job-name={name}")
    return any(each["status"].get("phase") == "Pending" for each in pods)


def _restore(sandbox: KarpenterSandbox, backup: dict[str, Object]) -> None:
    for path, live in backup.items():
        eventually(f"{path} is gone", lambda path=path: "deletionTimestamp" not in str(sandbox.api.find(path)), SECONDS)
        if sandbox.api.find(path) is None:
            metadata = {
                key: live["metadata"][key] for key in ("name", "labels", "annotations") if key in live["metadata"]
            }
            sandbox.api.create(path.rpartition("/")[0], {**live, "metadata": metadata, "status": {}})
    ready = {"type": "Ready", "status": "True"}.items()

    def all_ready() -> bool:
        conditions_of_all = [sandbox.api.get(path).get("status", {}).get("conditions", []) for path in backup]
        return all(any(ready <= each.items() for each in listed) for listed in conditions_of_all)

    eventually("they are ready again", all_ready, SECONDS)
