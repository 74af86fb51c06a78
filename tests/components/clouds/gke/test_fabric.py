"""Pools with a fabric on GKE: Google's networks and driver, and claims in the namespaces of people."""

from __future__ import annotations

import yaml

from facts import catalog
from tests.one_stack import config
from tests.stacks import run_with

H200 = {"name": "near", "gpu": "nvidia-h200-141gb", "gpusPerNode": 8, "capacity": "spot", "zones": ["us-central1-b"]}
CLAIM = {"deviceClassName": "mrdma.google.com", "allocationMode": "All"}


def test_the_machines_with_rdma_are_those_with_a_card_for_each_gpu() -> None:
    machines = catalog.of("gke").machines.with_rdma
    assert {(each.type, each.gpus, each.rdma_devices) for each in machines} == {
        ("a3-ultragpu-8g", 8, 8),
        ("a4-highgpu-8g", 8, 8),
    }


def test_google_makes_the_networks_and_people_claim_the_devices() -> None:
    pools = [{**H200, "fabric": "rdma", "maxNodes": 2}, {**H200, "name": "plain", "maxNodes": 1}]
    recording = run_with(config("gke", gpuPools=pools), "one")
    near, plain = (recording.named(f"{name}-8-pool").inputs for name in ("near", "plain"))
    assert near["networkConfig"] == {"acceleratorNetworkProfile": "auto"}
    assert near["nodeConfig"]["labels"]["cloud.google.com/gke-networking-dra-driver"] == "true"
    assert "cloud.google.com/gke-networking-dra-driver" not in plain["nodeConfig"]["labels"]
    claims = [each.inputs for each in recording.of_type("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate")]
    assert ("default", "gpu-fabric") in {(each["metadata"]["namespace"], each["metadata"]["name"]) for each in claims}
    assert all(each["spec"]["spec"]["devices"]["requests"][0]["exactly"] == CLAIM for each in claims)
    (job, _) = yaml.safe_load_all(recording.stack_outputs["fabricTest"]["near-8"])
    pod = job["spec"]["template"]["spec"]
    assert pod["resourceClaims"] == [{"name": "fabric", "resourceClaimTemplateName": "gpu-fabric"}]
    assert recording.stack_outputs["fabricTest"].keys() == {"near-8"}
