"""A virtual network that is there already: used as it is, refused where it does not fit, and never declared."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pulumi
import pytest

from components.clouds.aks import roles
from components.settings.sections.cluster import ExistingNetwork
from components.settings.sections.workloads import Workloads
from tests import aks_answers, recorder
from tests.components import specs

CLUSTER = "azure-native:containerservice:ManagedCluster"
ID = "/subscriptions/s/resourceGroups/company/providers/Microsoft.Network/virtualNetworks/company"
SUBNET = aks_answers.VIRTUAL_NETWORK["subnets"][0]
TABLE = SUBNET["routeTable"]["id"]


def run_cluster(subnet: str = "gpu-nodes", **changes: Any) -> recorder.Recording:
    existing = ExistingNetwork.model_construct(network=ID, subnets=(subnet,))
    machine = {"machine_types": ("Standard_D2s_v5",), "image": "ubuntu", "zones": ("eastus-1",)}
    usual: dict[str, Any] = {
        "cloud": "aks",
        "project": "s",
        "region": "eastus",
        "zones": ("eastus-1",),
        "private_endpoint": True,
        "authorized_networks": (),
        "existing": existing,
        "admin_pool": specs.admin_pool(**machine, max_nodes=changes.pop("max_nodes", None)),
    }
    settings = specs.cluster_settings(**{**usual, **changes})
    return recorder.run(specs.declare_cluster(settings))


def test_the_cluster_is_in_the_subnet_which_it_may_use_and_no_network_is_made() -> None:
    recording = run_cluster()
    cluster = recording.only(CLUSTER)
    assert [pool["vnetSubnetID"] for pool in cluster.inputs["agentPoolProfiles"]] == [SUBNET["id"]]
    assert [one.type for one in recording.resources if one.type.startswith("azure-native:network:")] == []
    scoped = [one.inputs for one in recording.resources if "scope" in one.inputs]
    granted = {each["scope"]: each["roleDefinitionId"] for each in scoped}
    assert granted[SUBNET["id"]].endswith(roles.NETWORK_CONTRIBUTOR)
    assert cluster.inputs["apiServerAccessProfile"]["enablePrivateCluster"] is True


@pytest.mark.parametrize(
    ("servers", "private", "may"),
    [
        (["10.0.0.4"], True, True),
        ([], True, False),
        (["10.0.0.4"], False, False),
    ],
)
def test_a_network_with_dns_servers_of_its_own_is_linked_by_right(
    servers: list[str], private: bool, may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(aks_answers.VIRTUAL_NETWORK, "dhcpOptions", {"dnsServers": servers})
    recording = run_cluster(private_endpoint=private)
    granted = [one for one in recording.resources if one.inputs.get("scope") == ID]
    assert [one.inputs["roleDefinitionId"].rpartition("/")[2] for one in granted] == [roles.NETWORK_CONTRIBUTOR] * may
    assert {one.urn for one in granted} <= set(recording.only(CLUSTER).depends_on)


def test_the_subnets_route_table_is_changed_by_right() -> None:
    recording = run_cluster()
    (granted,) = [one for one in recording.resources if one.inputs.get("scope") == TABLE]
    assert granted.inputs["roleDefinitionId"].endswith(roles.NETWORK_CONTRIBUTOR)
    assert granted.urn in recording.only(CLUSTER).depends_on


ZONE = "/subscriptions/hub/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/privatelink.eastus.azmk8s.io"


@pytest.mark.parametrize(
    ("zone", "sent", "public"), [(None, "system", False), ("none", "none", True), (ZONE, ZONE, False)]
)
def test_the_control_planes_name_is_in_the_hubs_zone_by_right(zone: str | None, sent: str, public: bool) -> None:
    existing = ExistingNetwork.model_construct(network=ID, subnets=("gpu-nodes",), private_dns_zone=zone)
    recording = run_cluster(existing=existing)
    access = recording.only(CLUSTER).inputs["apiServerAccessProfile"]
    assert (access["privateDNSZone"], access["enablePrivateClusterPublicFQDN"]) == (sent, public)
    roles_on = {scope: [one for one in recording.resources if one.inputs.get("scope") == scope] for scope in (ZONE, ID)}
    role = "/subscriptions/hub/providers/Microsoft.Authorization/roleDefinitions/b12aa53e-6015-4669-85d0-8515ebb3ae7f"
    assert [one.inputs["roleDefinitionId"] for one in roles_on[ZONE]] == [role] * (zone == ZONE)
    # It links the zone to the network: https://learn.microsoft.com/azure/aks/private-clusters
    assert len(roles_on[ID]) == (zone == ZONE)
    assert {one.urn for each in roles_on.values() for one in each} <= set(recording.only(CLUSTER).depends_on)


@pytest.mark.parametrize(
    ("ways", "outbound"),
    [
        ({"routeTable": {"id": TABLE}}, "userDefinedRouting"),
        ({"routeTable": {"id": TABLE}, "natGateway": {"id": "n"}}, "userAssignedNATGateway"),
        ({"routeTable": None}, "loadBalancer"),
    ],
)
def test_nodes_go_out_as_the_subnet_does_and_a_cluster_keeps_its_way(
    ways: dict[str, Any], outbound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(aks_answers.VIRTUAL_NETWORK, "subnets", [{**SUBNET, **ways}])
    cluster = run_cluster().only(CLUSTER)
    assert cluster.inputs["networkProfile"]["outboundType"] == outbound
    assert "networkProfile.outboundType" in cluster.ignore_changes


ROUTES: dict[str, dict[str, str]] = {
    "none": {},
    "elsewhere": {"10.0.0.0/8": "VirtualAppliance"},
    "internet": {"0.0.0.0/0": "Internet"},
    "firewall": {"10.0.0.0/8": "None", "0.0.0.0/0": "VirtualAppliance"},
    "gateway": {"0.0.0.0/0": "VirtualNetworkGateway"},
}


@pytest.mark.parametrize(
    ("routes", "way", "words"),
    [
        ("none", {}, r"existing\.subnets: .*/routeTables/firewall, has no route for 0\.0\.0\.0/0"),
        ("elsewhere", {}, r"existing\.subnets: .*has no route for 0\.0\.0\.0/0.*Add a route for 0\.0\.0\.0/0"),
        ("internet", {}, r"existing\.subnets: .*leads 0\.0\.0\.0/0 to Internet.*VirtualAppliance"),
        ("firewall", {}, None),
        ("gateway", {}, None),
        ("none", {"natGateway": {"id": "n"}}, None),
    ],
)
def test_a_new_cluster_needs_a_default_route_that_aks_accepts(
    routes: str, way: dict[str, Any], words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_cluster: dict[str, Any] = {}
    monkeypatch.setitem(aks_answers.CALLS, "azure-native:containerservice:getManagedCluster", no_cluster)
    monkeypatch.setitem(aks_answers.VIRTUAL_NETWORK, "subnets", [{**SUBNET, **way}])
    hops = [{"addressPrefix": prefix, "nextHopType": hop} for prefix, hop in ROUTES[routes].items()]
    monkeypatch.setitem(aks_answers.ROUTE_TABLE, "routes", hops)
    if words is None:
        assert run_cluster().only(CLUSTER)
    else:
        with pytest.raises(pulumi.RunError, match=words):
            run_cluster()


def test_a_cluster_keeps_its_way_out_whatever_its_table_becomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(aks_answers.ROUTE_TABLE, "routes", [])
    assert run_cluster().only(CLUSTER)


@pytest.mark.parametrize(
    ("network", "changes", "words"),
    [
        ({"location": "westus"}, {}, r"existing\.network: the network is in westus"),
        ({}, {"subnet": "nodes"}, r"existing\.subnets: .*'nodes'.*gpu-nodes"),
        ({"subnets": []}, {}, r"existing\.subnets: .*none"),
        ({}, {"pod_cidr": "10.20.128.0/20"}, r"network\.podCidr: .*overlaps with 10\.20\.0\.0/16"),
        ({}, {"service_cidr": "10.0.0.0/8"}, r"network\.serviceCidr: .*overlaps"),
    ],
)
def test_a_network_that_does_not_fit_is_refused_before_anything_is_made(
    network: dict[str, Any], changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in network.items():
        monkeypatch.setitem(aks_answers.VIRTUAL_NETWORK, key, value)
    with pytest.raises(pulumi.RunError, match=words):
        run_cluster(**changes)


@pytest.mark.parametrize(
    ("new", "nodes", "volume", "words"),
    [
        # 3 addresses; in a new cluster one of them is the control plane's, and an upgrade adds a node.
        (True, 1, False, None),
        (True, 2, False, "room for 2 nodes, but the pools may grow to 3, 1 of them during upgrades"),
        (True, 1, True, "room for 1 node, but the pools may grow to 2"),
        # One that runs there is not refused for what it did without until now.
        (False, 3, True, None),
        (False, 4, False, "room for 3 nodes, but the pools may grow to 4"),
    ],
)
def test_a_subnet_has_room_for_all_nodes(
    new: bool, nodes: int, volume: bool, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_cluster: dict[str, Any] = {}
    if new:
        monkeypatch.setitem(aks_answers.CALLS, "azure-native:containerservice:getManagedCluster", no_cluster)
    monkeypatch.setitem(aks_answers.VIRTUAL_NETWORK, "subnets", [{**SUBNET, "addressPrefix": "10.20.0.0/29"}])
    workloads = Workloads.model_validate({"sharedVolume": {}} if volume else {})
    with nullcontext() if words is None else pytest.raises(pulumi.RunError, match=rf"existing\.subnets: .*{words}"):
        run_cluster(max_nodes=nodes, workloads=workloads)
