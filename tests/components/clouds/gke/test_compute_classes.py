"""Pods that choose a built-in ComputeClass get no nodes past the pools: a real API server refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.cluster.api import ApiError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.tools import folder
from tests import one_stack
from tests.components.gpu_workloads import bound, expression, pod
from tests.stacks import run_with

CLASS = "cloud.google.com/compute-class"
KINDS = {"ValidatingAdmissionPolicy": "ies", "ValidatingAdmissionPolicyBinding": "ybindings"}


def declared(cloud: str) -> list[dict[str, Any]]:
    recording = run_with(one_stack.config(cloud), f"one-{cloud}")
    kinds = [f"kubernetes:admissionregistration.k8s.io/v1:{kind}" for kind in KINDS]
    objects = [each.inputs for kind in kinds for each in recording.of_type(kind)]
    return [each for each in objects if each["metadata"]["name"] == "compute-classes.gpucluster.dev"]


def test_gke_alone_has_the_policy() -> None:
    assert [each["kind"] for each in declared("gke")] == list(KINDS)
    assert declared("eks") == declared("aks") == []


@pytest.fixture(scope="module")
def status(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[dict[str, Any]], int]]:
    """The API server's answer to a pod."""
    with ControlPlane(tmp_path_factory.mktemp("classes"), tools=folder()) as control_plane:
        root = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
        for made in declared("gke"):
            plain = yaml.safe_load(yaml.safe_dump(dict(made)))
            control_plane.api.apply(f"{root}{KINDS[made['kind']]}/{made['metadata']['name']}", plain)

        def post(manifest: dict[str, Any]) -> int:
            try:
                control_plane.api.submit("/api/v1/namespaces/default/pods", manifest, dryRun="All")
            except ApiError as refusal:
                return refusal.status
            return 201

        eventually("it is in force", lambda: post(pod(0, selector={CLASS: "autopilot"})) == 403)
        yield post


@pytest.mark.rehearsal
@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (pod(0, selector={CLASS: "autopilot-spot"}), 403),
        (bound(pod(0), [expression("other", "Exists"), expression(CLASS, "In", "mine", "autopilot")]), 403),
        (pod(0), 201),
        (pod(1, selector={CLASS: "of-ours"}), 201),
        (bound(pod(0), [expression(CLASS, "Exists")]), 201),
    ],
)
def test_a_pod_of_a_built_in_class_is_refused(
    status: Callable[[dict[str, Any]], int], manifest: dict[str, Any], expected: int
) -> None:
    assert status(manifest) == expected
