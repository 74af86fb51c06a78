"""GKE node pools, one wish at a time."""

from __future__ import annotations

import inspect
from typing import Any

import pulumi
import pytest

from facts import catalog
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import FlexStart, Pool, TimeSharing, Upgrade
from rehearsal.providers.gke.node_pool import NODES_RECREATED
from rehearsal.providers.gke.pool_rules import PARTITION_SIZES
from rehearsal.providers.values import at
from tests import recorder
from tests.components import specs

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


def node_config(**changes: Any) -> dict[str, Any]:
    config: dict[str, Any] = declared(specs.gpu_pool(**changes)).inputs["nodeConfig"]
    return config


def test_limits_are_totals_over_the_zones() -> None:
    pool = declared(specs.gpu_pool(max_nodes=8, zones=("us-central1-a", "us-central1-c")))
    assert pool.inputs["autoscaling"] == {"totalMinNodeCount": 0, "totalMaxNodeCount": 8, "locationPolicy": "ANY"}
    assert pool.inputs["nodeLocations"] == ["us-central1-a", "us-central1-c"]


def test_labels_and_taints_are_exactly_those_of_the_spec() -> None:
    extra = Taint("example.com/team", "ml", "NoExecute")
    config = node_config(size=4, extra_taints=(extra,), extra_labels={"example.com/rack": "7"})
    assert config["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "gpucluster.dev/gpus-per-node", "value": "4", "effect": "NO_SCHEDULE"},
        {"key": "example.com/team", "value": "ml", "effect": "NO_EXECUTE"},
    ]
    assert config["labels"] == {
        "nvidia.com/gpu.present": "true",
        "gpucluster.dev/pool": "t4-1",
        "gpucluster.dev/gpu": "nvidia-t4",
        "gpucluster.dev/gpus-per-node": "4",
        "example.com/rack": "7",
    }


@pytest.mark.parametrize(
    ("drivers", "version", "sent"),
    [
        ("managed", "default", "DEFAULT"),
        ("managed", "latest", "LATEST"),
        ("daemonset", "default", "INSTALLATION_DISABLED"),
        ("daemonset", "latest", "INSTALLATION_DISABLED"),
    ],
)
def test_the_driver_mode_is_always_explicit(drivers: str, version: str, sent: str) -> None:
    (accelerator,) = node_config(drivers=drivers, driver_version=version)["guestAccelerators"]
    assert accelerator["gpuDriverInstallationConfig"] == {"gpuDriverVersion": sent}


def test_time_sharing_is_the_clouds_own() -> None:
    (shared,) = node_config(time_sharing=TimeSharing(clients_per_gpu=4))["guestAccelerators"]
    assert shared["gpuSharingConfig"] == {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4}
    (whole,) = node_config()["guestAccelerators"]
    assert "gpuSharingConfig" not in whole


@pytest.mark.parametrize(
    ("gpu", "mig", "size"),
    [("nvidia-a100-40gb", "1g", "1g.5gb"), ("nvidia-a100-80gb", "2g", "2g.20gb"), ("nvidia-b200", "7g", "7g.180gb")],
)
def test_a_partition_is_called_by_its_memory_too(gpu: str, mig: str, size: str) -> None:
    (accelerator,) = node_config(gpu=gpu, mig=mig)["guestAccelerators"]
    assert accelerator["gpuPartitionSize"] == size
    (whole,) = node_config(gpu=gpu)["guestAccelerators"]
    assert "gpuPartitionSize" not in whole


def test_every_partition_is_one_that_the_simulated_google_knows() -> None:
    partitioned = [each for each in catalog.of("gke").accelerators.values() if each.partitions]
    assert len(partitioned) == 6
    for accelerator in partitioned:
        assert set(accelerator.partitions.values()) <= set(PARTITION_SIZES[accelerator.name])


@pytest.mark.parametrize("asked", [True, False])
def test_nodes_are_close_and_images_streamed_where_a_pool_asks_for_it(asked: bool) -> None:
    pool = declared(specs.gpu_pool(compact=asked, image_streaming=asked))
    assert pool.inputs.get("placementPolicy") == ({"type": "COMPACT"} if asked else None)
    assert pool.inputs["nodeConfig"].get("gcfsConfig") == ({"enabled": True} if asked else None)
    assert {"placementPolicy", "nodeConfig.gcfsConfig"} <= set(pool.replace_on_changes)


