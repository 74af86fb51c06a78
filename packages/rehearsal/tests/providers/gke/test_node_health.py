"""Nodes of a simulated GKE work only with rights, scopes, and a way to Google's registries."""

from __future__ import annotations

from typing import Any

import pytest

from packages.rehearsal.tests.providers.gke import account as gke
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.base import ProviderError
from rehearsal.providers.gke.cloud import project_number

EMAIL = f"gpu-dev-nodes@{gke.PROJECT}.iam.gserviceaccount.com"
MEMBER = f"serviceAccount:{EMAIL}"
NODES = {"serviceAccount": EMAIL, "machineType": "e2-standard-2"}
SCOPE = "https://www.googleapis.com/auth/"


def with_roles(google: gke.Google, *roles: str) -> None:
    google.cluster()
    google.create(gke.ACCOUNT, {"accountId": "gpu-dev-nodes"})
    for role in roles:
        google.create(gke.PROJECT_MEMBER, {"project": gke.PROJECT, "role": role, "member": MEMBER})


@cases
def test_nodes_register_with_the_role_of_nodes(google: gke.Google, roles: list[str]) -> None:
    with_roles(google, *roles)
    assert google.create(gke.POOL, gke.cpu_pool(nodeConfig=NODES)).id


@pytest.mark.parametrize("roles", [(), ("roles/artifactregistry.reader",), ("roles/logging.logWriter",)])
def test_nodes_do_not_register_without_it(google: gke.Google, roles: tuple[str, ...]) -> None:
    with_roles(google, *roles)
    # On another project it does not count.
    grant = {"project": "other", "role": "roles/container.defaultNodeServiceAccount", "member": MEMBER}
    google.create(gke.PROJECT_MEMBER, grant)
    lacks = r"only 0 nodes out of 1 have registered.* lacks roles/container\.defaultNodeServiceAccount on project demo"
    google.refuses(gke.POOL, gke.cpu_pool(nodeConfig=NODES), lacks)


def test_an_account_of_another_project_needs_more_rights(google: gke.Google) -> None:
    google.cluster()
    account = google.create(gke.ACCOUNT, {"accountId": "gpu-nodes", "project": "elsewhere"}).state["email"]
    google.create(gke.POOL, gke.gpu_pool(nodeConfig={"serviceAccount": account}))
    reason = google.fleet.groups["t4-1"].not_scaled_because
    assert "is of another project" in reason
    assert "the service agents of demo-project have roles/iam.serviceAccountTokenCreator on it" in reason


def test_a_pool_that_starts_empty_gets_no_node_and_says_why(google: gke.Google) -> None:
    with_roles(google)
    google.create(gke.POOL, gke.gpu_pool(nodeConfig={"serviceAccount": EMAIL}))
    group = google.fleet.groups["t4-1"]
    assert not group.scaling.autoscaled
    assert "lacks roles/container.defaultNodeServiceAccount" in group.not_scaled_because


@pytest.mark.parametrize(
    ("role", "enabled", "works"),
    [
        ("roles/artifactregistry.reader", True, False),
        ("roles/artifactregistry.reader", False, True),
        ("roles/serviceusage.serviceUsageConsumer", True, True),
    ],
)
def test_nodes_that_stream_images_use_its_services(google: gke.Google, role: str, enabled: bool, works: bool) -> None:
    with_roles(google, "roles/container.defaultNodeServiceAccount", role)
    google.create(gke.POOL, gke.gpu_pool(nodeConfig={"serviceAccount": EMAIL, "gcfsConfig": {"enabled": enabled}}))
    because = google.fleet.groups["t4-1"].not_scaled_because
    assert because.endswith("" if works else "lacks roles/serviceusage.serviceUsageConsumer on project demo-project")
    assert bool(because) is not works


@cases
def test_scopes_of_nodes(google: gke.Google, scopes: list[str], lacking: str) -> None:
    google.cluster()
    google.create(gke.POOL, gke.gpu_pool(nodeConfig={"oauthScopes": [SCOPE + each for each in scopes]}))
    because = google.fleet.groups["t4-1"].not_scaled_because
    assert because.endswith(lacking)
    assert bool(because) is bool(lacking)


def in_network(
    google: gke.Google, gateway: dict[str, Any] | None, *, private_access: bool, nodes: bool = True, **cluster: Any
) -> None:
    google.create(gke.NETWORK, {"name": "net", "autoCreateSubnetworks": False})
    google.create(gke.SUBNETWORK, gke.subnetwork(privateIpGoogleAccess=private_access))
    google.create(gke.ROUTER, {"name": "router", "network": "net"})
    if gateway is not None:
        google.create(gke.NAT, gke.nat(**gateway))
    google.create(gke.CLUSTER, gke.cluster(privateClusterConfig={"enablePrivateNodes": nodes}, **cluster))


