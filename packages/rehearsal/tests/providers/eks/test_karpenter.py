"""What the hand-written judgement of Karpenter used to say, Karpenter itself says now.

Every part that it needs is taken away once, and its own words tell which. The program's components declare the cluster;
one sandbox serves all tests.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from packages.rehearsal.tests.providers.eks.account import ENTRY
from packages.rehearsal.tests.providers.eks.karpenter_sandbox import (
    SECONDS,
    KarpenterSandbox,
    changed,
    class_path,
    conditions_of,
    karpenter_sandbox,
    pool_path,
    without,
)
from packages.rehearsal.tests.simulated_cluster import GPU_TAINT, PODS, eventually, pod
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import Object
from rehearsal.simulation import NO_NODE
from tests.components import eks_specs

pytestmark = [pytest.mark.rehearsal]

POOL: Final = "t4-1"
LONG: Final = 8
"""Seconds: a node that may go is idle for as long as its pool asks for after one."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KarpenterSandbox]:
    # Bottlerocket offers its GPUs itself: the device plugin is not among these components.
    pool = eks_specs.gpu_pool(POOL, zones=eks_specs.THREE_ZONES, max_nodes=2, image="bottlerocket")
    with karpenter_sandbox(tmp_path_factory.mktemp("karpenter"), pool) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(running: KarpenterSandbox) -> Iterator[KarpenterSandbox]:
    running.mark()
    yield running
    running.settle()


def gpu_pod(name: str, **fields: Any) -> Object:
    return pod(name, gpus=1, seconds=3600, nodeSelector={"gpucluster.dev/pool": POOL}, **fields)


def test_a_pod_gets_a_machine_of_its_pool_and_the_machine_goes_after_it(sandbox: KarpenterSandbox) -> None:
    assert sandbox.instances() == []
    sandbox.submit(gpu_pod("first"))
    sandbox.run("first")
    (instance,) = sandbox.instances()
    assert instance["InstanceType"] == "g4dn.xlarge"
    (node,) = [one for one in sandbox.api.list("/api/v1/nodes") if "karpenter.sh/nodepool" in one["metadata"]["labels"]]
    assert node["spec"]["providerID"].endswith(instance["InstanceId"])
    pool = sandbox.api.get(pool_path(POOL))["spec"]["template"]
    assert pool["metadata"]["labels"].items() <= node["metadata"]["labels"].items()
    assert GPU_TAINT.manifest in node["spec"]["taints"]
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    sandbox.api.delete(f"{PODS}/first", gracePeriodSeconds=0)
    eventually("the machine is gone", lambda: not sandbox.instances("pending", "running"), SECONDS)
    eventually("so is its claim", lambda: not sandbox.claims(), SECONDS)
    assert [
        each for each in sandbox.api.list("/api/v1/nodes") if "karpenter.sh/nodepool" in each["metadata"]["labels"]
    ] == []


def _subnets(spec: Any) -> None:
    spec["subnetSelectorTerms"] = [{"tags": {"karpenter.sh/discovery": "mistyped"}}]


def _groups(spec: Any) -> None:
    spec["securityGroupSelectorTerms"] = [{"id": "sg-00000000000000000"}]


def _image(spec: Any) -> None:
    spec["amiSelectorTerms"] = [{"id": "ami-00000000000000000"}]
    spec["amiFamily"] = "Bottlerocket"


def _profile(spec: Any) -> None:
    spec["instanceProfile"] = "absent"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_subnets, "SubnetSelector did not match any Subnets"),
        (_groups, "SecurityGroupSelector did not match any SecurityGroups"),
        (_image, "AMISelector did not match any AMIs"),
        (_profile, "absent"),
    ],
)
def test_what_a_node_class_lacks(sandbox: KarpenterSandbox, change: Callable[[Any], None], message: str) -> None:
    with changed(sandbox, class_path(sandbox, POOL), change):
        sandbox.submit(gpu_pod("waits"))
        sandbox.waits("waits", message)
        assert sandbox.instances() == []
    sandbox.run("waits")


def _type(spec: Any) -> None:
    for each in spec["template"]["spec"]["requirements"]:
        if each["key"] == "node.kubernetes.io/instance-type":
            each["values"] = ["no.such-type"]


