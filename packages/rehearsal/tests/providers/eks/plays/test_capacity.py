"""Which machines the real Karpenter starts, in which order, and how many: as EC2 has them, and as the pools say.

One cluster serves all plays. Karpenter remembers for three minutes what EC2 had none of, so each play has machine types
of its own, or starts Karpenter anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from facts.concepts.pool import GPU_LABEL, POOL_LABEL, Pool
from packages.rehearsal.tests.providers.eks.karpenter_sandbox import (
    SECONDS,
    KarpenterSandbox,
    changed,
    class_path,
    karpenter_sandbox,
    pool_path,
    without,
)
from packages.rehearsal.tests.simulated_cluster import eventually, pod
from rehearsal.cluster.api import Object
from rehearsal.providers.eks.aws_api.gaps.launch import SPOT_ROLE
from rehearsal.providers.eks.cloud import CapacityReservation
from tests.components import eks_specs

pytestmark = [pytest.mark.rehearsal]

ZONES: Final = eks_specs.THREE_ZONES
RESERVED: Final = "cr-0123456789abcdef0"


def gpu_pool(name: str, gpu: str, *types: str, **changes: Any) -> Pool:
    usual = {"zones": ZONES, "capacity_type": "on-demand", "machine_types": types}
    labels = {**eks_specs.gpu_pool(name).nodes.labels, GPU_LABEL: gpu}
    return eks_specs.gpu_pool(name, gpu=gpu, labels=labels, **{**usual, **changes})


POOLS: Final = (
    # Spot first, then on demand.
    gpu_pool("t4-1-spot", "nvidia-t4", "g4dn.xlarge", "g4dn.2xlarge", capacity_type="spot", max_nodes=4),
    gpu_pool("t4-1", "nvidia-t4", "g4dn.xlarge", preference=1, max_nodes=4),
    # Two pools of one size, which only their prices tell apart.
    gpu_pool("cheap", "nvidia-a10g", "g5.xlarge", hourly_usd=1.0, max_nodes=1),
    gpu_pool("dear", "nvidia-a10g", "g5.2xlarge", hourly_usd=1.2, max_nodes=1),
    # Paid for already, and the same machine on demand: the name alone would put the latter first.
    gpu_pool("l4-a", "nvidia-l4", "g6.xlarge", reservation=RESERVED, zones=ZONES[:1], hourly_usd=1.0),
    gpu_pool("l4-b", "nvidia-l4", "g6.xlarge", hourly_usd=1.0),
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KarpenterSandbox]:
    with karpenter_sandbox(tmp_path_factory.mktemp("capacity"), *POOLS) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(running: KarpenterSandbox) -> Iterator[KarpenterSandbox]:
    running.mark()
    yield running
    running.account.supply.refill()
    running.settle()


def submit(sandbox: KarpenterSandbox, gpu: str, *names: str, **selector: str) -> None:
    for name in names:
        sandbox.submit(pod(name, gpus=1, seconds=3600, nodeSelector={GPU_LABEL: gpu, **selector}))


def label(node: Object, key: str) -> str:
    value: str = node["metadata"]["labels"][key]
    return value


def facts(node: Object) -> tuple[str, str, str]:
    """Pool, kind of capacity and machine type of a node."""
    keys = (POOL_LABEL, "karpenter.sh/capacity-type", "node.kubernetes.io/instance-type")
    pool, capacity, type = (label(node, key) for key in keys)
    return pool, capacity, type


def test_without_the_role_of_spot_karpenter_says_so_and_takes_machines_on_demand(sandbox: KarpenterSandbox) -> None:
    with without(sandbox, "iam:CreateServiceLinkedRole"):
        submit(sandbox, "nvidia-t4", "first")
        (node,) = sandbox.run("first")
    assert facts(node) == ("t4-1", "on-demand", "g4dn.xlarge")
    assert "AuthFailure.ServiceLinkedRoleCreationNotPermitted" in sandbox.words()
    sandbox.settle()
    sandbox.restart()
    submit(sandbox, "nvidia-t4", "second")
    (node,) = sandbox.run("second")
    assert facts(node) == ("t4-1-spot", "spot", "g4dn.xlarge")
    assert sandbox.aws("iam", "GetRole", RoleName=SPOT_ROLE)["Role"]


def test_spot_first_then_on_demand_where_ec2_has_none(sandbox: KarpenterSandbox) -> None:
    supply = sandbox.account.supply
    submit(sandbox, "nvidia-t4", "first")
    (node,) = sandbox.run("first")
    assert facts(node) == ("t4-1-spot", "spot", "g4dn.xlarge")
    zone = label(node, "topology.kubernetes.io/zone")

    supply.exhaust(zone=zone, market="spot")
    submit(sandbox, "nvidia-t4", "second")
    (node,) = sandbox.run("second")
    assert facts(node) == ("t4-1-spot", "spot", "g4dn.xlarge")
    assert label(node, "topology.kubernetes.io/zone") != zone
    submit(sandbox, "nvidia-t4", "here", **{"topology.kubernetes.io/zone": zone})
    (node,) = sandbox.run("here")
    assert facts(node) == ("t4-1", "on-demand", "g4dn.xlarge")
    assert label(node, "topology.kubernetes.io/zone") == zone

    supply.exhaust(instance_type="g4dn.xlarge", market="spot")
    submit(sandbox, "nvidia-t4", "third")
    (node,) = sandbox.run("third")
    assert facts(node) == ("t4-1-spot", "spot", "g4dn.2xlarge")

    supply.exhaust(market="spot")
    submit(sandbox, "nvidia-t4", "fourth")
    (node,) = sandbox.run("fourth")
    assert facts(node) == ("t4-1", "on-demand", "g4dn.xlarge")

    supply.exhaust()
    submit(sandbox, "nvidia-t4", "fifth")
    sandbox.waits("fifth", "InsufficientInstanceCapacity")
    supply.refill()
    sandbox.restart()
    (node,) = sandbox.run("fifth")
    assert facts(node) == ("t4-1-spot", "spot", "g4dn.xlarge")


def test_two_pools_of_one_size_are_used_in_order(sandbox: KarpenterSandbox) -> None:
    submit(sandbox, "nvidia-a10g", "first")
    (node,) = sandbox.run("first")
    assert facts(node)[0] == "cheap"
    submit(sandbox, "nvidia-a10g", "second", "third")
    eventually("the dear one is used", lambda: "Running" in (sandbox.phase("second"), sandbox.phase("third")), SECONDS)
    waiting = next(name for name in ("second", "third") if sandbox.phase(name) == "Pending")
    sandbox.waits(waiting, "limit")
    assert sorted(each["InstanceType"] for each in sandbox.instances()) == ["g5.2xlarge", "g5.xlarge"]


def test_only_the_weight_orders_pools(sandbox: KarpenterSandbox) -> None:
    weights = {name: sandbox.api.get(pool_path(name))["spec"]["weight"] for name in ("cheap", "dear")}
    assert weights["cheap"] > weights["dear"]
    with changed(sandbox, pool_path("cheap"), lambda spec: spec.update(weight=weights["dear"] - 1)):
        submit(sandbox, "nvidia-a10g", "first")
        (node,) = sandbox.run("first")
        assert facts(node)[0] == "dear"


def test_reserved_machines_are_used_first_and_others_when_they_are_all_in_use(sandbox: KarpenterSandbox) -> None:
    sandbox.account.supply.reserve(CapacityReservation(RESERVED, "g6.xlarge", ZONES[0], 1))
    node_class = class_path(sandbox, "l4-a")
    eventually("Karpenter sees it", lambda: sandbox.api.get(node_class)["status"].get("capacityReservations"), SECONDS)
    submit(sandbox, "nvidia-l4", "first")
    (node,) = sandbox.run("first")
    assert facts(node) == ("l4-a", "reserved", "g6.xlarge")
    (instance,) = sandbox.instances()
    assert instance["CapacityReservationId"] == RESERVED
    submit(sandbox, "nvidia-l4", "second")
    (node,) = sandbox.run("second")
    assert facts(node) == ("l4-b", "on-demand", "g6.xlarge")
    # Only its reservation holds the pool back, not its limit.
    submit(sandbox, "nvidia-l4", "third", **{POOL_LABEL: "l4-a"})
    sandbox.waits("third", "Failed to schedule pod")
    assert len(sandbox.instances()) == 2
    sandbox.account.supply.reserve(CapacityReservation(RESERVED, "g6.xlarge", ZONES[0], 2))
    sandbox.restart()
    (node,) = sandbox.run("third")
    assert facts(node) == ("l4-a", "reserved", "g6.xlarge")


def test_pods_of_one_batch_get_no_more_nodes_than_the_limit(sandbox: KarpenterSandbox) -> None:
    batch = ["a", "b", "c", "d", "e", "f"]
    submit(sandbox, "nvidia-t4", *batch, **{POOL_LABEL: "t4-1"})
    eventually("four run", lambda: sum(sandbox.phase(name) == "Running" for name in batch) == 4, SECONDS)
    sandbox.waits(next(name for name in batch if sandbox.phase(name) == "Pending"), "limit")
    assert len(sandbox.instances()) == 4


def test_it_is_the_limit_of_gpus_that_holds_within_a_batch(sandbox: KarpenterSandbox) -> None:
    """Karpenter deducts a planned node's resources from the limits at once, and the node itself only when it exists."""
    batch = ["a", "b", "c", "d", "e", "f"]
    with changed(sandbox, pool_path("t4-1"), lambda spec: spec["limits"].update({"nvidia.com/gpu": None})):
        submit(sandbox, "nvidia-t4", *batch, **{POOL_LABEL: "t4-1"})
        eventually("too many come", lambda: len(sandbox.instances()) > 4, SECONDS)
