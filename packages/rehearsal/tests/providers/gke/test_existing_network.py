"""What is there before a stack: a network of another project, and a cluster, looked up as the program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.settings import from_stack_file
from packages.rehearsal.tests.providers.gke.account import CLUSTER, NETWORK, SUBNETWORK, Google, cluster, subnetwork
from rehearsal.engine.stack import ROOT
from rehearsal.providers.base import ProviderError
from rehearsal.providers.fixtures import create_fixtures
from rehearsal.providers.gke import GcpProvider

LOOK_UP = "gcp:compute/getSubnetwork:getSubnetwork"
HOST = "https://www.googleapis.com/compute/v1/projects/host"
NODES = {"project": "host", "region": "us-central1", "name": "sub"}
COMPANY = ROOT / "examples" / "gke-company.yaml"


@pytest.fixture
def google(tmp_path: Path) -> Google:
    google = Google(tmp_path)
    google.create(NETWORK, {"name": "net", "project": "host", "autoCreateSubnetworks": False})
    google.create(SUBNETWORK, subnetwork(project="host", network="projects/host/global/networks/net"))
    return google


def test_a_subnetwork_of_another_project_can_be_read(google: Google) -> None:
    subnetwork = google.provider.invoke(LOOK_UP, NODES)
    assert subnetwork["network"] == f"{HOST}/global/networks/net"
    assert subnetwork["selfLink"] == f"{HOST}/regions/us-central1/subnetworks/sub"
    assert subnetwork["ipCidrRange"] == "10.0.0.0/20"
    assert {each["rangeName"] for each in subnetwork["secondaryIpRanges"]} == {"pods", "services"}
    assert subnetwork["privateIpGoogleAccess"] is True


@pytest.mark.parametrize("wrong", [{"project": "other"}, {"region": "us-east1"}, {"name": "subs"}])
def test_one_that_is_not_there_is_an_error(google: Google, wrong: dict[str, str]) -> None:
    with pytest.raises(ProviderError, match="404"):
        google.provider.invoke(LOOK_UP, {**NODES, **wrong})


def test_a_cluster_is_in_another_projects_network(google: Google) -> None:
    there = {"network": f"{HOST}/global/networks/net", "subnetwork": f"{HOST}/regions/us-central1/subnetworks/sub"}
    made = google.create(CLUSTER, cluster(**there)).state
    assert made["network"] == "projects/host/global/networks/net"
    assert made["clusterIpv4Cidr"] == "10.4.0.0/14"


def test_a_network_of_its_own_project_is_not_the_hosts(google: Google) -> None:
    google.refuses(CLUSTER, cluster(), "404")


def test_what_a_stack_names_exists_before_it_runs(tmp_path: Path) -> None:
    google = Google(tmp_path)
    create_fixtures(COMPANY, google.provider)
    existing = from_stack_file(COMPANY).network.existing
    assert existing is not None
    request = {"project": "my-host-project", "region": "us-central1", "name": existing.subnets[0]}
    subnetwork = google.provider.invoke(LOOK_UP, request)
    names = {each["rangeName"] for each in subnetwork["secondaryIpRanges"]}
    assert names == {existing.pod_range, existing.service_range}


DEFAULT = "projects/demo-project/global/networks/default"


@pytest.mark.parametrize(
    "network",
    [
        {"network": "default", "subnetwork": None},
        {"network": "default", "subnetwork": "default"},
        {"network": f"https://www.googleapis.com/compute/v1/{DEFAULT}", "subnetwork": None},
    ],
)
def test_a_project_has_the_network_default(google: Google, network: dict[str, str | None]) -> None:
    named = {key: value for key, value in network.items() if value is not None}
    inputs = {key: value for key, value in cluster().items() if key not in {*network, "ipAllocationPolicy"}}
    made = google.create(CLUSTER, {**inputs, **named}).state
    assert made["network"] == DEFAULT
    assert made.get("subnetwork") in (None, "projects/demo-project/regions/us-central1/subnetworks/default")


def test_the_network_default_can_be_used_and_not_be_made_again(google: Google) -> None:
    there = google.provider.invoke(LOOK_UP, {"region": "us-central1", "name": "default"})
    assert there["network"].endswith(DEFAULT)
    with pytest.raises(ProviderError, match="409"):
        google.create(NETWORK, {"name": "default"})
    assert not [each for each in google.provider.inventory() if "demo-project/global/networks/default" in each]


@pytest.mark.parametrize("wrong", [{"region": "nowhere"}, {"name": "defaults"}])
def test_only_a_known_region_has_a_subnetwork_default(google: Google, wrong: dict[str, str]) -> None:
    with pytest.raises(ProviderError, match="404"):
        google.provider.invoke(LOOK_UP, {"region": "us-central1", "name": "default", **wrong})


CLUSTER_OF_OTHERS = ROOT / "examples" / "gke-existing-cluster.yaml"
GET_CLUSTER = "gcp:container/getCluster:getCluster"


@pytest.mark.parametrize("machines", [True, False])
def test_a_cluster_that_a_stack_names_exists_with_its_pool_and_without_machines_nobody_answers(
    tmp_path: Path, machines: bool
) -> None:
    google = Google(tmp_path)
    provider = google.provider if machines else GcpProvider(tmp_path, None)
    create_fixtures(CLUSTER_OF_OTHERS, provider)
    asked = {"project": "my-gcp-project", "location": "us-central1", "name": "research"}
    answer = provider.invoke(GET_CLUSTER, asked)
    assert [pool["name"] for pool in answer["nodePools"]] == ["default-pool"]
    assert answer["privateClusterConfigs"][0]["enablePrivateNodes"] is True
    assert (answer["endpoint"] == "127.0.0.1:9") is not machines
    assert answer["masterAuths"][0]["clusterCaCertificate"]


def test_of_a_cluster_that_another_program_makes_there_is_nothing_before(google: Google) -> None:
    create_fixtures(CLUSTER_OF_OTHERS, google.provider, with_cluster=False)
    assert not [each for each in google.provider.inventory() if "clusters/research" in each]