@cases
def test_private_nodes_have_one_way_out_at_least(
    google: gke.Google, gateway: dict[str, Any] | None, private_access: bool, nodes: bool
) -> None:
    in_network(google, gateway, private_access=private_access, nodes=nodes)


@cases
def test_private_nodes_without_a_way_out_do_not_register(
    google: gke.Google, gateway: dict[str, Any] | None, private_access: bool, because: str
) -> None:
    with pytest.raises(ProviderError, match=f"0 nodes out of 1 have registered.*{because}"):
        in_network(google, gateway, private_access=private_access)


@pytest.mark.parametrize(
    ("network", "registers"),
    [
        (None, False),
        ({"createPodRange": False}, True),
        ({"createPodRange": False, "enablePrivateNodes": False}, True),
        ({"createPodRange": False, "enablePrivateNodes": True}, False),
    ],
)
def test_a_pool_inside_its_cluster_is_sent_as_one_of_its_own(
    google: gke.Google, network: dict[str, Any] | None, registers: bool
) -> None:
    """Public nodes need no other way out: ``enablePrivateNodes`` is sent as false where the block leaves it out."""
    pool = {"name": "inline", "nodeCount": 1, **({} if network is None else {"networkConfig": network})}
    inside = {"nodePools": [pool], "removeDefaultNodePool": False}
    if registers:
        in_network(google, None, private_access=False, **inside)
        return
    with pytest.raises(ProviderError, match="0 nodes out of 1 have registered"):
        in_network(google, None, private_access=False, **inside)


@pytest.mark.parametrize("off", ["autoUpgrade", "autoRepair"])
@pytest.mark.parametrize(("channel", "upgraded"), [("STABLE", True), ("UNSPECIFIED", False), (None, True)])
def test_pools_in_a_channel_are_upgraded(google: gke.Google, channel: str | None, upgraded: bool, off: str) -> None:
    google.cluster(**({"releaseChannel": {"channel": channel}} if channel else {}))
    if not upgraded:
        assert google.create(gke.POOL, gke.cpu_pool(management={off: False})).id
        return
    assert google.create(gke.POOL, gke.cpu_pool()).id
    words = f"Auto_upgrade and auto_repair cannot be false when release_channel {channel or 'REGULAR'} is set"
    google.refuses(gke.POOL, gke.cpu_pool(name="still", management={off: False}), words)


def test_only_a_pool_in_a_channel_stays_at_its_version_until_the_end_of_support(google: gke.Google) -> None:
    google.cluster(releaseChannel={"channel": "UNSPECIFIED"})
    assert google.create(gke.POOL, gke.cpu_pool(maintenancePolicies=[{}])).id
    excluded = {"maintenancePolicies": [{"exclusionUntilEndOfSupports": [{"enabled": True}]}]}
    google.refuses(gke.POOL, gke.cpu_pool(name="excluded", **excluded), "needs a release channel")


def test_the_metadata_server_of_gke_needs_a_workload_pool(google: gke.Google) -> None:
    google.cluster()
    with pytest.raises(ProviderError, match="GKE_METADATA needs the cluster's workload_identity_config"):
        google.create(gke.POOL, gke.cpu_pool(nodeConfig={"workloadMetadataConfig": {"mode": "GKE_METADATA"}}))


KEY = f"projects/{gke.PROJECT}/locations/us-central1/keyRings/r/cryptoKeys/k"


@pytest.mark.parametrize("agent", ["container-engine-robot", "compute-system", None])
def test_secrets_are_encrypted_with_a_key_that_the_service_agent_may_use(google: gke.Google, agent: str | None) -> None:
    if agent is not None:
        member = f"serviceAccount:service-{project_number(gke.PROJECT)}@{agent}.iam.gserviceaccount.com"
        role = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
        google.create(gke.KEY_MEMBER, {"cryptoKeyId": KEY, "role": role, "member": member})
    encrypted = {"databaseEncryption": {"state": "ENCRYPTED", "keyName": KEY}}
    if agent == "container-engine-robot":
        assert google.cluster(**encrypted).id
        return
    with pytest.raises(ProviderError, match=r"denied for serviceAccount:service-.*@container-engine-robot"):
        google.cluster(**encrypted)
