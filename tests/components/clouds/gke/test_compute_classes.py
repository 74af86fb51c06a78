"""Pods that choose a built-in ComputeClass get no nodes past the pools: a real API server refuses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from packages.rehearsal.tests.simulated_cluster import eventually
from tests import one_stack
from tests.components.gpu_workloads import PODS, Submit, asking, expression, judging, pod
from tests.stacks import run_with

CLASS = "cloud.google.com/compute-class"
KINDS = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]


def declared(cloud: str) -> list[dict[str, Any]]:
    recording = run_with(one_stack.config(cloud), f"one-{cloud}")
    kinds = [f"kubernetes:admissionregistration.k8s.io/v1:{kind}" for kind in KINDS]
    objects = [each.inputs for kind in kinds for each in recording.of_type(kind)]
    return [each for each in objects if each["metadata"]["name"] == "compute-classes.gpucluster.dev"]


def test_gke_alone_has_the_policy() -> None:
    assert [each["kind"] for each in declared("gke")] == KINDS
    assert declared("eks") == declared("aks") == []


@pytest.fixture(scope="module")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submit]:
    running = pod(0, selector={CLASS: "autopilot"}, name="running")
    with judging(tmp_path_factory.mktemp("classes"), declared("gke"), existing=[running]) as submit:
        eventually("it is in force", lambda: submit(pod(0, selector={CLASS: "autopilot"})).status == 403)
        yield submit


@pytest.mark.rehearsal
@pytest.mark.parametrize(
    ("manifest", "status"),
    [
        (asking(0, selector={CLASS: "autopilot-spot"}), 403),
        (asking(0, selector={CLASS: "autopilot-arm"}), 403),
        (
            asking(0, affinity=[[expression("other", "Exists"), expression(CLASS, "In", "mine", "autopilot")]]),
            403,
        ),
        (asking(0, affinity=[[expression(CLASS, "In", "autopilot-arm")]]), 403),
        (asking(0), 201),
        (asking(1, selector={CLASS: "of-ours"}), 201),
        (asking(1, selector={CLASS: "autopilots"}), 201),
        (asking(0, affinity=[[expression(CLASS, "Exists")]]), 201),
    ],
)
def test_a_pod_of_a_built_in_class_is_refused(submit: Submit, manifest: dict[str, Any], status: int) -> None:
    assert submit(manifest).status == status


@pytest.mark.rehearsal
def test_a_gated_pod_cannot_choose_one_later_and_pods_of_before_may_change(submit: Submit) -> None:
    """https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/"""
    gated = pod(0, name="gated")
    submit.api.create(PODS, {**gated, "spec": {**gated["spec"], "schedulingGates": [{"name": "example.com/wait"}]}})
    assert submit.change("gated", {"spec": {"nodeSelector": {CLASS: "autopilot"}}}).status == 403
    assert submit.change("gated", {"spec": {"nodeSelector": {CLASS: "of-ours"}}}).status == 200
    for change in ({"metadata": {"labels": {"app": "two"}}}, {"spec": {"activeDeadlineSeconds": 5}}):
        assert submit.change("running", change).status == 200
