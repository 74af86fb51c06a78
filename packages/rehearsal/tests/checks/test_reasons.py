"""Why a pod waits, as a rehearsal tells it."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.objects import Cluster, admin_pool, gpu_pool, job_yaml
from rehearsal.checks import workloads
from rehearsal.scenario.check import Pools
from rehearsal.scenario.plan import Scenario, derive
from rehearsal.scenario.player import Played, Submitted
from rehearsal.scenario.user import SubmissionReply

POOLS = Pools((gpu_pool("t4-1", 1, most=2),), (), admin_pool())
SCENARIO: Scenario = derive(POOLS.gpu, {pool.name: job_yaml(pool) for pool in POOLS.gpu}, 2.0)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.empty()


@pytest.mark.parametrize("rest", ["", " no new claims to deallocate,", " no new claims to deallocate"])
def test_the_reason_of_a_waiting_pod_omits_the_schedulers_words_on_preemption(cluster: Cluster, rest: str) -> None:
    cluster.pod("waits")
    message = "0/14 nodes are available: 10 Insufficient nvidia.com/gpu, 4 node(s) didn't match."
    cluster.warning("waits", f"{message}{rest} preemption: 0/14 nodes are available: 14 No preemption victims found.")
    assert cluster.timeline.why_pending("waits") == message


@pytest.mark.parametrize(
    ("waited", "reason", "expected"),
    [
        (True, "all exceed limits; does not tolerate", "(all exceed limits)"),
        (True, "does not tolerate; all exceed limits", "(all exceed limits)"),
        (True, "does not tolerate; node limits have been exhausted", "(node limits have been exhausted)"),
        (True, "Insufficient nvidia.com/gpu; another", "(Insufficient nvidia.com/gpu)"),
        (True, "", None),
        (False, "all exceed limits", None),
    ],
)
def test_a_full_pool_makes_the_next_pod_wait_and_something_says_why(
    cluster: Cluster, waited: bool, reason: str, expected: str | None
) -> None:
    extra = SCENARIO.burst.extra
    assert extra is not None
    played = Played([Submitted(extra, cluster.timeline.now(), SubmissionReply(True))])
    cluster.node("gpu-0", SCENARIO.burst.pool, size=1)
    cluster.pod(extra.workload)
    if reason:
        cluster.warning(extra.workload, reason)
    played.extra_waited_until = cluster.after(4).timeline.now() if waited else None
    cluster.pod(extra.workload, node="gpu-0", phase="Running", change="MODIFIED")
    checks = workloads.burst_checks(cluster.timeline, SCENARIO, played)
    at_maximum = next(check for check in checks if check.id == "waits-at-max")
    assert at_maximum.passed is (expected is not None)
    if expected:
        assert f"still Pending 4.0 s after submission, pool full {expected}; after" in at_maximum.detail
