"""A sample of the corpus through the real engine, and a plain program of a cloud's own SDK that is not ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from policies.rules.table import BY_ID
from tests.policies.corpus.case import Case, blockers
from tests.policies.corpus.programs import read_cases
from tests.policies.gated_project import BY_TOKEN, gated, gated_project, rewrite

pytestmark = REAL_ENGINE

_CASES = {case.id: case for case in read_cases()}
BLOCKED = (
    "gke-total-minimum",
    "aks-old-api-version",
    "eks-gpu-no-taint",
    "karpenter-open-pool",
    "k8s-ray-cluster",
    "k8s-time-slicing-in-a-chart",
    "apps-pools-team-taint",
)
ALLOWED = ("gke-tpu-pool", "aks-plugin-on-spot", "eks-good", "k8s-gpu-operator", "apps-pools-team-job")

PLAIN_GKE = """
import pulumi_gcp as gcp

cluster = gcp.container.Cluster("ml", location="us-central1-a", initial_node_count=1, remove_default_node_pool=True)
gcp.container.NodePool("default", cluster=cluster.name, location="us-central1-a", node_count=1)
gcp.container.NodePool(
    "gpus",
    cluster=cluster.name,
    location="us-central1-a",
    autoscaling={"min_node_count": 1, "max_node_count": 4},
    node_config={
        "machine_type": "n1-standard-4",
        "guest_accelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    },
)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with gated_project(tmp_path_factory.mktemp("corpus"), BY_TOKEN, "aws", "azure-native", "gcp", "kubernetes") as made:
        yield made


def previewed(project: Project, case: Case, *, refused: bool = False) -> str:
    rewrite(project, BY_TOKEN, resources=[list(resource) for resource in case.resources])
    return gated(project, "preview", config={"pools": case.pools} if case.pools else {}, refused=refused)


@pytest.mark.parametrize("id", BLOCKED)
def test_blocked_with_rule_resource_reason_and_remedy(project: Project, id: str) -> None:
    case = _CASES[id]
    expected = next(violation for violation in blockers(case) if violation.rule == case.rule)
    failed = previewed(project, case, refused=True)
    token, name = expected.resource.split("::")[-2:]
    assert f"[mandatory]  {case.rule}  ({token}: {name})" in failed
    assert expected.message in failed
    assert f"Fix: {expected.remedy}" in failed


@pytest.mark.parametrize("id", ALLOWED)
def test_allowed(project: Project, id: str) -> None:
    passed = previewed(project, _CASES[id])
    assert "[mandatory]" not in passed


def test_a_plain_program_of_an_sdk(project: Project) -> None:
    """Of the other clouds' SDKs there are some in test_plain_programs.py."""
    rewrite(project, PLAIN_GKE)
    failed = gated(project, "preview", config={}, refused=True)
    broken = {id for id in BY_ID if f"[mandatory]  {id}  (gcp:container/nodePool:NodePool: gpus)" in failed}
    assert broken == {"gpu-zero-minimum"}, failed
