"""Workers get the network devices of one pool with a fabric, or a warning; pools of a ComputeClass are a kind apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.kubernetes import Taint
from facts.concepts.offer import PoolOffer
from facts.concepts.parts import Fabric
from facts.jobs.fit import PodRequest, fits
from facts.jobs.job import JobRequest, TrainingJobSpec, manifests
from facts.jobs.plan import NothingFits, place, short_nodes, slow_network, training_job
from gpu.commands.offer import as_json, described
from gpu.start import Start, Usage, start_of
from packages.gpu.tests.offers import offer, pool

EFA = "vpc.amazonaws.com/efa"
H100: dict[str, Any] = {"gpu": "nvidia-h100-80gb", "size": 8, "machine_types": ("p5.48xlarge",), "rdma_devices": 32}
ENV = {"FI_EFA_USE_HUGE_PAGE": "0"}
FABRIC = pool("h100-8", fabric=Fabric(devices=32, resource=EFA, env=ENV), hourly_usd=98.0, **H100)
PLAIN = pool("plain-8", hourly_usd=50.0, **H100)


def job(*pools: PoolOffer, gpus: int = 8, workers: int = 2) -> tuple[TrainingJobSpec, str | None]:
    """The job and its warning."""
    request = JobRequest(name="train", namespace="default", gpus=gpus, workers=workers)
    fit = place(offer(*pools), request)
    planned = training_job(request, fit, "example.com/x:1", offer(*pools))
    return planned, slow_network(planned, fit)


def limits(planned: TrainingJobSpec) -> dict[str, Any]:
    asked: dict[str, Any] = manifests(planned)[0]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    return asked


@pytest.mark.parametrize(("gpus", "devices"), [(8, 32), (4, 16), (1, 4)])
def test_each_of_several_workers_gets_its_share_of_the_devices(gpus: int, devices: int) -> None:
    planned, warning = job(FABRIC, gpus=gpus)
    assert limits(planned) == {"nvidia.com/gpu": gpus, EFA: devices}
    assert warning is None
    (container,) = manifests(planned)[0]["spec"]["template"]["spec"]["containers"]
    assert {"name": "FI_EFA_USE_HUGE_PAGE", "value": "0"} in container["env"], "pods have no huge pages"


def test_one_worker_needs_no_devices_and_no_warning() -> None:
    planned, warning = job(FABRIC, workers=1)
    assert (limits(planned), warning) == ({"nvidia.com/gpu": 8}, None)
    assert "env" not in manifests(planned)[0]["spec"]["template"]["spec"]["containers"][0]


def test_workers_are_all_in_the_pool_that_connects_them() -> None:
    planned, warning = job(PLAIN, FABRIC)
    assert (planned.pools, limits(planned)[EFA], warning) == (("h100-8",), 32, None)
    # A single pod may run in either.
    assert job(PLAIN, FABRIC, workers=1)[0].pools == ("plain-8", "h100-8")


def test_workers_without_a_fabric_are_warned_of_the_devices_that_they_do_not_use() -> None:
    planned, warning = job(PLAIN)
    assert limits(planned) == {"nvidia.com/gpu": 8}
    assert warning is not None
    assert "TCP" in warning
    assert "32 RDMA devices of p5.48xlarge" in warning
    assert "a pool with a fabric" in warning
    # More workers than the fabric's pool has room for: some of them would be outside.
    assert job(PLAIN, FABRIC, workers=4)[1] == warning
    assert job(pool("t4-1"), gpus=1)[1] is None


def test_a_share_of_less_than_a_device_is_warned_of() -> None:
    small = pool("a100-8", **{**H100, "rdma_devices": 4, "fabric": Fabric(devices=4, resource=EFA)})
    planned, warning = job(small, gpus=1)
    assert limits(planned) == {"nvidia.com/gpu": 1}
    assert warning is not None
    assert "all GPUs of a node per worker" in warning


def test_where_devices_are_claimed_a_worker_has_all_of_its_node_or_none() -> None:
    fabric = Fabric(devices=8, resource="mrdma.google.com", claimed=True)
    google = pool("h200-8", gpu="nvidia-h200-141gb", size=8, rdma_devices=8, fabric=fabric)
    planned, warning = job(google)
    spec = manifests(planned)[0]["spec"]["template"]["spec"]
    assert spec["resourceClaims"] == [{"name": "fabric", "resourceClaimTemplateName": "gpu-fabric"}]
    assert spec["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": 8}, "claims": [{"name": "fabric"}]}
    assert warning is None
    half, warning = job(google, gpus=4)
    assert "resourceClaims" not in manifests(half)[0]["spec"]["template"]["spec"]
    assert warning is not None
    assert "all GPUs of a node per worker" in warning
    assert "resourceClaims" not in manifests(job(google, workers=1)[0])[0]["spec"]["template"]["spec"]


CLASS = "cloud.google.com/compute-class"


def classed(name: str, of: str = "l4", **changes: Any) -> PoolOffer:
    plain = pool(name)
    return pool(
        name,
        labels={**plain.nodes.labels, CLASS: of},
        taints=(*plain.nodes.taints, Taint(CLASS, of, "NoSchedule")),
        **changes,
    )


BLOCK = {
    "capacity_type": "capacity-block",
    "since": "2026-11-24",
    "until": "2026-12-01",
    "ends": "2026-12-01T11:00:00Z",
}

LATER = {**BLOCK, "since": "2026-12-03", "until": "2026-12-03", "ends": "2026-12-03T11:00:00Z"}


@pytest.mark.parametrize(
    ("pools", "asked", "expected"),
    [
        (
            [BLOCK],
            {},
            "the nodes of h100-8 end at 2026-12-01T11:00:00Z, and the job's pods with them: save checkpoints before",
        ),
        ([BLOCK], {"timeout_seconds": 3601}, "the nodes of h100-8 end at 2026-12-01T11:00:00Z"),
        ([BLOCK], {"timeout_seconds": 3600}, None),
        # It waits for a block of half a day that begins two days later.
        ([LATER], {"timeout_seconds": 86_400}, "the nodes of h100-8 end at 2026-12-03T11:00:00Z"),
        # It goes on elsewhere.
        ([BLOCK, {"preference": 1}], {}, None),
        ([{"capacity_type": "flex-start", "max_run_hours": 1}], {"timeout_seconds": 3600}, None),
        ([{"capacity_type": "flex-start", "max_run_hours": 1}], {"timeout_seconds": 7200}, "run for 1 hour at most"),
        ([{}], {}, None),
    ],
)
def test_a_job_that_outlives_its_nodes_is_warned(
    pools: list[dict[str, Any]], asked: dict[str, Any], expected: str | None
) -> None:
    offered = offer(*(pool(f"h100-8{'b' * number}", **{**H100, **each}) for number, each in enumerate(pools)))
    request = JobRequest(gpus=8, name="train", namespace="default", start="2026-12-01T10:00:00Z", **asked)
    warning = short_nodes(request, place(offered, request))
    assert warning == expected if expected is None else warning is not None and expected in warning


def test_no_job_waits_for_a_block_that_has_ended() -> None:
    offered = offer(pool("h100-8", **{**H100, **BLOCK}))
    assert place(offered, PodRequest(gpus=8, start="2026-12-01T10:59:59Z")).pools[0].name == "h100-8"
    with pytest.raises(NothingFits, match="its capacity block ended at 2026-12-01T11:00:00Z"):
        place(offered, PodRequest(gpus=8, start="2026-12-01T11:00:00Z"))


def test_a_block_that_has_not_begun_says_when_it_does() -> None:
    request, nodes = PodRequest(gpus=8, start="2026-11-23T23:59:59Z"), {"h100-8": 0}
    usage = Usage(nodes=[], pods=[], events=[], quotas=[], everywhere=True)
    (fit,) = fits(offer(pool("h100-8", **{**H100, **BLOCK})), request)
    assert described(fit, request, nodes).endswith(
        "no node before 2026-11-24, when its capacity block begins: a job waits until then"
    )
    assert as_json(fit, request, nodes)["begins"] == "2026-11-24"
    assert start_of(fit, request, usage) == Start("waits", "its capacity block begins on 2026-11-24")
    begun = replace(request, start="2026-11-24T00:00:00Z")
    assert described(fit, begun, nodes).endswith("provisioning takes some minutes")
    assert start_of(fit, begun, usage).stage == "minutes"
    # Another pool of the same kind has machines before.
    both = replace(fit, pools=(*fit.pools, pool("h100-8b", **H100)))
    assert as_json(both, request, nodes)["begins"] is None


@pytest.mark.parametrize(("capacity", "drained"), [("spot", True), ("capacity-block", True), ("flex-start", False)])
def test_only_where_the_cloud_drains_a_node_its_job_lets_it(capacity: str, drained: bool) -> None:
    offered = offer(pool("h100-8", **{**H100, "capacity_type": capacity}))
    request = JobRequest(gpus=8, name="train", namespace="default")
    (job, *_) = manifests(training_job(request, place(offered, request), "image", offered))
    metadata = job["spec"]["template"]["metadata"]
    assert ("karpenter.sh/do-not-disrupt" not in metadata["annotations"]) is drained
    assert ("gpucluster.dev/uninterrupted" not in metadata["labels"]) is drained


SPOT, FLEX = classed("l4-spot", spot=True), classed("l4-flex", preference=1)


def test_a_job_runs_in_one_class_or_in_none() -> None:
    chosen = fits(offer(FLEX, SPOT, pool("plain"), classed("other", of="other")), PodRequest())
    assert [[each.name for each in fit.pools] for fit in chosen] == [["l4-spot", "l4-flex"], ["plain"], ["other"]]


def test_the_job_selects_the_class_and_tolerates_its_taint() -> None:
    pools = offer(SPOT, FLEX)
    request = JobRequest(name="train", namespace="default")
    (fit,) = fits(pools, request)
    pod = manifests(training_job(request, fit, "example.com/x:1", pools))[0]["spec"]["template"]["spec"]
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {"key": CLASS, "operator": "In", "values": ["l4"]} in terms[0]["matchExpressions"]
    assert {"key": CLASS, "operator": "Equal", "value": "l4", "effect": "NoSchedule"} in pod["tolerations"]


def test_a_job_without_a_class_selects_none() -> None:
    pools = offer(pool("plain"))
    request = JobRequest(name="train", namespace="default")
    (fit,) = fits(pools, request)
    assert CLASS not in str(manifests(training_job(request, fit, "example.com/x:1", pools)))
