"""The examples of the other clouds, and what outlives its stack, from zero to many GPU nodes and back."""

from __future__ import annotations

import pytest
import yaml

from facts import catalog
from packages.rehearsal.tests.rehearsals import passes
from packages.rehearsal.tests.tables import cases
from rehearsal.engine.stack import ROOT
from tests import one_stack, research_lab
from tests.stacks import stack_file

pytestmark = pytest.mark.rehearsal


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_company_s_stack_passes(cloud: str) -> None:
    passes(f"examples/{cloud}-company.yaml")


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_one_stack_file_with_another_cloud_place_and_account_passes(cloud: str) -> None:
    passes(str(one_stack.file(cloud)))


@pytest.mark.parametrize(
    "stack",
    [
        "examples/eks-spot.yaml",  # the longest first
        "examples/aks-train-infer.yaml",
        "examples/aks-node-auto-provisioning.yaml",
        "examples/eks-fabric.yaml",
        # Those of EKS and AKS are rehearsed for the sessions in docs/, and the research labs have all of them.
        "examples/gke-research.yaml",
    ],
)
def test_a_stack_passes(stack: str) -> None:
    passes(stack)


def test_the_research_lab_has_all_that_the_smaller_example_has() -> None:
    small, large = (
        yaml.safe_load((ROOT / "examples" / name).read_text())["config"]
        for name in ("gke-research.yaml", "research-lab.yaml")
    )
    workloads = "gpucluster:workloads"
    assert large[workloads].items() >= small[workloads].items()
    assert large.pop("gpucluster:adminPool") == {"machineType": "e2-standard-4"}  # more tools need more room
    assert {**large, workloads: None} == {**small, workloads: None}


@pytest.mark.parametrize("cloud", research_lab.CLOUDS)
def test_a_research_lab_passes(cloud: str) -> None:
    report = passes(str(research_lab.file(cloud)))
    # Not left out: its service sleeps and wakes, and its training job outlives a node.
    assert {"service-demo", "sweep", "reclaimed-job"} <= {check["id"] for check in report["checks"]}


@pytest.mark.parametrize("autoscaler", catalog.of("eks").choices.autoscalers)
def test_aws_s_chips_pass_with_each_autoscaler_and_when_settings_change(autoscaler: str) -> None:
    config = yaml.safe_load((ROOT / "examples" / "eks-neuron.yaml").read_text())["config"]
    stack = stack_file(f"neuron-{autoscaler}", {**config, "gpucluster:autoscaling": {"autoscaler": autoscaler}})
    passes(str(stack), "--day-two", "brief")


@cases
def test_a_job_survives_what_changes_around_it(stack: str, changes: str) -> None:
    passes(stack, "--day-two", changes)
