"""The real engine runs the pack: violations stop a preview, and what a preview cannot know stops the update."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from policies.exemptions import today_utc
from tests.policies.gated_project import gated, gated_project

pytestmark = REAL_ENGINE

PROGRAM = """
safe = {"serviceAccount": "nodes@p.iam.gserviceaccount.com", "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True}}
cluster = Resource("gcp:container/cluster:Cluster", "c", {
    "location": "us-central1-a", "removeDefaultNodePool": True, "privateClusterConfig": {"enablePrivateNodes": True},
    "datapathProvider": "ADVANCED_DATAPATH",
    "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "203.0.113.17/32"}]}, "nodeConfig": safe,
    "workloadIdentityConfig": {"workloadPool": "p.svc.id.goog"}})
Resource("gcp:container/nodePool:NodePool", "admin", {
    "cluster": "c", "location": "us-central1-a", "nodeCount": 1,
    "nodeConfig": {**safe, "machineType": "e2-standard-2"}})
late = (lambda value: cluster.id.apply(lambda _: value)) if values.get("late") else (lambda value: value)
spot = {"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NO_SCHEDULE"}
gpu = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
Resource("gcp:container/nodePool:NodePool", "t4", {
    "cluster": "c", "location": "us-central1-a",
    "autoscaling": {"totalMinNodeCount": late(values["minimum"]), "totalMaxNodeCount": 4},
    "nodeConfig": {**safe, "machineType": "n1-standard-4", "spot": True,
                   "taints": [spot] if values.get("untainted") else [gpu, spot],
                   "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}]}})
provider = pulumi.ProviderResource("kubernetes", "k", {"kubeconfig": cluster.id.apply(lambda id: "exec: " + id)})
exists = {"key": "cloud.google.com/gke-accelerator", "operator": "Exists"}
affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{"matchExpressions": [exists]}]}}}
Resource("kubernetes:apps/v1:DaemonSet", "drivers", {
    "metadata": {"name": "drivers", "namespace": "kube-system"},
    "spec": {"template": {"spec": {"affinity": affinity, "tolerations": values["tolerations"]}}},
}, pulumi.ResourceOptions(provider=provider))
"""
GOOD = {"minimum": 0, "tolerations": [{"operator": "Exists"}]}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with gated_project(tmp_path, PROGRAM, "gcp", "kubernetes") as made:
        yield made


@pytest.mark.merge
def test_a_good_stack_passes_preview_and_update(project: Project) -> None:
    project.write(**GOOD)
    previewed = gated(project, "preview")
    assert "unknown at preview, checked at update: whether the kubeconfig" in previewed.lower()
    updated = gated(project, "up", "--yes", "--skip-preview")
    assert "[mandatory]" not in updated


@pytest.mark.merge
def test_a_daemon_set_without_the_spot_toleration_stops_the_preview(project: Project) -> None:
    project.write(**{**GOOD, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]})
    failed = gated(project, "preview", refused=True)
    assert "[mandatory]  gpu-daemonset-tolerates  (kubernetes:apps/v1:DaemonSet: drivers)" in failed
    assert "cloud.google.com/gke-spot=true:NoSchedule" in failed


@pytest.mark.merge
def test_what_a_preview_cannot_know_is_noted_then_and_refused_before_creation(project: Project) -> None:
    project.write(**{**GOOD, "minimum": 1, "late": True})
    previewed = gated(project, "preview")
    assert "unknown at preview, checked at update: its minimum" in previewed
    updated = gated(project, "up", "--yes", "--skip-preview", refused=True)
    assert "[mandatory]  gpu-zero-minimum  (gcp:container/nodePool:NodePool: t4)" in updated
    made = [resource["urn"].rpartition("::")[2] for resource in project.resources("gcp:container/nodePool:NodePool")]
    assert "t4" not in made, "the pool must not be created"


def test_what_passes_by_an_exemption_is_printed_in_preview_and_update(project: Project) -> None:
    project.write(**{**GOOD, "minimum": 1})
    until = (today_utc() + timedelta(days=30)).isoformat()
    exemption = {"resource": "t4", "reason": "warm node for the demo", "expires": until}
    config = {"gpu-zero-minimum": {"enforcementLevel": "mandatory", "exemptions": [exemption]}}
    for command in (("preview",), ("up", "--yes", "--skip-preview")):
        passed = gated(project, *command, config=config)
        assert "[advisory]  exempted  (gcp:container/nodePool:NodePool: t4)" in passed
        assert "gpu-zero-minimum: GPU node group 't4' keeps at least 1 node" in passed
        assert f"Exempt until {until}, because: warm node for the demo" in passed


def test_an_expired_exemption_stops_the_preview_and_is_named(project: Project) -> None:
    project.write(**{**GOOD, "minimum": 1})
    exemption = {"resource": "t4", "reason": "warm node for the demo", "expires": "2026-01-31"}
    failed = gated(project, "preview", config={"gpu-zero-minimum": {"exemptions": [exemption]}}, refused=True)
    assert "Its exemption expired on 2026-01-31 (warm node for the demo)." in failed


def test_a_missing_taint_is_added_on_request_only(project: Project) -> None:
    project.write(**GOOD, untainted=True)
    refused = gated(project, "preview", refused=True)
    assert "[mandatory]  gpu-taint" in refused
    updated = gated(project, "up", "--yes", "--skip-preview", config={"gpu-taint": "remediate"})
    assert "[remediate]  gpu-taint  (1 resource)" in updated
    assert "[advisory]  remediated  (gcp:container/nodePool:NodePool: t4)" in updated
    assert "Done: Add the taint nvidia.com/gpu=present:NoSchedule to the group." in updated
    (pool,) = [pool for pool in project.resources("gcp:container/nodePool:NodePool") if pool["urn"].endswith("::t4")]
    expected = ["cloud.google.com/gke-spot", "nvidia.com/gpu"]
    assert [taint["key"] for taint in pool["inputs"]["nodeConfig"]["taints"]] == expected


def test_a_wrong_limit_is_a_clear_error(project: Project) -> None:
    project.write(**GOOD)
    config = project.directory / "bad.json"
    config.write_text('{"gpu-ceiling": {"maxGpus": "many"}}')
    packs = ("--policy-pack", "policies", "--policy-pack-config", str(config))
    failed = project.run("preview", "--stack=test", *packs, refused=True)
    assert "gpu-ceiling: maxGpus: Invalid type. Expected: [integer,null], given: string" in failed
