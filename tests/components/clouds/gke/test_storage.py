"""Volumes are of disks that the machines of their pods attach: the simulated GKE has the table of families."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.providers.gke.rules import WITHOUT_HYPERDISK_BALANCED, WITHOUT_PERSISTENT_DISK
from tests import one_stack
from tests.recorder import Recording, remembered
from tests.stacks import run_with

T4 = {"gpu": "nvidia-t4", "maxNodes": 2}
G4 = {"gpu": "nvidia-rtx-pro-6000", "maxNodes": 2, "zones": ["us-central1-b"]}
H200 = {"gpu": "nvidia-h200-141gb", "gpusPerNode": 8, "maxNodes": 1, "capacity": "spot"}
IN_ZONES = {"zones": ["us-central1-a", "us-central1-b"]}
ADMIN: dict[str, Any] = {"machineType": "e2-standard-4"}
GKE_OWN = {"standard-rwo": "pd-balanced"}


@remembered
def program(*pools: str, admin: str = "e2-standard-4", key: bool = False) -> Recording:
    known = {"t4": T4, "g4": G4, "h200": H200}
    changes: dict[str, Any] = {
        "gpuPools": [{**known[pool], "name": pool} for pool in pools],
        "adminPool": {"machineType": admin},
        "workloads": {"notebook": {}},
        **IN_ZONES,
    }
    if key:
        changes["security"] = {"diskKey": "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"}
    return run_with(one_stack.config("gke", **changes), "one-gke")


def classes(recording: Recording) -> dict[str, Any]:
    declared = [each.inputs for each in recording.of_type("kubernetes:storage.k8s.io/v1:StorageClass")]
    return {each["metadata"]["name"]: each for each in declared}


def disk_of(recording: Recording, name: str | None) -> str:
    """The disk type of a class; of the default one for ``None``."""
    made = classes(recording)
    default = [key for key, each in made.items() if each["metadata"].get("annotations")]
    name = name or (default[0] if default else "standard-rwo")
    return str(made[name]["parameters"]["type"]) if name in made else GKE_OWN[name]


def attaches(machine: str, disk: str) -> bool:
    lacking = WITHOUT_PERSISTENT_DISK if disk.startswith("pd-") else WITHOUT_HYPERDISK_BALANCED
    return not lacking.fullmatch(machine)


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize(
    ("pools", "admin", "offered"),
    [
        (("t4",), "e2-standard-4", {"t4"}),
        (("g4",), "e2-standard-4", {"g4"}),
        (("g4", "h200"), "e2-standard-4", {"g4", "h200"}),
        (("t4", "g4"), "e2-standard-4", {"t4"}),
        (("g4",), "n4-standard-4", {"g4"}),
        (("t4",), "n4-standard-4", {"t4"}),
    ],
)
def test_homes_and_the_tools_volumes_are_of_disks_that_their_machines_attach(
    pools: tuple[str, ...], admin: str, offered: set[str], key: bool
) -> None:
    recording = program(*pools, admin=admin, key=key)
    (hub,) = [each.inputs["values"] for each in recording.of_type("kubernetes:helm.sh/v3:Release")]
    home = disk_of(recording, hub["singleuser"]["storage"].get("dynamic", {}).get("storageClass"))
    profiles = [profile["kubespawner_override"] for profile in hub["singleuser"]["profileList"]]
    terms = [term for profile in profiles for term in profile["node_affinity_required"]]
    names = [name for term in terms for name in term["matchExpressions"][0]["values"]]
    machines = {
        each.inputs["name"]: each.inputs["nodeConfig"]["machineType"]
        for each in recording.of_type("gcp:container/nodePool:NodePool")
    }
    assert {name.partition("-")[0] for name in names} == offered
    assert all(attaches(machines[name], home) for name in names)
    # The hub's own volume, and Prometheus', name no class and are on the admin pool.
    assert attaches(machines["admin"], disk_of(recording, None))
    if key:
        keys = {each["parameters"]["disk-encryption-kms-key"] for each in classes(recording).values()}
        assert {key.rpartition("/")[2] for key in keys} == {"k"}


def test_the_classes_by_name() -> None:
    assert classes(program("t4")) == {}
    (hyperdisk,) = classes(program("g4")).values()
    assert hyperdisk == {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "hyperdisk-balanced"},
        "provisioner": "pd.csi.storage.gke.io",
        "parameters": {"type": "hyperdisk-balanced"},
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }
