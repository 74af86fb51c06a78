"""What must be so of a sweep that has run, and of a job whose node was taken back: what is not fails it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from facts.concepts.offer import CheckpointsOffer, PoolOffer, TeamOffer
from facts.jobs.job import TrainingJobSpec
from facts.jobs.sweep import Sweep
from packages.gpu.tests import offers
from packages.rehearsal.tests.tables import cases
from rehearsal.cluster.api import ApiError
from rehearsal.scenario.timeline import PodRecord
from rehearsal.work import reclaim, sweep
from rehearsal.work.jobs import Workplace
from rehearsal.work.reclaim import ReclaimOutcome
from rehearsal.work.sweep import SweepOutcome
from rehearsal.workloads.platforms import has_arm64

INDEX = "batch.kubernetes.io/job-completion-index"
JOB = TrainingJobSpec(
    name="sweep-1",
    namespace="default",
    image="train:1",
    command=("python", "train.py"),
    pools=("t4-1", "t4-1-spot"),
    taints=(),
    sweep=Sweep({"seed": ("0", "1", "2")}),
    at_once=2,
)


def run(index: int, began: float, **other: Any) -> PodRecord:
    """Runs for 2 s from a moment on."""
    of_job: dict[str, Any] = {"namespace": "default", "workload": "sweep-1", "owner": "Job", "gpus": 1, "created": 0.0}
    lived: dict[str, Any] = {"labels": {INDEX: str(index)}, "running": began, "finished": began + 2}
    pod = PodRecord(uid=f"{index}-{began}", name=f"sweep-1-{index}", **of_job, **lived)
    return replace(pod, **other)


SWEPT = SweepOutcome(
    JOB, tuple((run(index, index), pool) for index, pool in enumerate(("t4-1", "t4-1-spot", "t4-1"))), {"succeeded": 3}
)


def test_a_sweep_that_ran_as_declared_has_no_problem() -> None:
    assert sweep.problems(SWEPT) == []


def test_a_run_that_kubernetes_started_twice_by_itself_is_no_problem() -> None:
    twice = ((run(1, 9), "t4-1"), (run(2, 9, running=None, finished=None), None))
    assert sweep.problems(replace(SWEPT, pods=(*SWEPT.pods, *twice))) == []


@cases
def test_each_deviation_of_a_sweep_is_reported(status: dict[str, int], pods: list[list[Any]], expected: str) -> None:
    """Pods are rows of their pool, index, start and other fields; without any they are those that ran well."""
    ran = tuple((run(index, began, **(more[0] if more else {})), pool) for pool, index, began, *more in pods)
    (problem,) = sweep.problems(replace(SWEPT, status=status, pods=ran or SWEPT.pods))
    assert expected in problem


COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 2}


def worker(index: int, node: str, uid: str, **spec: Any) -> dict[str, Any]:
    container = {
        "image": "train:1",
        "env": [{"name": "MASTER_ADDR", "value": "reclaimed-0.reclaimed"}],
        "resources": {},
    }
    pod_spec = {"hostname": f"reclaimed-{index}", "subdomain": "reclaimed", "terminationGracePeriodSeconds": 15}
    return {
        "metadata": {"name": f"reclaimed-{index}-{uid}", "uid": uid, "annotations": {INDEX: str(index)}},
        "spec": {"nodeName": node, "containers": [container], **pod_spec, **spec},
    }


BEFORE = (worker(0, "n1", "a"), worker(1, "n2", "b"))
WELL = ReclaimOutcome(
    taken="n2",
    before=BEFORE,
    ends=("EvictionByEvictionAPI",),
    after=(BEFORE[0], worker(1, "n3", "c")),
    status=COMPLETE,
    notice=15,
)


def test_a_job_that_goes_on_as_declared_has_no_problem() -> None:
    assert reclaim.problems(WELL, 2) == []
    assert reclaim.problems(replace(WELL, notice=None), 2) == []


@cases
def test_each_deviation_is_reported(field: str, value: Any, expected: str) -> None:
    """Pods are rows of their index, node, UID and other fields of their spec."""
    if field in ("before", "after"):
        value = [worker(*row[:3], **(row[3] if len(row) > 3 else {})) for row in value]
    changed: dict[str, Any] = {field: tuple(value) if isinstance(value, list) else value}
    (problem,) = reclaim.problems(replace(WELL, **changed), 2)
    assert expected in problem


def for_teams(pool: PoolOffer, *teams: str) -> PoolOffer:
    """The pool for some teams alone."""
    return replace(pool, nodes=replace(pool.nodes, teams=teams))


T4 = offers.pool("t4-1", hourly_usd=9.0)
T4_OF_4 = offers.pool("t4-4", size=4, hourly_usd=20.0)
CHIP = offers.pool("v6e-1", gpu="google-tpu-v6e", slice_nodes=1)
SLICE = offers.pool("slice-4", gpu="google-tpu-v6e", size=4, max_nodes=4, slice_nodes=4)


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ([T4, T4_OF_4], [("nvidia-t4", 1, 1), ("nvidia-t4", 4, 1)]),
        ([T4, CHIP], [("google-tpu-v6e", 1, 1), ("nvidia-t4", 1, 1)]),
        # A job for a slice is four nodes, which cost more than the T4.
        ([SLICE, T4], [("nvidia-t4", 1, 1), ("google-tpu-v6e", 4, 4)]),
        ([SLICE], [("google-tpu-v6e", 4, 4)]),
    ],
    ids=["two sizes", "a type to name", "a slice", "a slice alone"],
)
def test_a_job_can_have_all_gpus_of_the_nodes_of_every_stack(
    pools: list[PoolOffer], expected: list[tuple[str, int, int]]
) -> None:
    unused: Any = None
    there = Workplace(offers.offer(*pools), unused, unused, unused, unused)
    assert [(each.gpu, each.gpus, each.workers) for each, _ in there.whole_nodes()] == expected


def test_jobs_have_an_image_for_the_cpus_of_every_node() -> None:
    unused: Any = None
    labels = {**T4.nodes.labels, "gpucluster.dev/arch": "arm64"}
    arm = offers.pool("t4g-1", gpu="nvidia-t4g", labels=labels)
    images = [Workplace(offers.offer(*pools), unused, unused, unused, unused).image for pools in ([T4], [T4, arm])]
    assert [has_arm64(image) for image in images] == [False, True]


@dataclass(frozen=True)
class Refusing(Workplace):
    """It accepts no job, and notes those that were submitted."""

    jobs: list[TrainingJobSpec] = field(default_factory=list)

    def submit(self, job: TrainingJobSpec, seconds: str) -> None:
        self.jobs.append(job)
        raise ApiError(422, "Invalid", "refused")


SPOT = offers.pool("t4-1-spot", spot=True, hourly_usd=3.0)
OF_FOUR = offers.pool("slice-4", gpu="google-tpu-v6e", size=4, max_nodes=4, slice_nodes=4, teams=("red",))


@pytest.mark.parametrize(
    ("pools", "gpus", "expected"),
    [
        ([T4, SPOT], 9, ("default", ("t4-1-spot",), 1, 2)),
        ([for_teams(T4, "red"), SPOT], 9, ("default", ("t4-1-spot",), 1, 2)),
        ([T4, for_teams(SPOT, "red")], 9, ("default", ("t4-1",), 1, 2)),
        ([for_teams(T4, "red", "blue")], 9, ("red", ("t4-1",), 1, 2)),
        ([for_teams(T4, "red")], 1, ("red", ("t4-1",), 1, 1)),
        ([for_teams(T4_OF_4, "red")], 2, ("red", ("t4-4",), 2, 1)),
        ([OF_FOUR], 16, ("red", ("slice-4",), 4, 4)),
        ([OF_FOUR], 8, None),
    ],
)
def test_jobs_are_of_a_team_where_all_pools_are_for_teams(
    pools: list[PoolOffer], gpus: int, expected: tuple[str, tuple[str, ...], int, int] | None
) -> None:
    """Namespace, pools, GPUs and workers of the job that loses its node; a sweep runs there as well."""
    unused: Any = None
    offer = replace(
        offers.offer(*pools),
        teams=(TeamOffer(name="red", gpus=gpus), TeamOffer(name="blue", gpus=gpus)),
        checkpoints=CheckpointsOffer(url="gs://bucket", service_account="default/gpu-jobs"),
    )
    timeline: Any = SimpleNamespace(now=lambda: 0.0)
    there = Refusing(offer, unused, unused, timeline, unused)
    assert bool(there.whole_nodes()) is (expected is not None)
    if expected is not None:
        reclaim.play(there, print)
        assert [(job.namespace, job.pools, job.gpus, job.workers) for job in there.jobs] == [expected]
        sweep.play(there)
        assert {job.namespace for job in there.jobs} == {expected[0]}


def test_the_nodes_of_a_slice_end_together() -> None:
    both = replace(WELL, after=(worker(0, "n3", "d"), worker(1, "n4", "c")))
    assert reclaim.problems(replace(both, together=True), 2) == []
    assert reclaim.problems(both, 2) == ["reclaimed-0-a on another node was ended too"]
