"""GKE node pools, one setting at a time, what the stack says about their autoscaler, and their fabric."""

from __future__ import annotations

import inspect
from typing import Any
from unittest import mock

import pulumi
import pytest
import yaml

from components.clouds.base import load_cloud
from facts import catalog
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Gpus, Upgrade
from facts.concepts.pool import Pool
from rehearsal.providers.base import at
from rehearsal.providers.gke.node_pool import NODES_RECREATED
from rehearsal.providers.gke.nodes import PARTITIONS
from tests import recorder
from tests.components import specs
from tests.one_stack import config
from tests.stacks import run_with

NODE_POOL = "gcp:container/nodePool:NodePool"


def declared(spec: Pool) -> recorder.Registration:
    """The node pool that the spec becomes, beside an admin pool."""
    return recording(spec).named(f"{spec.name}-pool")


@recorder.remembered
def recording(spec: Pool) -> recorder.Recording:
    """All that is declared for the spec's pool, beside an admin pool."""
    if spec.role == "admin":
        return recorder.run(specs.declare(specs.cluster_settings(admin_pool=spec)))
    return recorder.run(specs.declare(specs.cluster_settings(), [spec]))


def test_every_partition_is_one_that_the_simulated_google_knows() -> None:
    partitioned = {each.name: each for each in catalog.of("gke").machines.accelerators.values() if each.partitions}
    assert partitioned.keys() == PARTITIONS.keys(), "none is left out"
    for name, accelerator in partitioned.items():
        slices = {
            size: Gpus(type=accelerator.gpu, per_node=1, mig=slice).allocatable
            for slice, size in accelerator.partitions.items()
        }
        assert {size: PARTITIONS[name][size] for size in slices} == slices


def test_pools_of_one_name_are_replaced_one_after_the_other_and_go_with_their_cluster() -> None:
    recorded = recording(specs.gpu_pool())
    assert recorded.named("t4-1-pool").delete_before_replace
    cluster = recorded.only("gcp:container/cluster:Cluster").urn
    assert {pool.deleted_with for pool in recorded.of_type(NODE_POOL)} == {cluster}


def test_what_google_drains_nodes_for_is_a_replacement_of_a_gpu_pool_and_not_of_others() -> None:
    gpu = declared(specs.gpu_pool())
    # Also what only ``raw`` sets; a version is not the stack file's to write.
    recreated = set(NODES_RECREATED) - {"version"}
    from_raw = {"bootDisk", "confidentialNodes", "fastSocket", "kubeletConfig", "linuxNodeConfig", "loggingVariant"}
    assert {f"nodeConfig.{key}" for key in ("diskSizeGb", *from_raw)} <= recreated
    assert {"placementPolicy", "nodeConfig.gcfsConfig"} <= set(gpu.replace_on_changes)
    assert not {"nodeConfig.resourceManagerTags", "nodeConfig.tags"} & set(gpu.replace_on_changes)
    assert recreated <= set(gpu.replace_on_changes)
    assert not declared(specs.cpu_pool()).replace_on_changes


@pytest.mark.parametrize(
    "path", [f"nodeConfig.{key}" for key in ("advancedMachineFeatures", "ephemeralStorageLocalSsdConfig", "gvnic")]
)
def test_raw_changes_what_a_pool_otherwise_keeps(path: str) -> None:
    key = path.rpartition(".")[2]
    raw = {"nodeConfig": {key: {"localSsdCount": 1} if "Ssd" in key else {"enabled": False}}}
    pool = declared(specs.gpu_pool(image="ubuntu", raw=raw))
    assert at(pool.inputs, path) == raw["nodeConfig"][key]
    assert path not in pool.ignore_changes
    assert path in declared(specs.gpu_pool(image="ubuntu")).ignore_changes


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"min_nodes": 1}, "keeps at least 1 node"),
        ({"max_nodes": 0}, "can never have a node"),
        ({"taints": ()}, "lacks the GPU taint"),
    ],
)
def test_a_gpu_pool_that_would_cost_while_idle_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        declared(specs.gpu_pool(**changes))


