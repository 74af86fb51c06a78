"""The real program on GKE: what Google's own words for a pool must say, whatever the stack says."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.clouds.gke.identity import STREAMING_ROLE
from tests import one_stack
from tests.recorder import Recording, Registration
from tests.stacks import STACK_FILES, cloud_of, run_program, run_with, settings_of, stack_name

CLUSTER = "gcp:container/cluster:Cluster"
NODE_POOL = "gcp:container/nodePool:NodePool"
FILES = [file for file in (*STACK_FILES, *one_stack.files()) if cloud_of(file) == "gke"]

each_stack = pytest.mark.parametrize("file", FILES, ids=stack_name)


def gpu_pools(recording: Recording) -> list[Registration]:
    return [pool for pool in recording.of_type(NODE_POOL) if "guestAccelerators" in pool.inputs["nodeConfig"]]


@each_stack
def test_gpu_pools_take_capacity_in_whichever_zone_has_some_and_count_over_all(file: Path) -> None:
    pools = gpu_pools(run_program(file))
    assert pools or all(spec.gpus.topology for spec in settings_of(file).gpu_pools)
    asked = {spec.name: spec.scaling.location_policy or "any" for spec in settings_of(file).gpu_pools}
    for pool in pools:
        assert pool.inputs["autoscaling"].keys() == {"totalMinNodeCount", "totalMaxNodeCount", "locationPolicy"}
        assert pool.inputs["autoscaling"]["locationPolicy"] == asked[pool.inputs["name"]].upper()
        assert "nodeCount" not in pool.inputs


@each_stack
def test_every_node_is_private_hardened_and_of_the_dedicated_account(file: Path) -> None:
    recording = run_program(file)
    cluster = recording.only(CLUSTER)
    own = [f"{each.inputs['accountId']}@" for each in recording.of_type("gcp:serviceaccount/account:Account")]
    (account,) = [*own, *filter(None, [settings_of(file).security.node_identity])]
    assert cluster.inputs["privateClusterConfig"]["enablePrivateNodes"] is True
    for config in [cluster.inputs["nodeConfig"], *(pool.inputs["nodeConfig"] for pool in recording.of_type(NODE_POOL))]:
        assert config["serviceAccount"].startswith(account)
        assert config["metadata"] == {"disable-legacy-endpoints": "true"}
        assert config["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
        assert config["oauthScopes"] == ["https://www.googleapis.com/auth/cloud-platform"]
        assert config["shieldedInstanceConfig"]["enableIntegrityMonitoring"] is True
        assert config["shieldedInstanceConfig"]["enableSecureBoot"] is (config["imageType"] != "UBUNTU_CONTAINERD")


@each_stack
def test_google_installs_the_driver_exactly_where_the_file_leaves_it_to_google(file: Path) -> None:
    drivers = {spec.name: spec.gpus.drivers for spec in settings_of(file).gpu_pools}
    for pool in gpu_pools(run_program(file)):
        mode = pool.inputs["nodeConfig"]["guestAccelerators"][0]["gpuDriverInstallationConfig"]["gpuDriverVersion"]
        assert (mode == "INSTALLATION_DISABLED") == (drivers[pool.inputs["name"]] != "managed")


@each_stack
def test_a_protected_cluster_is_protected_by_google_too(file: Path) -> None:
    protected = settings_of(file).security.deletion_protection
    assert run_program(file).only(CLUSTER).inputs["deletionProtection"] is protected


@pytest.mark.parametrize("streamed", [True, False])
def test_nodes_that_stream_images_may_use_the_service_in_each_project_that_holds_some(streamed: bool) -> None:
    pools = [
        {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 1},
        {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 1, "imageStreaming": streamed},
    ]
    places = [f"projects/images/locations/europe-west4/repositories/{name}" for name in ("base", "cuda")]
    recording = run_with(one_stack.config("gke", gpuPools=pools, workloads={"pullFrom": places}), "one-gke")
    grants = recording.of_type("gcp:projects/iAMMember:IAMMember")
    (nodes,) = {one.inputs["member"] for one in grants if one.name == "cluster-node-reader"}
    streaming = [one for one in grants if one.inputs["role"] == STREAMING_ROLE]
    own = recording.only("gcp:container/cluster:Cluster").inputs["project"]
    # In no order: the engine is told of what does not wait for each other as it comes.
    assert sorted(one.inputs["project"] for one in streaming) == (sorted([own, "images"]) if streamed else [])
    assert {one.inputs["member"] for one in streaming} <= {nodes}