def test_a_reservation_is_named() -> None:
    config = node_config(spot=False, reservation="a100s-of-june")
    assert config["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["a100s-of-june"],
    }
    assert "reservationAffinity" not in node_config()


def test_machines_that_are_lent_are_asked_for_as_google_wants_it() -> None:
    pool = declared(specs.gpu_pool(spot=False, flex_start=FlexStart(max_run_hours=5)))
    config = pool.inputs["nodeConfig"]
    assert config["flexStart"] is True
    assert config["maxRunDuration"] == "18000s"
    assert config["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert pool.inputs["management"]["autoRepair"] is False
    assert pool.inputs["autoscaling"]["locationPolicy"] == "ANY"
    others = declared(specs.gpu_pool())
    assert others.inputs["management"]["autoRepair"] is True
    assert not {"flexStart", "maxRunDuration"} & others.inputs["nodeConfig"].keys()


@pytest.mark.parametrize(
    ("machine_type", "disk_type"),
    [
        ("n1-standard-4", "pd-balanced"),
        ("g2-standard-4", "pd-balanced"),
        ("a3-highgpu-8g", "pd-balanced"),
        ("a3-ultragpu-8g", "hyperdisk-balanced"),
        ("a4-highgpu-8g", "hyperdisk-balanced"),
    ],
)
def test_the_boot_disk_is_one_that_the_machine_takes(machine_type: str, disk_type: str) -> None:
    assert node_config(machine_types=(machine_type,))["diskType"] == disk_type


@pytest.mark.parametrize(("image", "sent"), [("cos", "COS_CONTAINERD"), ("ubuntu", "UBUNTU_CONTAINERD")])
def test_image_and_secure_boot(image: str, sent: str) -> None:
    config = node_config(image=image)
    assert config["imageType"] == sent
    assert config["shieldedInstanceConfig"]["enableSecureBoot"] is (image == "cos")


def test_pools_of_one_name_are_replaced_one_after_the_other() -> None:
    assert declared(specs.gpu_pool()).delete_before_replace


def test_pools_go_with_their_cluster() -> None:
    declared = recording(specs.gpu_pool())
    cluster = declared.only("gcp:container/cluster:Cluster").urn
    assert {pool.deleted_with for pool in declared.of_type(NODE_POOL)} == {cluster}


def test_what_google_drains_nodes_for_is_a_replacement_of_a_gpu_pool_and_not_of_others() -> None:
    gpu = declared(specs.gpu_pool())
    # Also what only ``raw`` sets; a version is not the stack file's to write.
    recreated = set(NODES_RECREATED) - {"version"}
    assert {"nodeConfig.diskSizeGb", "nodeConfig.kubeletConfig", "nodeConfig.linuxNodeConfig"} <= recreated
    assert recreated <= set(gpu.replace_on_changes)
    assert not declared(specs.cpu_pool()).replace_on_changes


@pytest.mark.parametrize("path", ["nodeConfig.ephemeralStorageLocalSsdConfig", "nodeConfig.gvnic"])
def test_raw_changes_what_a_pool_otherwise_keeps(path: str) -> None:
    key = path.rpartition(".")[2]
    raw = {"nodeConfig": {key: {"localSsdCount": 1} if "Ssd" in key else {"enabled": False}}}
    pool = declared(specs.gpu_pool(image="ubuntu", raw=raw))
    assert at(pool.inputs, path) == raw["nodeConfig"][key]
    assert path not in pool.ignore_changes
    assert path in declared(specs.gpu_pool(image="ubuntu")).ignore_changes


@pytest.mark.parametrize(
    ("minimum", "maximum", "zones", "each_zone"), [(0, 3, 1, 0), (1, 3, 1, 1), (1, 3, 3, 1), (4, 9, 3, 2)]
)
def test_a_cpu_pool_starts_with_its_minimum_at_least(minimum: int, maximum: int, zones: int, each_zone: int) -> None:
    names = tuple(f"us-central1-{letter}" for letter in "abc"[:zones])
    pool = declared(specs.cpu_pool(min_nodes=minimum, max_nodes=maximum, zones=names))
    assert pool.inputs["initialNodeCount"] == each_zone
    assert pool.inputs["autoscaling"]["totalMinNodeCount"] == minimum


def test_an_upgrade_gives_pods_the_written_time() -> None:
    upgrade = Upgrade(max_unavailable=1, drain_minutes=90)
    assert declared(specs.gpu_pool(upgrade=upgrade)).inputs["nodeDrainConfigs"] == [
        {"graceTerminationDuration": "5400s", "pdbTimeoutDuration": "5400s"}
    ]
    assert "nodeDrainConfigs" not in declared(specs.gpu_pool()).inputs


def test_gpu_nodes_are_not_upgraded_while_their_version_is_supported() -> None:
    assert declared(specs.gpu_pool()).inputs["maintenancePolicies"] == [
        {"exclusionUntilEndOfSupports": [{"enabled": True}]}
    ]
    assert "maintenancePolicies" not in declared(specs.cpu_pool()).inputs


def test_what_would_replace_busy_nodes_is_for_new_pools_only() -> None:
    pool = declared(specs.gpu_pool(machine_types=("a2-ultragpu-2g",)))
    config = pool.inputs["nodeConfig"]
    assert config["gvnic"] == {"enabled": True}
    assert config["ephemeralStorageLocalSsdConfig"] == {"localSsdCount": 2}
    assert {"nodeConfig.gvnic", "nodeConfig.ephemeralStorageLocalSsdConfig"} <= set(pool.ignore_changes)


@pytest.mark.parametrize("machine_type", ["a3-highgpu-8g", "a2-highgpu-1g", "n1-standard-4"])
def test_no_local_ssd_is_asked_for_where_there_is_none_or_it_is_used_anyway(machine_type: str) -> None:
    assert "ephemeralStorageLocalSsdConfig" not in node_config(machine_types=(machine_type,))


def test_gvnic_is_for_the_image_that_google_builds_it_into() -> None:
    assert "gvnic" not in node_config(image="ubuntu")


@pytest.mark.parametrize(("asked", "policy"), [(None, "ANY"), ("any", "ANY"), ("balanced", "BALANCED")])
def test_gpu_nodes_are_where_there_is_one_unless_the_pool_is_to_be_spread(asked: str | None, policy: str) -> None:
    pool = declared(specs.gpu_pool(location_policy=asked))
    assert pool.inputs["autoscaling"]["locationPolicy"] == policy


@pytest.mark.parametrize(
    ("spot", "minimum", "policy"), [(True, 0, "ANY"), (False, 0, "BALANCED"), (True, 1, "BALANCED")]
)
def test_cpu_pools_spread_unless_capacity_is_scarce_and_none_is_kept(spot: bool, minimum: int, policy: str) -> None:
    pool = declared(specs.cpu_pool(spot=spot, min_nodes=minimum))
    assert (pool.inputs["autoscaling"]["locationPolicy"], pool.inputs["nodeConfig"]["spot"]) == (policy, spot)


def test_the_admin_pool_has_a_fixed_size_that_the_stack_file_can_change() -> None:
    pool = declared(specs.admin_pool(nodes=2))
    assert pool.inputs["nodeCount"] == 2
    assert "autoscaling" not in pool.inputs
    assert "nodeCount" not in pool.ignore_changes


def test_an_admin_pool_with_a_maximum_is_autoscaled_and_never_smaller_than_its_nodes() -> None:
    zones = ("us-central1-a", "us-central1-b")
    pool = declared(specs.admin_pool(nodes=2, max_nodes=9, zones=zones, spot=True))
    limits = {"totalMinNodeCount": 4, "totalMaxNodeCount": 9, "locationPolicy": "BALANCED"}
    assert pool.inputs["autoscaling"] == limits
    assert pool.inputs["initialNodeCount"] == 2
    assert "nodeCount" not in pool.inputs
    assert {"initialNodeCount", "nodeCount"} <= set(pool.ignore_changes)
    assert pool.inputs["nodeConfig"]["spot"] is True


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
    [("nvidia-v100", "latest", True), ("nvidia-v100", "default", False), ("nvidia-t4", "latest", False)],
)
def test_the_latest_driver_may_be_too_new_for_old_gpus(
    gpu: str, version: str, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(pulumi, "warn", warnings.append)
    spec = specs.gpu_pool(type=gpu, driver_version=version)
    inspect.unwrap(recording)(spec)
    assert [gpu in text for text in warnings] == [True] * warned


def test_nodes_are_upgraded_as_the_pool_says() -> None:
    upgrade = declared(specs.gpu_pool(upgrade=Upgrade(max_surge=2))).inputs["upgradeSettings"]
    assert upgrade == {"strategy": "SURGE", "maxSurge": 2, "maxUnavailable": 0}
    # Needs no further quota.
    usual = declared(specs.gpu_pool()).inputs["upgradeSettings"]
    assert usual == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