@pytest.mark.parametrize(
    ("gpu", "version", "warned"),
    [
        ("nvidia-v100", "latest", True),
        ("nvidia-v100", "default", False),
        ("nvidia-t4", "latest", False),
    ],
)
def test_a_latest_driver_may_be_too_new(gpu: str, version: str, warned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(pulumi, "warn", warnings.append)
    spec = specs.gpu_pool(type=gpu, driver_version=version)
    inspect.unwrap(recording)(spec)
    assert [gpu in text for text in warnings] == [True] * warned


def test_it_creates_no_autoscaler_where_the_cloud_manages_it() -> None:
    recording = recorder.run(specs.declare(specs.cluster_settings(), [specs.gpu_pool()]))
    autoscaler = recording.only("gpucluster:index:ClusterAutoscaler")
    kinds = {child.type.rpartition(":")[2] for child in recording.resources if child.parent == autoscaler.urn}
    assert "Deployment" not in kinds
    stated = recording.outputs[autoscaler.urn]["pools"]["t4-1"]
    assert (stated["min"], stated["max"], stated["locationPolicy"]) == (0, 2, "ANY")
    assert "optimize-utilization" in stated["governedBy"]


@pytest.mark.parametrize(
    ("pool", "reason"),
    [
        (specs.gpu_pool(), "yes: the minimum is 0 and the taints nvidia.com/gpu=present:NoSchedule keep"),
        (specs.cpu_pool(), "the pool has no taint, so a system pod may keep its last node"),
        (specs.cpu_pool(min_nodes=2), "no: the minimum is 2"),
        (specs.cpu_pool(taints=(Taint("a", "b", "PreferNoSchedule"),)), "the pool has no taint"),
    ],
)
def test_why_a_pool_reaches_zero_or_does_not(pool: Pool, reason: str) -> None:
    assert reason in load_cloud("gke").governance(pool, specs.cluster_settings()).reaches_zero


def test_the_profiles_differ_in_when_nodes_go() -> None:
    cloud, pool = load_cloud("gke"), specs.gpu_pool()
    profiles = [specs.cluster_settings(autoscaling_profile=profile) for profile in ("balanced", "optimize-utilization")]
    assert len({cloud.governance(pool, spec).scale_down for spec in profiles}) == 2


H200 = {"name": "near", "gpu": "nvidia-h200-141gb", "gpusPerNode": 8, "capacity": "spot", "zones": ["us-central1-b"]}
CLAIM = {"deviceClassName": "mrdma.google.com", "allocationMode": "All"}


def test_the_machines_with_rdma_are_those_with_a_card_for_each_gpu() -> None:
    machines = catalog.of("gke").machines.with_rdma
    expected = {("a3-ultragpu-8g", 8, 8), ("a4-highgpu-8g", 8, 8)}
    assert {(each.type, each.gpus, each.rdma_devices) for each in machines} == expected


@pytest.mark.parametrize(("running", "kept"), [(False, True), (None, True), (True, False)])
def test_a_running_pool_with_a_fabric_keeps_the_addresses_of_its_nodes(running: bool | None, kept: bool) -> None:
    """The first version of the program made them with public ones, and says so now."""
    pools = [{**H200, "fabric": "rdma", "maxNodes": 2}]
    deployed = run_with(config("gke", gpuPools=pools), "one")
    network = deployed.states[deployed.named("near-8-pool").urn]["networkConfig"]
    network["enablePrivateNodes"] = running
    with mock.patch("pulumi.warn") as warn:
        updated = run_with(config("gke", gpuPools=pools), "one", deployed=deployed).named("near-8-pool")
    assert ("networkConfig.enablePrivateNodes" in updated.ignore_changes) is kept
    assert any("pool near-8 have public addresses" in call.args[0] for call in warn.call_args_list) is kept


# The provider sends a block without the key as one of public nodes (resource_container_node_pool.go.tmpl of
# https://github.com/GoogleCloudPlatform/magic-modules, expandNodeNetworkConfig).
@pytest.mark.parametrize(
    "raw",
    [
        {"podRange": "more-pods"},
        {"additionalNodeNetworkConfigs": [{"network": "gvnic-1", "subnetwork": "gvnic-1"}]},
        {"networkPerformanceConfig": {"totalEgressBandwidthTier": "TIER_1"}},
    ],
)
@pytest.mark.parametrize("fabric", [{}, {"fabric": "rdma"}])
def test_a_declared_network_of_nodes_says_that_they_are_private(raw: dict[str, Any], fabric: dict[str, str]) -> None:
    pools = [{**H200, **fabric, "maxNodes": 2, "raw": {"networkConfig": raw}}]
    pool = run_with(config("gke", gpuPools=pools), "one").named("near-8-pool")
    assert pool.inputs["networkConfig"]["enablePrivateNodes"] is True
    assert pool.inputs["networkConfig"].items() >= raw.items()
    assert "networkConfig.enablePrivateNodes" not in pool.ignore_changes


def test_a_running_pool_keeps_its_addresses_when_raw_gets_a_network() -> None:
    deployed = run_with(config("gke", gpuPools=[{**H200, "maxNodes": 2}]), "one")
    deployed.states[deployed.named("near-8-pool").urn]["networkConfig"] = {"enablePrivateNodes": False}
    pools = [{**H200, "maxNodes": 2, "raw": {"networkConfig": {"podRange": "more-pods"}}}]
    updated = run_with(config("gke", gpuPools=pools), "one", deployed=deployed).named("near-8-pool")
    assert "networkConfig.enablePrivateNodes" in updated.ignore_changes


@pytest.mark.parametrize("kept", [True, False])
def test_a_pool_that_loses_its_fabric_is_told_to_keep_the_networks(kept: bool) -> None:
    fabric = catalog.of("gke").nodes.fabric
    deployed = recording(specs.gpu_pool(fabric=fabric))
    with mock.patch("pulumi.warn") as warn:
        update(specs.gpu_pool(fabric=None if kept else fabric), deployed)
    assert any("pool t4-1 keeps the networks of fabric" in call.args[0] for call in warn.call_args_list) is kept


def update(spec: Pool, deployed: recorder.Recording) -> recorder.Registration:
    """The pool in an update of a stack that has it."""
    return recorder.run(specs.declare(specs.cluster_settings(), [spec]), deployed=deployed).named("t4-1-pool")


@pytest.mark.parametrize(
    ("changes", "drain"),
    [
        ({"upgrade": Upgrade(max_unavailable=1, drain_minutes=30)}, "1800s"),
        ({}, "3600s"),
        ({"raw": {"nodeDrainConfigs": [{"graceTerminationDuration": "60s"}]}}, "60s"),
    ],
)
def test_an_upgrade_of_a_pool_that_loses_its_time_waits_as_long_as_googles_own(
    changes: dict[str, Any], drain: str
) -> None:
    """Left out, the time would stay: https://github.com/pulumi/pulumi-gcp/issues/1072."""
    deployed = recording(specs.gpu_pool(upgrade=Upgrade(max_unavailable=1, drain_minutes=10)))
    updated = update(specs.gpu_pool(**changes), deployed)
    assert updated.inputs["nodeDrainConfigs"][0]["graceTerminationDuration"] == drain


def test_google_makes_the_networks_and_people_claim_the_devices() -> None:
    pools = [{**H200, "fabric": "rdma", "maxNodes": 2}, {**H200, "name": "plain", "maxNodes": 1}]
    recording = run_with(config("gke", gpuPools=pools), "one")
    near, plain = (recording.named(f"{name}-8-pool").inputs for name in ("near", "plain"))
    assert near["networkConfig"] == {"acceleratorNetworkProfile": "auto", "enablePrivateNodes": True}
    assert near["nodeConfig"]["labels"]["cloud.google.com/gke-networking-dra-driver"] == "true"
    assert "cloud.google.com/gke-networking-dra-driver" not in plain["nodeConfig"]["labels"]
    claims = [each.inputs for each in recording.of_type("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate")]
    assert ("default", "gpu-fabric") in {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in claims}
    assert all(each["spec"]["spec"]["devices"]["requests"][0]["exactly"] == CLAIM for each in claims)
    (job, _) = yaml.safe_load_all(recording.stack_outputs["fabricTest"]["near-8"])
    pod = job["spec"]["template"]["spec"]
    assert pod["resourceClaims"] == [{"name": "fabric", "resourceClaimTemplateName": "gpu-fabric"}]
    assert recording.stack_outputs["fabricTest"].keys() == {"near-8"}
