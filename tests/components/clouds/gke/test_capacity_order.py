"""An entry with a ComputeClass on GKE: its order is the stack's, and workloads that use its pools select the class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import one_stack
from tests.recorder import Recording
from tests.stacks import run_with

CLASS = "cloud.google.com/compute-class"
KIND = "kubernetes:cloud.google.com/v1:ComputeClass"
SHARED = "projects/owner/reservations/june"
FLEX: dict[str, Any] = {"gpu": "nvidia-l4", "capacity": ["spot", "flex-start", "on-demand"], "maxNodes": 2}


def declared(*pools: dict[str, Any], **keys: Any) -> Recording:
    return run_with(one_stack.config("gke", gpuPools=[*pools], **keys), "one")


def spec(recording: Recording, name: str) -> dict[str, Any]:
    return dict(recording.called(KIND, name).inputs["spec"])


def test_google_tries_the_pools_in_the_order_written_makes_none_and_moves_no_pod() -> None:
    assert spec(declared({"name": "l4", **FLEX, "computeClass": True}), "l4") == {
        "priorities": [{"nodepools": [f"l4-1-{capacity}"]} for capacity in ("spot", "flex", "ondemand")],
        "nodePoolAutoCreation": {"enabled": False},
        "whenUnsatisfiable": "DoNotScaleUp",
        "activeMigration": {"optimizeRulePriority": False},
    }


def test_sizes_and_reservations_of_one_preference_are_equal_and_the_idle_time_is_the_class_s() -> None:
    sizes = {"gpusPerNode": [1, 4], "capacity": ["on-demand", "spot"], "maxNodes": 1, "unneededMinutes": 3}
    entry = {"name": "l4", "gpu": "nvidia-l4", "computeClass": True, **sizes}
    written = spec(declared(entry), "l4")
    expected = [{"nodepools": ["l4-1-ondemand", "l4-4-ondemand"]}, {"nodepools": ["l4-1-spot", "l4-4-spot"]}]
    assert written["priorities"] == expected
    assert written["autoscalingPolicy"] == {"consolidationDelayMinutes": 3}


@pytest.mark.parametrize(
    "order",
    [
        {"capacity": ["on-demand", "spot"]},
        {"capacity": ["flex-start", "on-demand"]},
        {"capacity": ["reserved", "spot"], "reservation": {"name": SHARED, "zone": "us-central1-a"}},
    ],
)
def test_orders_that_google_has_not_by_itself_are_accepted(order: dict[str, Any]) -> None:
    pool = {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 1, "computeClass": True, **order}
    assert len(spec(declared(pool), "l4")["priorities"]) == 2


def test_its_pools_have_label_and_taint_and_others_do_not() -> None:
    recording = declared(
        {"name": "l4", **FLEX, "computeClass": True}, {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 1}
    )
    taint = {"key": CLASS, "value": "l4", "effect": "NO_SCHEDULE"}
    for name in ("l4-1-spot", "l4-1-flex", "l4-1-ondemand"):
        config = recording.named(f"{name}-pool").inputs["nodeConfig"]
        assert config["labels"][CLASS] == "l4"
        assert taint in config["taints"]
    other = recording.named("t4-1-pool").inputs["nodeConfig"]
    assert CLASS not in other["labels"]
    assert [each["key"] for each in other["taints"]] == ["nvidia.com/gpu"]
    assert len(recording.of_type(KIND)) == 1


def test_sample_jobs_and_services_select_the_class() -> None:
    service = {"name": "chat", "image": "example.com/vllm:1", "gpu": "nvidia-l4", "max": 1}
    recording = declared({"name": "l4", **FLEX, "computeClass": True}, workloads={"services": [service]})
    pod = yaml.safe_load(recording.stack_outputs["gpuJobs"]["l4-1-flex"])["spec"]["template"]["spec"]
    assert pod["nodeSelector"][CLASS] == "l4"
    toleration = {"key": CLASS, "operator": "Equal", "value": "l4", "effect": "NoSchedule"}
    assert toleration in pod["tolerations"]
    deployment = recording.called("kubernetes:apps/v1:Deployment", "chat").inputs
    served = deployment["spec"]["template"]["spec"]
    terms = served["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert {"key": CLASS, "operator": "In", "values": ["l4"]} in terms[0]["matchExpressions"]
    assert toleration in served["tolerations"]


def test_the_output_says_which_order_counts() -> None:
    recording = declared({"name": "l4", **FLEX, "computeClass": True, "unneededMinutes": 3})
    governed = recording.stack_outputs["autoscaling"]["l4-1-flex"]
    assert "ComputeClass l4" in governed["choice"]
    assert governed["scaleDown"].startswith("3 minutes after")


def test_the_example_has_a_shared_reservation_before_spot() -> None:
    example = Path(__file__).parents[4] / "examples/gke-capacity-order.yaml"
    (h100, _) = yaml.safe_load(example.read_text())["config"]["gpucluster:gpuPools"]
    assert h100["capacity"] == ["reserved", "spot", "flex-start", "on-demand"]
    assert "/" in h100["reservation"]
