"""The examples of the other clouds, and what outlives its stack, from zero to many GPU nodes and back."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.rehearsals import passes
from tests import one_stack, research_lab

pytestmark = pytest.mark.rehearsal


@pytest.mark.exhaustive
@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_company_s_stack_passes(cloud: str) -> None:
    passes(f"examples/{cloud}-company.yaml")


@pytest.mark.parametrize(
    "stack",
    [
        "examples/eks-karpenter.yaml",  # the longest first
        "examples/eks-spot.yaml",
        "examples/aks-train-infer.yaml",
        "examples/gke-research.yaml",
        *(pytest.param(f"examples/{cloud}-research.yaml", marks=pytest.mark.exhaustive) for cloud in ("eks", "aks")),
    ],
)
def test_a_stack_passes(stack: str) -> None:
    passes(stack)


@pytest.mark.parametrize(
    "cloud", [pytest.param(each, marks=[] if each == "gke" else pytest.mark.exhaustive) for each in research_lab.CLOUDS]
)
def test_a_research_lab_passes(cloud: str) -> None:
    report = passes(str(research_lab.file(cloud)))
    # Not left out: its service sleeps and wakes, and its training job outlives a node.
    assert {"service-demo", "sweep", "reclaimed-job"} <= {check["id"] for check in report["checks"]}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("stack", "changes"),
    [
        ("examples/eks-spot.yaml", "brief"),
        # Each change by itself, on node groups and on Karpenter.
        ("examples/eks-t4.yaml", "all"),
        ("examples/eks-karpenter.yaml", "all"),
        ("examples/aks-train-infer.yaml", "brief"),
    ],
)
def test_a_job_survives_what_changes_around_it(stack: str, changes: str) -> None:
    passes(stack, "--day-two", changes)