def _zone(spec: Any) -> None:
    for each in spec["template"]["spec"]["requirements"]:
        if each["key"] == "topology.kubernetes.io/zone":
            each["values"] = ["us-west-2d"]


@pytest.mark.parametrize("change", [_type, _zone])
def test_a_pool_that_no_machine_meets(sandbox: KarpenterSandbox, change: Callable[[Any], None]) -> None:
    with changed(sandbox, pool_path(POOL), change):
        sandbox.submit(gpu_pod("waits"))
        sandbox.waits("waits", "nodepool requirements filtered out all available instance types")
        assert sandbox.instances() == []


def test_idle_nodes_that_are_to_stay_do_stay(sandbox: KarpenterSandbox) -> None:
    def never(spec: Any) -> None:
        spec["disruption"]["consolidateAfter"] = "Never"

    with changed(sandbox, pool_path(POOL), never):
        sandbox.submit(gpu_pod("short"))
        sandbox.run("short")
        sandbox.api.delete(f"{PODS}/short", gracePeriodSeconds=0)
        eventually("the pod is gone", lambda: sandbox.phase("short") == "")

        eventually("it has long been idle", lambda: idle_seconds(sandbox) > LONG, SECONDS)
        assert "Consolidatable" not in conditions(sandbox)
    eventually("then it may go", lambda: conditions(sandbox).get("Consolidatable", "True") == "True", SECONDS)


def conditions(sandbox: KarpenterSandbox) -> dict[str, str]:
    """Of the only NodeClaim; none once it is gone."""
    return {key: value for claim in sandbox.claims() for key, value in conditions_of(claim).items()}


def idle_seconds(sandbox: KarpenterSandbox) -> float:
    """Since the node's last pod came or went; 0 before it was initialized."""
    (claim,) = sandbox.claims()
    last_event = claim["status"].get("lastPodEventTime")
    if last_event is None or conditions(sandbox).get("Initialized") != "True":
        return 0.0
    moment = datetime.datetime.fromisoformat(last_event.replace("Z", "+00:00"))
    return (datetime.datetime.now(datetime.timezone.utc) - moment).total_seconds()


def test_a_machine_whose_role_is_not_let_in_makes_no_node(sandbox: KarpenterSandbox) -> None:
    store = sandbox.account.store
    record = next(each for each in store.all(ENTRY) if each.inputs.get("type") == "EC2_LINUX")
    store.remove(ENTRY, record.id)
    try:
        sandbox.submit(gpu_pod("waits"))

        def reported() -> list[str]:
            return [each["message"] for each in sandbox.api.list("/api/v1/events") if each["reason"] == NO_NODE]

        events = eventually("Karpenter reports it", reported, SECONDS)
        assert "has no access entry" in events[0]
        assert sandbox.phase("waits") == "Pending"
        store.put(record)
        sandbox.run("waits")
    finally:
        store.put(record)


@cases
def test_what_the_installation_lacks(sandbox: KarpenterSandbox, values: dict[str, Any], message: str) -> None:
    sandbox.release("karpenter", {**values, "strategy": {"rollingUpdate": None, "type": "Recreate"}}, wait=False)
    try:
        sandbox.submit(gpu_pod("waits"))
        sandbox.waits("waits", message)
        assert sandbox.instances() == []
    finally:
        sandbox.api.delete(PODS, gracePeriodSeconds=0)
        sandbox.release("karpenter")


def test_without_its_queue_it_says_so_and_goes_on(sandbox: KarpenterSandbox) -> None:
    sandbox.release("karpenter", {"settings": {"interruptionQueue": "absent"}})
    try:
        eventually("Karpenter reports it", lambda: "failed to create valid sqs provider" in sandbox.words(), SECONDS)
        sandbox.submit(gpu_pod("runs"))
        sandbox.run("runs")
    finally:
        sandbox.release("karpenter")


@pytest.mark.parametrize("action", ["ec2:CreateFleet", "iam:PassRole"])
def test_a_right_that_its_role_lacks(sandbox: KarpenterSandbox, action: str) -> None:
    """Last of all: what could not be launched, Karpenter tries again only minutes later."""
    with without(sandbox, action):
        sandbox.submit(gpu_pod("waits"))
        sandbox.waits("waits", f"not authorized to perform: {action}")
        assert sandbox.instances() == []
