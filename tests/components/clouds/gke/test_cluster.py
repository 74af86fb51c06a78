"""The GKE cluster: who reaches it, where it is, what encrypts it, and how one logs in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.clouds.gke.identity import account_id
from tests import recorder
from tests.components import specs
from tests.components.settings.test_clouds import load_stack

CLUSTER = "gcp:container/cluster:Cluster"
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"


@recorder.remembered
def run_cluster(**changes: Any) -> recorder.Recording:
    return recorder.run(specs.declare_cluster(specs.cluster_settings(**changes)))


def test_the_kubeconfig_takes_the_way_by_name_and_trusts_whom_everybody_trusts() -> None:
    recording = run_cluster(dns_endpoint=True, private_endpoint=True, authorized_networks=())
    inputs = recording.only(CLUSTER).inputs
    assert inputs["controlPlaneEndpointsConfig"] == {"dnsEndpointConfig": {"allowExternalTraffic": True}}
    written = recording.only("pulumi:providers:kubernetes").inputs["kubeconfig"]
    (entry,) = json.loads(written)["clusters"]
    assert entry["cluster"] == {"server": "https://gke-0123.us-central1.gke.goog"}


def test_the_nodes_account_has_only_the_documented_roles() -> None:
    recording = run_cluster()
    grants = recording.of_type("gcp:projects/iAMMember:IAMMember")
    assert sorted((grant.inputs["role"], grant.inputs["project"]) for grant in grants) == [
        ("roles/artifactregistry.reader", "my-project"),
        ("roles/container.defaultNodeServiceAccount", "my-project"),
    ]
    account = recording.only("gcp:serviceaccount/account:Account").inputs["accountId"]
    assert all(account in grant.inputs["member"] for grant in grants)


def test_a_kms_key_encrypts_secrets_once_the_service_agent_may_use_it() -> None:
    recording = run_cluster(kms_key=KEY)
    grant = recording.only("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember")
    assert grant.inputs["cryptoKeyId"] == KEY
    assert grant.inputs["member"] == "serviceAccount:service-123456789@container-engine-robot.iam.gserviceaccount.com"
    cluster = recording.only(CLUSTER)
    assert cluster.inputs["databaseEncryption"] == {"state": "ENCRYPTED", "keyName": KEY}
    assert grant.urn in cluster.depends_on


def test_without_a_kms_key_nothing_is_asked_of_the_project() -> None:
    recording = run_cluster()
    assert recording.calls == []
    assert recording.only(CLUSTER).inputs["databaseEncryption"] == {"state": "DECRYPTED"}


@pytest.mark.parametrize(("written", "collected"), [({}, False), ({"monitoring": {"gpuMetrics": True}}, True)])
def test_gpu_metrics_are_not_collected_twice_unless_asked_for(written: dict[str, Any], collected: bool) -> None:
    assert load_stack("gke", workloads={"monitoring": {}}, **written).gpu_metrics is collected


@pytest.mark.parametrize("name", ["gpu-dev", "a" * 24, "a" * 25, "gpu-the-longest-name-that-gke-takes-at-all"[:40]])
def test_an_account_id_is_one_that_google_accepts(name: str) -> None:
    made = account_id(name)
    assert 6 <= len(made) <= 30
    assert made.replace("-", "").isalnum()
    assert made[0].isalpha()
    assert "--" not in made


def test_long_names_with_the_same_beginning_have_different_accounts() -> None:
    assert account_id("gpu-team-research-and-development-a") != account_id("gpu-team-research-and-development-b")
