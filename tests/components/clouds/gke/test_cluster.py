"""The GKE cluster: who reaches it, where it is, what encrypts it, and how one logs in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.clouds.gke.identity import account_id
from components.clouds.gke.kubeconfig import kubeconfig
from components.settings.cluster import AuthorizedNetworkSetting
from components.settings.maintenance import Exclusion, Maintenance
from tests import recorder
from tests.components import specs
from tests.components.settings.test_clouds import load_stack

CLUSTER = "gcp:container/cluster:Cluster"
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"


@recorder.remembered
def run_cluster(**changes: Any) -> recorder.Recording:
    return recorder.run(specs.declare_cluster(specs.cluster_settings(**changes)))


def test_only_the_written_networks_reach_the_control_plane() -> None:
    vpn = AuthorizedNetworkSetting(name="vpn", cidr="198.51.100.0/24")
    office = AuthorizedNetworkSetting(name="office", cidr="203.0.113.0/28")
    inputs = run_cluster(authorized_networks=(vpn, office)).only(CLUSTER).inputs
    assert inputs["masterAuthorizedNetworksConfig"] == {
        "cidrBlocks": [
            {"displayName": "vpn", "cidrBlock": "198.51.100.0/24"},
            {"displayName": "office", "cidrBlock": "203.0.113.0/28"},
        ],
        "gcpPublicCidrsAccessEnabled": False,
    }


def test_with_a_private_endpoint_and_no_network_nobody_outside_reaches_it() -> None:
    inputs = run_cluster(private_endpoint=True, authorized_networks=()).only(CLUSTER).inputs
    assert inputs["privateClusterConfig"]["enablePrivateEndpoint"] is True
    assert inputs["masterAuthorizedNetworksConfig"]["cidrBlocks"] == []


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


def test_the_control_plane_range_is_sent_only_when_chosen() -> None:
    assert "masterIpv4CidrBlock" not in run_cluster().only(CLUSTER).inputs["privateClusterConfig"]
    chosen = run_cluster(control_plane_cidr="172.16.0.0/28").only(CLUSTER).inputs["privateClusterConfig"]
    assert chosen["masterIpv4CidrBlock"] == "172.16.0.0/28"


@pytest.mark.parametrize(
    ("regional", "zones", "location", "node_locations"),
    [
        (False, ("us-central1-a",), "us-central1-a", None),
        # A zonal cluster must not repeat its own zone.
        (False, ("us-central1-a", "us-central1-b"), "us-central1-a", ["us-central1-b"]),
        (True, ("us-central1-a", "us-central1-b"), "us-central1", ["us-central1-a", "us-central1-b"]),
    ],
)
def test_where_the_control_plane_and_the_nodes_are(
    regional: bool, zones: tuple[str, ...], location: str, node_locations: list[str] | None
) -> None:
    inputs = run_cluster(regional=regional, zones=zones).only(CLUSTER).inputs
    assert inputs["location"] == location
    assert inputs.get("nodeLocations") == node_locations


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


def test_private_nodes_reach_google_and_the_internet() -> None:
    recording = run_cluster()
    subnetwork = recording.only("gcp:compute/subnetwork:Subnetwork")
    assert subnetwork.inputs["privateIpGoogleAccess"] is True
    nat = recording.only("gcp:compute/routerNat:RouterNat").inputs
    assert nat["sourceSubnetworkIpRangesToNat"] == "LIST_OF_SUBNETWORKS"
    assert [each["sourceIpRangesToNats"] for each in nat["subnetworks"]] == [["ALL_IP_RANGES"]]
    assert (nat["natIpAllocateOption"], nat["maxPortsPerVm"]) == ("AUTO_ONLY", 65536)


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


def test_auto_provisioning_is_off_and_the_profile_is_the_written_one() -> None:
    autoscaling = run_cluster(autoscaling_profile="balanced").only(CLUSTER).inputs["clusterAutoscaling"]
    assert autoscaling == {"enabled": False, "autoscalingProfile": "BALANCED"}


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


@pytest.mark.parametrize(
    ("enabled", "components"), [(True, ["SYSTEM_COMPONENTS", "DCGM"]), (False, ["SYSTEM_COMPONENTS"])]
)
def test_metrics_of_gpus_come_with_where_they_are_stored(enabled: bool, components: list[str]) -> None:
    monitoring = run_cluster(gpu_metrics=enabled).only(CLUSTER).inputs["monitoringConfig"]
    assert monitoring == {"enableComponents": components, "managedPrometheus": {"enabled": enabled}}


@pytest.mark.parametrize(("written", "collected"), [({}, False), ({"monitoring": {"gpuMetrics": True}}, True)])
def test_gpu_metrics_are_not_collected_twice_unless_asked_for(written: dict[str, Any], collected: bool) -> None:
    assert load_stack("gke", workloads={"monitoring": {}}, **written).gpu_metrics is collected


def test_a_node_gets_as_many_ports_as_it_needs_and_running_ones_keep_theirs() -> None:
    nat = run_cluster().only("gcp:compute/routerNat:RouterNat")
    ports = {"enableDynamicPortAllocation": True, "enableEndpointIndependentMapping": False}
    assert ports.items() <= nat.inputs.items()
    assert nat.inputs["minPortsPerVm"] < nat.inputs["maxPortsPerVm"]
    assert {*ports, "minPortsPerVm", "maxPortsPerVm"} <= set(nat.ignore_changes)


def test_the_version_is_pinned_only_when_written() -> None:
    assert "minMasterVersion" not in run_cluster().only(CLUSTER).inputs
    assert run_cluster(version="1.34").only(CLUSTER).inputs["minMasterVersion"] == "1.34"


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
