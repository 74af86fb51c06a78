"""Pools with a fabric on GKE: Google's networks and driver, and claims in the namespaces of people."""

from __future__ import annotations

from typing import Any

import pytest

from components.settings import Settings, SettingsError, load
from facts import catalog
from facts.concepts.pool import Fabric
from tests import recorder
from tests.components.settings.test_clouds import own_keys
from tests.one_stack import config
from tests.stacks import run_with

LABEL = "cloud.google.com/gke-networking-dra-driver"
H200 = {
    "name": "near",
    "gpu": "nvidia-h200-141gb",
    "gpusPerNode": 8,
    "capacity": "spot",
    "zones": ["us-central1-b"],
    "maxNodes": 2,
    "fabric": "rdma",
}


NETWORK = {"name": "me", "cidr": "203.0.113.17/32"}


def settings(pool: dict[str, Any], **keys: Any) -> Settings:
    return load(own_keys("gke", gpuPools=[pool], **keys), stack="one", project="my-project")


def test_the_machines_with_rdma_are_those_with_a_card_for_each_gpu() -> None:
    machines = catalog.of("gke").machines.with_rdma
    assert {each.type: (each.gpus, each.rdma_devices) for each in machines} == {
        "a3-ultragpu-8g": (8, 8),
        "a4-highgpu-8g": (8, 8),
    }


def test_a_pool_has_its_devices_and_the_label_of_googles_driver() -> None:
    (pool,) = settings(H200).gpu_pools
    assert pool.fabric == Fabric(devices=8, resource="mrdma.google.com", claimed=True)
    assert pool.labels[LABEL] == "true"
    (plain,) = settings({**H200, "fabric": None}).gpu_pools
    assert LABEL not in plain.labels


@pytest.mark.parametrize(
    ("pool", "keys", "words"),
    [
        ({"gpu": "nvidia-h100-80gb", "capacity": "spot"}, {}, "a3-ultragpu-8g (8 nvidia-h200-141gb)"),
        ({}, {"network": {"dataplane": "legacy", "authorizedNetworks": [NETWORK]}}, "dataplane v2 alone"),
        ({}, {"kubernetes": {"version": "1.33"}}, "1.34"),
    ],
)
def test_what_google_does_not_offer_is_refused(pool: dict[str, Any], keys: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as error:
        settings({**H200, **pool}, **keys)
    assert words in str(error.value)


@pytest.fixture(scope="module")
def recording() -> recorder.Recording:
    return run_with(config("gke", gpuPools=[H200]), "one")


def test_google_makes_the_networks_and_people_have_a_claim(recording: recorder.Recording) -> None:
    pool = recording.named("near-8-pool")
    assert pool.inputs["networkConfig"] == {"acceleratorNetworkProfile": "auto"}
    claims = recording.of_type("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate")
    assert "default" in {each.inputs["metadata"]["namespace"] for each in claims}
    for claim in claims:
        assert claim.inputs["metadata"]["name"] == "gpu-fabric"
        (request,) = claim.inputs["spec"]["spec"]["devices"]["requests"]
        assert request["exactly"] == {"deviceClassName": "mrdma.google.com", "allocationMode": "All"}
