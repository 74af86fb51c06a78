"""The GKE cluster: who reaches it, where it is, what encrypts it, how one logs in; an existing subnet."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from unittest import mock

import pulumi
import pytest

from components.clouds.gke.identity import account_id
from components.settings.sections.access import Access
from components.settings.sections.cluster import ExistingNetwork
from tests import gke_answers, recorder
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
    provider = recording.only("pulumi:providers:kubernetes")
    assert provider.version.startswith("4.")
    (entry,) = json.loads(provider.inputs["kubeconfig"])["clusters"]
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


def test_an_account_of_the_users_own_is_what_nodes_have_and_gets_no_role() -> None:
    email = "gpu-nodes@identities.iam.gserviceaccount.com"
    recording = run_cluster(node_identity=email, admin_pool=specs.admin_pool())
    assert recording.of_type("gcp:serviceaccount/account:Account") == []
    assert recording.of_type("gcp:projects/iAMMember:IAMMember") == []
    assert recording.only(CLUSTER).inputs["nodeConfig"]["serviceAccount"] == email


def test_a_kms_key_encrypts_secrets_once_the_service_agent_may_use_it() -> None:
    recording = run_cluster(kms_key=KEY)
    grant = recording.only("gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember")
    assert grant.inputs["cryptoKeyId"] == KEY
    assert grant.inputs["member"] == "serviceAccount:service-123456789@container-engine-robot.iam.gserviceaccount.com"
    cluster = recording.only(CLUSTER)
    assert cluster.inputs["databaseEncryption"] == {"state": "ENCRYPTED", "keyName": KEY}
    assert grant.urn in cluster.depends_on
    without = run_cluster()
    assert without.calls == [], "nothing is asked of the project"
    assert without.only(CLUSTER).inputs["databaseEncryption"] == {"state": "DECRYPTED"}


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


LINK = "https://www.googleapis.com/compute/v1/projects/host"


def run_in_network(**changes: Any) -> recorder.Recording:
    network: dict[str, Any] = {"network": "projects/host/global/networks/company", "subnets": ("gpu-nodes",)}
    ranges = {"pod_range": "gpu-pods", "service_range": "gpu-services"}
    existing = ExistingNetwork.model_construct(**{**network, **ranges, **changes.pop("existing", {})})
    settings = specs.cluster_settings(existing=existing, **changes)
    return recorder.run(specs.declare_cluster(settings))


def test_the_cluster_is_in_the_hosts_subnet_and_no_network_is_made() -> None:
    recording = run_in_network()
    inputs = recording.only(CLUSTER).inputs
    assert inputs["network"] == f"{LINK}/global/networks/company"
    assert inputs["subnetwork"] == f"{LINK}/regions/us-central1/subnetworks/gpu-nodes"
    expected = {"clusterSecondaryRangeName": "gpu-pods", "servicesSecondaryRangeName": "gpu-services"}
    assert inputs["ipAllocationPolicy"] == expected
    assert inputs["project"] == "my-project"
    assert [one.type for one in recording.resources if one.type.startswith("gcp:compute/")] == []


def test_a_network_by_name_is_in_the_clusters_own_project() -> None:
    inputs = run_in_network(existing={"network": "company"}).only(CLUSTER).inputs
    assert inputs["network"].endswith("/projects/my-project/global/networks/company")


@pytest.mark.parametrize(
    ("written", "subnet", "words"),
    [
        ({"network": "projects/host/global/networks/other"}, {}, r"existing\.network: .*host/global/networks/company"),
        ({"pod_range": "pods"}, {}, r"existing\.podRange: .*'pods'.*gpu-pods, gpu-services"),
        ({"service_range": "services"}, {"secondaryIpRanges": []}, r"existing\.serviceRange: .*none"),
        ({}, {"ipCidrRange": "10.20.0.0/29"}, r"existing\.subnets: .* room for 4 nodes, but the pools may grow to 5"),
        (
            {},
            {"secondaryIpRanges": [{"rangeName": "gpu-pods", "ipCidrRange": "10.24.0.0/22"}]},
            r"existing\.podRange: .* room for 4 nodes, but the pools may grow to 5",
        ),
    ],
)
def test_a_subnet_that_does_not_fit_is_refused_before_anything_is_made(
    written: dict[str, str], subnet: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in subnet.items():
        monkeypatch.setitem(gke_answers.SUBNETWORK, key, value)
    with pytest.raises(pulumi.RunError, match=words):
        run_in_network(existing=written, admin_pool=specs.admin_pool(max_nodes=5))


def test_a_subnet_that_just_fits_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gke_answers.SUBNETWORK, "ipCidrRange", "10.20.0.0/29")
    assert run_in_network(admin_pool=specs.admin_pool(max_nodes=4)).only(CLUSTER)


def test_the_control_planes_range_is_apart_from_the_subnets() -> None:
    with pytest.raises(pulumi.RunError, match=r"network\.controlPlaneCidr: 10\.20\.0\.0/28 overlaps"):
        run_in_network(control_plane_cidr="10.20.0.0/28")


@pytest.mark.parametrize(
    ("was", "now", "sent"),
    [
        ("group:gpu@example.com", "group:more@example.com", {"securityGroup": "gke-security-groups@example.com"}),
        ("group:gpu@example.com", "user:ann@example.com", {"securityGroup": ""}),
        ("group:gpu@example.com", None, {"securityGroup": ""}),
        ("user:ann@example.com", "user:bob@example.com", None),
    ],
)
def test_the_update_that_takes_the_last_group_out_ends_the_lookup_of_groups(
    was: str, now: str | None, sent: dict[str, str] | None
) -> None:
    """Left out, it would stay: the provider takes it from Google (``Computed``)."""

    def program(who: str | None) -> Callable[[], None]:
        access = () if who is None else (Access(name="ops", who=who, role="viewer"),)
        return specs.declare_cluster(specs.cluster_settings(access=access))

    updated = recorder.run(program(now), deployed=recorder.run(program(was)))
    assert updated.only(CLUSTER).inputs.get("authenticatorGroupsConfig") == sent


@pytest.mark.parametrize("raw", [{}, {"addonsConfig": {"gcpFilestoreCsiDriverConfig": {"enabled": False}}}])
def test_a_driver_that_a_removed_volume_leaves_is_named_until_it_is_turned_off(raw: dict[str, Any]) -> None:
    deployed = recorder.Recording()
    vars(deployed)["states"] = {
        "urn:pulumi:test::gpucluster::gpucluster:index:SharedVolume$gcp:filestore/instance:Instance::shared": {}
    }
    with mock.patch("pulumi.warn") as warn:
        updated = recorder.run(specs.declare_cluster(specs.cluster_settings(raw=raw)), deployed=deployed)
    said = any("GKE keeps Filestore's driver" in call.args[0] for call in warn.call_args_list)
    assert (said, updated.only(CLUSTER).inputs.get("addonsConfig")) == (not raw, raw.get("addonsConfig"))


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({}, {"addonsConfig": {"dnsCacheConfig": {"enabled": True}}}, ["addonsConfig.dnsCacheConfig"]),
        ({}, {"enableIntranodeVisibility": True}, ["enableIntranodeVisibility"]),
        ({}, {"networkPolicy": {"enabled": True, "provider": "CALICO"}}, ["networkPolicy"]),
        ({}, {"addonsConfig": {"gcsFuseCsiDriverConfig": {"enabled": True}}}, []),
        ({"enableIntranodeVisibility": True}, {"enableIntranodeVisibility": True}, []),
        ({"enableIntranodeVisibility": True}, {}, []),
    ],
)
def test_a_preview_warns_of_raw_for_which_google_recreates_all_nodes(
    before: dict[str, Any], after: dict[str, Any], paths: list[str]
) -> None:
    first = recorder.run(specs.declare_cluster(specs.cluster_settings(raw=before)))
    program = specs.declare_cluster(specs.cluster_settings(raw=after))
    text = recorder.warnings(lambda: recorder.run(program, deployed=first))
    assert [line.partition(":")[0] for line in text.splitlines()] == [f"raw.{path}" for path in paths]


def test_raw_of_a_new_cluster_is_not_warned_of() -> None:
    program = specs.declare_cluster(specs.cluster_settings(raw={"enableIntranodeVisibility": True}))
    assert recorder.warnings(lambda: recorder.run(program)) == ""
