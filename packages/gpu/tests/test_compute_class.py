"""Pools of a ComputeClass are a kind of their own, and jobs on them select the class."""

from __future__ import annotations

from typing import Any

from facts.concepts.kubernetes import Taint
from facts.concepts.offer import PoolOffer
from facts.jobs.fit import PodRequest, fits
from facts.jobs.job import JobRequest, manifests
from facts.jobs.plan import training_job
from packages.gpu.tests.offers import offer, pool

CLASS = "cloud.google.com/compute-class"


def classed(name: str, of: str = "l4", **changes: Any) -> PoolOffer:
    plain = pool(name)
    return pool(
        name, labels={**plain.labels, CLASS: of}, taints=(*plain.taints, Taint(CLASS, of, "NoSchedule")), **changes
    )


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
