"""Create, read, update, replace and delete, through restarts, crashes, wrong references and ignored changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.gke import account as gke
from rehearsal.providers.base import Created, Previous, Properties, ProviderError
from rehearsal.providers.cloud import Record, Store
from rehearsal.providers.differences import parse_path
from rehearsal.providers.gke import GcpProvider

_SWITCH: Final = "enableInsecureBindingSystem"


def test_a_refresh_sees_what_changed_behind_the_programs_back(google: gke.Google, tmp_path: Path) -> None:
    network, _ = google.network()
    store = Store(tmp_path, "gcp")
    record = store.get(gke.NETWORK, network.id)
    assert record is not None
    store.put(Record(record.id, record.type, {**record.inputs, "mtu": 1500}, record.outputs))
    # mtu is not among the program's inputs, so it is state and no drift of the inputs.
    refreshed = google.read(gke.NETWORK, network.id, network.inputs)
    assert refreshed.state["mtu"] == 1500
    assert refreshed.inputs == network.inputs


def test_a_pool_whose_nodes_fail_is_named(google: gke.Google) -> None:
    google.cluster()
    google.fleet.fail = "apply_group"
    google.refuses(gke.POOL, gke.gpu_pool(), r"error creating NodePool .*t4-1: no machines left")


def test_ranges_accounts_and_zones_that_are_named_must_exist(google: gke.Google) -> None:
    """What other inputs name: ``test_contract.py``."""
    google.network()
    with pytest.raises(ProviderError, match=r"Pod secondary range 'pod' does not exist .*it has: pods, services"):
        google.create(gke.CLUSTER, gke.cluster(ipAllocationPolicy={"clusterSecondaryRangeName": "pod"}))
    google.refuses(gke.CLUSTER, gke.cluster(subnetwork=None, ipAllocationPolicy=None), "custom subnet mode")
    google.create(gke.CLUSTER, gke.cluster())
    account = f"ghost@{gke.PROJECT}.iam.gserviceaccount.com"
    with pytest.raises(ProviderError, match=f"Service account {account} does not exist"):
        google.create(gke.POOL, gke.gpu_pool(nodeConfig={"serviceAccount": account}))
    google.refuses(gke.POOL, gke.gpu_pool(nodeLocations=["europe-west4-a"]), "is not a zone of region")


@pytest.mark.parametrize(
    ("machine", "placement", "words"),
    [
        ({"machineType": "a2-highgpu-1g"}, {"type": "COMPACT"}, "in a single zone"),
        (
            {"machineType": "ct6e-standard-4t", "diskType": "hyperdisk-balanced"},
            {"type": "COMPACT", "tpuTopology": "4x4"},
            "in a single zone",
        ),
    ],
)
def test_a_pool_of_a_regional_cluster_that_has_to_be_in_one_zone_names_it(
    google: gke.Google, machine: Properties, placement: Properties, words: str
) -> None:
    google.network()
    region = google.create(gke.CLUSTER, gke.cluster(location="us-central1"))
    pool = gke.gpu_pool(
        cluster=region.id,
        nodeConfig={"guestAccelerators": [], **machine},
        placementPolicy=placement,
        autoscaling={"minNodeCount": 0, "maxNodeCount": 4},
    )
    google.refuses(gke.POOL, pool, words)
    google.create(gke.POOL, {**pool, "nodeLocations": ["us-central1-b"]})


@pytest.mark.parametrize(
    ("further", "recreated"), [(["us-central1-b"], ["t4-1"]), (["us-central1-c", "us-central1-f"], [])]
)
def test_another_zone_of_a_cluster_moves_all_its_pools(
    google: gke.Google, further: list[str], recreated: list[str]
) -> None:
    google.network()
    cluster = google.create(gke.CLUSTER, gke.cluster(nodeLocations=["us-central1-f"]))
    pool = google.create(gke.POOL, gke.gpu_pool(nodeLocations=["us-central1-c"]))
    google.update(gke.CLUSTER, cluster, gke.cluster(nodeLocations=further))
    zones = ["us-central1-a", *further]
    assert list(google.fleet.groups["t4-1"].nodes.zones) == zones
    assert google.read(gke.POOL, pool.id).state["nodeLocations"] == zones
    assert google.fleet.recreated == recreated


def test_a_slice_of_tpu7x_needs_a_policy_of_its_region_and_topology_and_keeps_it(google: gke.Google) -> None:
    def pool(policy: str, topology: str = "2x2x2") -> Properties:
        machine = {"machineType": "tpu7x-standard-4t", "diskType": "hyperdisk-balanced", "guestAccelerators": []}
        return gke.gpu_pool(
            nodeConfig=machine,
            nodeLocations=["us-central1-c"],
            autoscaling={"minNodeCount": 0, "maxNodeCount": 4 if topology == "2x2x4" else 2},
            placementPolicy={"type": "", "policyName": policy, "tpuTopology": topology},
        )

    def policy(name: str, region: str = "us-central1", type: str = "HIGH_THROUGHPUT") -> Created:
        workload = {"type": type, "acceleratorTopology": "2x2x2"}
        return google.create(gke.POLICY, {"name": name, "region": region, "workloadPolicy": workload})

    google.cluster()
    policy("far", region="us-east5")
    policy("spread", type="HIGH_AVAILABILITY")
    ring = policy("ring")
    google.refuses(gke.POOL, pool("far"), "regions/us-central1/resourcePolicies/far' was not found")
    for refused in (pool("spread"), pool("ring", "2x2x4")):
        google.refuses(gke.POOL, refused, "is no HIGH_THROUGHPUT policy of 2x2x")
    made = google.create(gke.POOL, pool("ring"))
    (group,) = google.fleet.groups.values()
    assert (group.atomic, group.scaling.max_nodes, group.machine.gpus) == (True, 2, 4)
    with pytest.raises(ProviderError, match="is already being used by"):
        google.delete(gke.POLICY, ring)
    google.delete(gke.POOL, made)
    google.delete(gke.POLICY, ring)


def test_more_networks_of_nodes_need_a_cluster_with_several(google: gke.Google) -> None:
    more = {"networkConfig": {"additionalNodeNetworkConfigs": [{"network": "rdma", "subnetwork": "rdma"}]}}
    google.cluster()
    google.refuses(gke.POOL, gke.gpu_pool(**more), "enable_multi_networking")


def test_a_link_into_another_project_is_another_network(google: gke.Google) -> None:
    google.network()
    with pytest.raises(ProviderError, match="projects/elsewhere/global/networks/net' was not found"):
        google.create(gke.FIREWALL, {"name": "f", "network": "projects/elsewhere/global/networks/net"})


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        (gke.SUBNETWORK, gke.subnetwork(secondaryIpRanges=[])),
        (gke.ROUTER, {"name": "r", "region": "us-central1"}),
        (gke.FIREWALL, {"name": "f"}),
    ],
)
def test_a_network_of_another_project_is_refused(google: gke.Google, kind: str, inputs: dict[str, Any]) -> None:
    link = google.create(gke.NETWORK, {"name": "net", "project": "elsewhere"}).state["selfLink"]
    google.refuses(kind, {**inputs, "network": link}, "elsewhere/global/networks/net'.*Cross-project references")


def test_a_protected_cluster_is_not_deleted(google: gke.Google) -> None:
    created = google.cluster(deletionProtection=True)
    with pytest.raises(ProviderError, match=r"^Cannot destroy cluster because deletion_protection is set to true"):
        google.delete(gke.CLUSTER, created)
    google.update(gke.CLUSTER, created, gke.cluster(deletionProtection=False))
    google.delete(gke.CLUSTER, created)
    assert google.read(gke.CLUSTER, created.id).id == ""


def test_protection_is_the_default(google: gke.Google) -> None:
    assert google.check(gke.CLUSTER, {"name": "c", "initialNodeCount": 1})["deletionProtection"] is True


def test_deletion_policies(google: gke.Google) -> None:
    abandoned = google.create(gke.NETWORK, {"name": "kept", "deletionPolicy": "ABANDON"})
    google.delete(gke.NETWORK, abandoned)
    assert google.read(gke.NETWORK, abandoned.id).id == abandoned.id
    guarded = google.create(gke.NETWORK, {"name": "guarded", "deletionPolicy": "PREVENT"})
    with pytest.raises(ProviderError, match='without setting deletion_policy="DELETE"'):
        google.delete(gke.NETWORK, guarded)


def test_subnetworks_of_one_network_must_not_overlap(google: gke.Google) -> None:
    google.network()
    with pytest.raises(ProviderError, match=r"10\.0\.8\.0/24 conflicts with existing .*'sub' \(10\.0\.0\.0/20\)"):
        google.create(gke.SUBNETWORK, gke.subnetwork(name="more", ipCidrRange="10.0.8.0/24", secondaryIpRanges=[]))


def test_an_update_keeps_the_control_plane(google: gke.Google) -> None:
    created = google.cluster()
    state = google.update(gke.CLUSTER, created, gke.cluster(resourceLabels={"team": "vision"}))
    assert state["endpoint"] == created.state["endpoint"]
    assert state["masterAuth"] == created.state["masterAuth"]
    assert state["masterAuth"]["clusterCaCertificate"] == "Q0E="
    assert state["resourceLabels"] == {"team": "vision"}


@pytest.mark.parametrize(
    ("change", "recreated"),
    [
        ({"addonsConfig": {"dnsCacheConfig": {"enabled": False}}}, True),
        ({"addonsConfig": {"dnsCacheConfig": {"enabled": True}}}, False),
        ({"enableIntranodeVisibility": True}, True),
        ({"resourceLabels": {"team": "vision"}}, False),
    ],
)
def test_google_replaces_the_nodes_of_all_pools_for_some_updates_of_a_cluster(
    google: gke.Google, change: dict[str, object], recreated: bool
) -> None:
    """NodeLocal DNSCache is on by default."""
    network, subnet = google.network()
    place = {"network": network.id, "subnetwork": subnet.id}
    created = google.create(gke.CLUSTER, gke.cluster(**place))
    google.create(gke.POOL, gke.gpu_pool())
    google.update(gke.CLUSTER, created, gke.cluster(**place, **change))
    assert google.fleet.recreated == ["t4-1"] * recreated


@pytest.mark.parametrize(
    ("config", "recreated"),
    [({"diskSizeGb": 200}, True), ({"labels": {"team": "speech"}}, False), ({"resourceLabels": {"team": "a"}}, False)],
)
def test_google_replaces_nodes_for_some_updates(google: gke.Google, config: dict[str, object], recreated: bool) -> None:
    google.cluster()
    pool = google.create(gke.POOL, gke.gpu_pool())
    google.update(gke.POOL, pool, gke.gpu_pool(nodeConfig=config))
    assert google.fleet.recreated == (["t4-1"] if recreated else [])


def test_the_preview_of_an_update_keeps_known_outputs(google: gke.Google) -> None:
    created = google.cluster()
    news = google.check(gke.CLUSTER, gke.cluster(description=None), created.inputs)
    request = google.request(gke.CLUSTER, preview=True)
    state = google.provider.update(request, created.id, Previous(created.inputs or {}, created.state), news, 0)
    assert state["masterAuth"] == created.state["masterAuth"]
    assert state["endpoint"] == created.state["endpoint"]


def test_a_preview_creates_nothing_and_knows_what_it_cannot_know(google: gke.Google) -> None:
    state = google.preview(gke.CLUSTER, gke.cluster(network=UNKNOWN, subnetwork=UNKNOWN))
    assert state["endpoint"] is UNKNOWN
    assert state["masterAuth"] is UNKNOWN
    assert state["name"] == "gpu-dev"
    assert google.read(gke.CLUSTER, gke.CLUSTER_ID).id == ""
    account = google.preview(gke.ACCOUNT, {"accountId": "gpu-dev-nodes"})
    assert account["email"] == f"gpu-dev-nodes@{gke.PROJECT}.iam.gserviceaccount.com"


def test_names_are_made_as_the_provider_makes_them(google: gke.Google) -> None:
    inputs = google.check(gke.POOL, gke.gpu_pool(name=None), name="My-Long-Pool-Name-That-Exceeds-The-Forty-Characters")
    assert len(inputs["name"]) == 40
    assert inputs["name"].startswith("my-long-pool-name-")
    assert google.check(gke.POOL, gke.gpu_pool(name=None), inputs)["name"] == inputs["name"]


def test_a_project_is_needed(tmp_path: Path) -> None:
    provider = GcpProvider(tmp_path, None)
    _, failures = provider.check(gke.Google(tmp_path).request(gke.NETWORK), {}, {"name": "net"})
    assert [(failure.property, "gcp:project" in failure.reason) for failure in failures] == [("project", True)]


def test_data_sources(google: gke.Google) -> None:
    project = google.provider.invoke("gcp:organizations/getProject:getProject", {})
    assert project["projectId"] == gke.PROJECT
    assert len(project["number"]) == 12
    zones = google.provider.invoke("gcp:compute/getZones:getZones", {"region": "us-central1"})
    assert zones["names"] == sorted(zones["names"])
    assert "us-central1-a" in zones["names"]
    versions = google.provider.invoke("gcp:container/getEngineVersions:getEngineVersions", {"versionPrefix": "1.34."})
    assert versions["latestMasterVersion"].startswith("1.34.")
    with pytest.raises(ProviderError, match="Unknown region"):
        google.provider.invoke("gcp:compute/getZones:getZones", {"region": "mars-north1"})


@pytest.mark.parametrize("key", ["labels", "resourceLabels"])
def test_taking_the_last_label_of_a_pool_away_is_a_request_that_says_nothing(google: gke.Google, key: str) -> None:
    google.cluster()
    made = google.create(gke.POOL, gke.gpu_pool(nodeConfig={key: {"team": "vision", "day": "two"}}))
    fewer = gke.gpu_pool(nodeConfig={key: {"team": "vision"}})
    google.update(gke.POOL, made, fewer)
    with pytest.raises(ProviderError, match="At least one of"):
        google.update(gke.POOL, made, gke.gpu_pool(nodeConfig={key: {}}))


def test_a_key_is_no_index() -> None:
    assert parse_path('a["0"][0].b') == ("a", "0", 0, "b")


@pytest.mark.parametrize(
    ("declared", "allowed"),
    [({}, (True, True)), ({"rbacBindingConfig": {f"{_SWITCH}Authenticated": True}}, (True, False))],
)
def test_what_a_declared_block_leaves_out_is_sent_as_zero(
    google: gke.Google, declared: Properties, allowed: tuple[bool, bool]
) -> None:
    google.network()
    cluster = google.create(gke.CLUSTER, gke.cluster(**declared))
    switches = cluster.state["rbacBindingConfig"]
    assert (switches[f"{_SWITCH}Authenticated"], switches[f"{_SWITCH}Unauthenticated"]) == allowed
    objects = json.dumps(google.fleet.clusters["gpu-dev"]["system_objects"])
    assert ("system:anonymous" in objects) is not allowed[1]
