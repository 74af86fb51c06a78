"""A sample of the corpus and plain programs through the real engine, with the pack built in a folder of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from policies.rules.table import BY_ID
from rehearsal.providers.server import serve
from tests.policies.corpus.case import Case, blockers
from tests.policies.corpus.programs import read_cases
from tests.policies.gated_project import BY_TOKEN, Anything, built_pack, gated, gated_project, rewrite

pytestmark = REAL_ENGINE

_CASES = {case.id: case for case in read_cases()}
BLOCKED = (
    *("gke-total-minimum", "aks-old-api-version", "eks-gpu-no-taint", "karpenter-open-pool", "k8s-ray-cluster"),
    *("k8s-time-slicing-in-a-chart", "apps-pools-team-taint"),
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


PROGRAM = """
import importlib.util, json, signal
import pulumi_gcp as gcp

signal.signal(signal.SIGINT, signal.SIG_DFL)
values = json.load(open("values.json"))
assert [name for name in ("policies", "catalog", "concepts", "components") if importlib.util.find_spec(name)] == []

cluster = gcp.container.Cluster("ml", location="europe-west4-a", initial_node_count=1, deletion_protection=False)
gcp.container.NodePool(
    "l4",
    cluster=cluster.name,
    location="europe-west4-a",
    autoscaling={"min_node_count": values["minimum"], "max_node_count": 4},
    node_config={
        "machine_type": "g2-standard-24",
        "spot": True,
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    },
)
"""


def test_it_refuses_an_idle_gpu_node_and_lets_the_rest_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    pack = built_pack(tmp_path / "pack")
    (tmp_path / "config.json").write_text('{"gpu-stack-ceiling": {"enforcementLevel": "mandatory", "maxGpus": 7}}')
    (tmp_path / "program").mkdir()
    google = Anything("gcp")
    server = serve(google)
    try:
        project = Project.create(tmp_path / "program", PROGRAM, {google: server.port})
        gate = ("preview", "--stack=test", "--policy-pack", str(pack))
        project.write(minimum=1)
        refused = project.run(*gate, refused=True)
        project.write(minimum=0)
        passed = project.run(*gate)
        # The catalogue is in the pack, too: g2-standard-24 has 2 GPUs.
        limited = project.run(*gate, "--policy-pack-config", str(tmp_path / "config.json"), refused=True)
    finally:
        server.stop()
    assert "[mandatory]  gpu-zero-minimum  (gcp:container/nodePool:NodePool: l4)" in refused, refused
    # The engine shortens a long path in its middle.
    assert re.search(rf"gpucluster@v0\.1\.0 \(local: \S*/{pack.name}\)", passed), passed
    assert "At its maximum the stack has 8 GPUs, over the limit of 7" in limited, limited


def test_a_price_of_the_configuration_counts(project: Project) -> None:
    ceiling = {"hourly-cost-ceiling": {"maxHourlyUsd": 50}}
    rewrite(project, BY_TOKEN, resources=[list(each) for each in _CASES["money-without-a-price"].resources])
    assert "there is no price for" in gated(project, "preview", config=ceiling, refused=True)
    prices = {"u-3tb1.56xlarge": {"us-west-2": 5}}
    passed = gated(project, "preview", config={**ceiling, "prices": prices})
    assert "Prices in the gate's configuration count: u-3tb1.56xlarge in us-west-2 $5." in " ".join(passed.split())
    dear = {"u-3tb1.56xlarge": 100}
    assert "over the limit of $50.00" in gated(project, "preview", config={**ceiling, "prices": dear}, refused=True)
