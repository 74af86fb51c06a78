"""The workers of a stack's network test: all network devices of a node for each, or the check fails."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from facts.concepts.pool import Fabric
from packages.rehearsal.tests.objects import Cluster, gpu_pool, job_yaml
from rehearsal.checks.workloads import workload_checks
from rehearsal.scenario.plan import derive
from rehearsal.scenario.player import Played, Submitted
from rehearsal.scenario.user import SubmissionReply

EFA = "vpc.amazonaws.com/efa"
FABRIC = Fabric(devices=32, resource=EFA)
POOL = gpu_pool("h100-8", 8, most=2, fabric=FABRIC)


def network_test() -> dict[str, str]:
    job = yaml.safe_load(job_yaml(POOL))
    job["metadata"]["name"] = "workers"
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][EFA] = 32
    return {POOL.name: yaml.safe_dump_all([job, {"kind": "Service"}])}


@pytest.mark.parametrize(
    ("asked", "has", "nodes", "passes"),
    [(32, 32, "ab", True), (16, 32, "ab", False), (32, 32, "aa", False), (0, 0, "ab", False), (32, 32, "a", False)],
)
def test_each_worker_has_all_devices_of_a_node_of_its_own(asked: int, has: int, nodes: str, passes: bool) -> None:
    scenario = derive((POOL,), {POOL.name: job_yaml(POOL)}, 2.0, fabric_tests=network_test())
    (one,) = scenario.network_tests
    cluster = Cluster.empty()
    for name in set(nodes):
        cluster.node(name, POOL.name, size=8, offered={EFA: str(has)})
    for number, name in enumerate(nodes):
        owner = ("Job", "workers")
        cluster.pod(f"w-{number}", node=name, phase="Running", gpus=8, owner=owner, limits={EFA: str(asked)})
    played = Played([Submitted(one, 0.0, SubmissionReply(True), ())])
    (check,) = (each for each in workload_checks(cluster.timeline, scenario, played) if each.id == one.id)
    assert check.passed is passes, check.detail


def test_no_simulated_cloud_offers_devices_that_pods_claim() -> None:
    claimed = replace(POOL, fabric=replace(FABRIC, claimed=True))
    scenario = derive((claimed,), {POOL.name: job_yaml(POOL)}, 2.0, fabric_tests=network_test())
    assert scenario.network_tests == ()
