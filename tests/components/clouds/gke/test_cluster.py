"""The GKE cluster: who reaches it, where it is, what encrypts it, and how one logs in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.clouds.gke.identity import account_id
from components.clouds.gke.kubeconfig import kubeconfig
from components.settings.maintenance import Exclusion, Maintenance
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


def test_without_the_way_by_name_nothing_is_said_of_it_and_the_cluster_proves_itself() -> None:
    recording = run_cluster()
    assert "controlPlaneEndpointsConfig" not in recording.only(CLUSTER).inputs
    (entry,) = json.loads(recording.only("pulumi:providers:kubernetes").inputs["kubeconfig"])["clusters"]
    assert entry["cluster"] == {"server": "https://203.0.113.7", "certificate-authority-data": "Q0E="}


def test_the_cluster_waits_for_the_way_out_and_for_the_nodes_rights() -> None:
    recording = run_cluster()
    needs = recording.only(CLUSTER).depends_on
    assert recording.only("gcp:compute/routerNat:RouterNat").urn in needs
    assert {grant.urn for grant in recording.of_type("gcp:projects/iAMMember:IAMMember")} <= set(needs)


def test_the_nodes_account_has_only_the_documented_roles() -> None:
    recording = run_cluster()
    grants = recording.of_type("gcp:projects/iAMMember:IAMMember")
    assert sorted((grant.inputs["role"], grant.inputs["project"]) for grant in grants) == [
        ("roles/artifactregistry.reader", "my-project"),
        ("roles/container.defaultNodeServiceAccount", "my-project"),
    ]
    account = recording.only("gcp:serviceaccount/account:Account").inputs["accountId"]
    assert all(account in grant.inputs["member"] for grant in grants)


def test_upgrades_come_in_the_window_and_not_on_excluded_days() -> None:
    closed = Exclusion(name="deadline", first="2026-12-20", last="2027-01-03")
    window = Maintenance(day="saturday", start="02:00", hours=8, exclusions=(closed,))
    assert run_cluster(maintenance=window).only(CLUSTER).inputs["maintenancePolicy"] == {
        "recurringWindow": {
            "startTime": "2024-01-06T02:00:00Z",
            "endTime": "2024-01-06T10:00:00Z",
            "recurrence": "FREQ=WEEKLY;BYDAY=SA",
        },
        "maintenanceExclusions": [
            {
                "exclusionName": "deadline",
                "startTime": "2026-12-20T00:00:00Z",
                "endTime": "2027-01-04T00:00:00Z",
                "exclusionOptions": {"scope": "NO_UPGRADES"},
            }
        ],
    }


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


@pytest.mark.parametrize(
    ("written", "sent", "ignored"),
    [(None, "ADVANCED_DATAPATH", True), ("v2", "ADVANCED_DATAPATH", False), ("legacy", "LEGACY_DATAPATH", False)],
)
def test_a_cluster_keeps_its_dataplane_unless_the_stack_file_says_which(
    written: str | None, sent: str, ignored: bool
) -> None:
    cluster = run_cluster(dataplane=written).only(CLUSTER)
    assert cluster.inputs["datapathProvider"] == sent
    assert ("datapathProvider" in cluster.ignore_changes) is ignored


@pytest.mark.parametrize(("written", "collected"), [({}, False), ({"monitoring": {"gpuMetrics": True}}, True)])
def test_gpu_metrics_are_not_collected_twice_unless_asked_for(written: dict[str, Any], collected: bool) -> None:
    assert load_stack("gke", workloads={"monitoring": {}}, **written).gpu_metrics is collected


def test_a_node_gets_as_many_ports_as_it_needs_and_running_ones_keep_theirs() -> None:
    nat = run_cluster().only("gcp:compute/routerNat:RouterNat")
    ports = {"enableDynamicPortAllocation": True, "enableEndpointIndependentMapping": False}
    assert ports.items() <= nat.inputs.items()
    assert nat.inputs["minPortsPerVm"] < nat.inputs["maxPortsPerVm"]
    assert {*ports, "minPortsPerVm", "maxPortsPerVm"} <= set(nat.ignore_changes)


def test_the_default_pool_is_removed_and_its_leftovers_are_no_change() -> None:
    cluster = run_cluster().only(CLUSTER)
    assert cluster.inputs["removeDefaultNodePool"] is True
    assert {"initialNodeCount", "nodeConfig"} <= set(cluster.ignore_changes)


def test_the_kubeconfig_logs_in_by_plugin_at_whatever_port() -> None:
    config = json.loads(kubeconfig("here", "127.0.0.1:6443", "Q0E="))
    assert config["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:6443",
        "certificate-authority-data": "Q0E=",
    }
    plugin = config["users"][0]["user"]["exec"]
    assert plugin["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    # As the Google Cloud provider logs in: another account must not declare the objects.
    assert plugin["args"] == ["--use_application_default_credentials"]
    assert (plugin["command"], plugin["interactiveMode"], plugin["provideClusterInfo"]) == (
        "gke-gcloud-auth-plugin",
        "IfAvailable",
        True,
    )
    assert config["current-context"] == config["contexts"][0]["name"] == "here"


@pytest.mark.parametrize("name", ["gpu-dev", "a" * 24, "a" * 25, "gpu-the-longest-name-that-gke-takes-at-all"[:40]])
def test_an_account_id_is_one_that_google_accepts(name: str) -> None:
    made = account_id(name)
    assert 6 <= len(made) <= 30
    assert made.replace("-", "").isalnum()
    assert made[0].isalpha()
    assert "--" not in made


def test_long_names_with_the_same_beginning_have_different_accounts() -> None:
    assert account_id("gpu-team-research-and-development-a") != account_id("gpu-team-research-and-development-b")
