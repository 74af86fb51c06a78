"""The VPC of an EKS cluster: enough zones and addresses, one way out, no way in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from ipaddress import IPv4Network
from itertools import combinations
from typing import Any
from unittest import mock

import pulumi
import pytest

from facts import catalog
from facts.catalog.eks import subnets
from tests import eks_answers, one_stack, recorder
from tests.components import eks_specs
from tests.stacks import run_with

SUBNET = "aws:ec2/subnet:Subnet"
ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
NAT = "aws:ec2/natGateway:NatGateway"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
A, B, C = eks_specs.THREE_ZONES
D = "us-west-2d"


def network(**cluster: Any) -> recorder.Recording:
    return eks_specs.recorded(cluster=cluster)


def ways_out(recording: recorder.Recording) -> dict[str, dict[str, Any]]:
    """Name of each subnet → the inputs of its only route."""
    routes = {one.inputs["routeTableId"]: one.inputs for one in recording.of_type(ROUTE)}
    associations = recording.of_type(ASSOCIATION)
    subnets = [one.inputs["subnetId"] for one in associations]
    assert len(set(subnets)) == len(subnets)
    return {one.inputs["subnetId"].removesuffix("-id"): routes[one.inputs["routeTableId"]] for one in associations}


@pytest.mark.parametrize(
    ("zones", "whole"),
    [((A,), (A, B, C)), ((B,), (A, B, C)), ((D,), (A, B, D)), ((C, D), (A, C, D)), ((A, B, C, D), (A, B, C, D))],
)
def test_a_control_plane_spans_three_zones_at_least(zones: tuple[str, ...], whole: tuple[str, ...]) -> None:
    assert subnets.cluster_zones("us-west-2", zones) == whole


@pytest.mark.parametrize("region", catalog.of("eks").regions)
@pytest.mark.parametrize("prefix", [subnets.VPC_PREFIXES[0], subnets.VPC_PREFIXES[-1]])
def test_in_every_region_subnets_are_apart_inside_the_range_and_large_enough(region: str, prefix: int) -> None:
    zones = catalog.of("eks").regions[region]
    for chosen in (zones[:1], zones[-1:], zones):
        ranges = subnets.ranges(f"10.0.0.0/{prefix}", region, chosen)
        assert set(chosen) <= set(ranges)
        assert len(ranges) >= 2
        parts = [part for zone in ranges.values() for part in (zone.private, zone.public)]
        assert not any(one.overlaps(other) for one, other in combinations(parts, 2))
        assert all(part.subnet_of(IPv4Network(f"10.0.0.0/{prefix}")) and part.prefixlen <= 28 for part in parts)


@pytest.mark.parametrize(("before", "after"), [((A,), (A, B)), ((B,), (C, B, A)), ((A, B, C), (A,))])
def test_another_of_the_first_zones_changes_no_subnet(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    old, new = (subnets.ranges("10.0.0.0/16", "us-west-2", zones) for zones in (before, after))
    assert all(old[zone] == new[zone] for zone in old.keys() & new.keys())


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes the account's cluster one whose control plane is in these zones, by their letters; no node groups."""

    def run(letters: str) -> None:
        ids = [f"subnet-{letter}" for letter in letters]
        places = {f"subnet-{letter}": {"availabilityZone": f"us-west-2{letter}"} for letter in letters}
        answers = {
            "eks/getClusters:getClusters": {"names": ["gpu-test", "one-stack"]},
            "eks/getCluster:getCluster": {"version": "1.35", "vpcConfig": {"subnetIds": ids}},
            "eks/getNodeGroups:getNodeGroups": {"names": []},
            "ec2/getSubnet:getSubnet": lambda asked: {**asked, **places[asked["id"]]},
        }
        for name, answer in answers.items():
            monkeypatch.setitem(eks_answers.CALLS, f"aws:{name}", answer)

    return run


@pytest.mark.parametrize(
    ("letters", "zones", "private"),
    [("abc", (A,), (A, B, C)), ("abd", (A, B), (A, B, D)), ("abd", (C,), (A, B, C, D)), ("acd", (A, B), (A, B, C, D))],
)
def test_a_control_plane_stays_in_its_zones(
    letters: str, zones: tuple[str, ...], private: tuple[str, ...], running: Callable[[str], None]
) -> None:
    """EKS refuses any other set of zones: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html."""
    running(letters)
    recording = eks_specs.run(admin=eks_specs.admin_pool(zones=zones), cluster={"zones": zones})
    ids = {f"cluster-private-{zone}-id": zone for zone in private}
    declared = recording.only("aws:eks/cluster:Cluster").inputs["vpcConfig"]["subnetIds"]
    assert [ids[each][-1] for each in declared] == list(letters)
    assert {one.name for one in recording.of_type(SUBNET) if "private" in one.name} == {each[:-3] for each in ids}


def test_a_zone_that_would_move_the_subnets_of_a_running_cluster_is_refused(running: Callable[[str], None]) -> None:
    running("abc")
    with pytest.raises(pulumi.RunError, match=r"^zones: with us-west-2d .*among us-west-2a, us-west-2b, us-west-2c"):
        eks_specs.run(admin=eks_specs.admin_pool(zones=(A, D)), cluster={"zones": (A, D)})


T4 = {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2}


def stack(*pool_zones: str, deployed: recorder.Recording | None = None, **changes: Any) -> recorder.Recording:
    """A stack of one zone whose pools are in these."""
    pools = [{**T4, "name": f"t4{zone[-1]}", "zones": [zone]} for zone in pool_zones]
    config = one_stack.config("eks", zones=[A], gpuPools=pools, cpuPools=[], adminPool={}, **changes)
    return run_with(config, "one", deployed=deployed)


def private_subnets(recording: recorder.Recording) -> dict[str, str]:
    """Zone → range."""
    subnets = [one.inputs for one in recording.of_type(SUBNET) if "-private-" in one.name]
    return {each["availabilityZone"]: each["cidrBlock"] for each in subnets}


@pytest.mark.parametrize("autoscaler", ["karpenter", "cluster-autoscaler"])
@pytest.mark.parametrize(("zone", "spans"), [(A, (A, B, C)), (C, (A, B, C)), (D, (A, B, C, D))])
def test_a_pool_has_a_subnet_in_each_of_its_zones(autoscaler: str, zone: str, spans: tuple[str, ...]) -> None:
    recording = stack(zone, autoscaling={"autoscaler": autoscaler})
    assert tuple(sorted(private_subnets(recording))) == spans
    own = f"cluster-private-{zone}-id"
    if autoscaler == "karpenter":
        (node_class,) = (one for one in recording.resources if one.name == "autoscaler-t4" + zone[-1] + "-1")
        assert {"id": own} in node_class.inputs["spec"]["subnetSelectorTerms"]
    else:
        assert recording.named(f"t4{zone[-1]}-1-pool").inputs["subnetIds"] == [own]
    routes = ways_out(recording)
    assert {f"cluster-private-{each}" for each in spans} <= routes.keys()


H100: dict[str, Any] = {"name": "h100", "gpu": "nvidia-h100-80gb", "gpusPerNode": 8, "maxNodes": 2}
RESERVED: dict[str, Any] = {**H100, "capacity": ["reserved", "spot"]}
ZONE_KEYS: dict[str, Callable[[str], dict[str, Any]]] = {
    "zones": lambda zone: {"zones": [zone]},
    "gpuPools[].zones": lambda zone: {"gpuPools": [{**H100, "zones": [zone]}]},
    "gpuPools[].reservation.zone": lambda zone: {
        "gpuPools": [{**RESERVED, "reservation": {"name": "cr-0123456789abcdef0", "zone": zone}}]
    },
    "cpuPools[].zones": lambda zone: {"cpuPools": [{"name": "web", "maxNodes": 2, "zones": [zone]}]},
}
"""Each key that names a zone for nodes → a stack in which it names ``zone``."""
POOLS = ("aws:eks/nodeGroup:NodeGroup", "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")


@pytest.mark.parametrize("autoscaler", ["karpenter", "cluster-autoscaler"])
@pytest.mark.parametrize(("one", "other"), [*combinations(ZONE_KEYS, 2)])
@pytest.mark.parametrize(("first", "second"), [(A, D), (D, A)])
def test_nodes_have_a_subnet_wherever_a_key_says_so(
    autoscaler: str, one: str, other: str, first: str, second: str
) -> None:
    usual = {"zones": [A], "gpuPools": [H100], "cpuPools": [], "autoscaling": {"autoscaler": autoscaler}}
    # A pool of the second key takes the place of one of the first.
    written = {**usual, **ZONE_KEYS[one](first), **ZONE_KEYS[other](second)}
    recording = run_with(one_stack.config("eks", **written), "one")
    subnet_of = {f"cluster-private-{zone}-id": zone for zone in private_subnets(recording)}
    used = [each.inputs.get("subnetIds") or each.inputs["spec"]["subnetSelectorTerms"] for each in of_pools(recording)]
    zones = {subnet_of[each["id"] if isinstance(each, dict) else each] for subnets in used for each in subnets}
    assert second in zones
    assert {*subnet_of.values()} >= {first, second} - ({first} if other.startswith(one.partition(".")[0]) else set())


def of_pools(recording: recorder.Recording) -> list[recorder.Registration]:
    return [each for kind in POOLS for each in recording.of_type(kind)]


def test_a_zone_of_nodes_alone_is_none_of_the_control_planes() -> None:
    """AWS has zones without control planes: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html."""
    planes = stack(D).only("aws:eks/cluster:Cluster").inputs["vpcConfig"]["subnetIds"]
    assert planes == [f"cluster-private-{zone}-id" for zone in (A, B, C)]


def test_a_shared_volume_is_mounted_in_the_zones_of_pools_too() -> None:
    recording = stack(D, workloads={"sharedVolume": {}})
    targets = {one.inputs["subnetId"] for one in recording.of_type("aws:efs/mountTarget:MountTarget")}
    assert targets == {f"cluster-private-{zone}-id" for zone in (A, D)}


def test_no_update_changes_a_subnet_for_a_pools_zone(running: Callable[[str], None]) -> None:
    first, with_d = stack(A), stack(A, D)
    running("abc")
    # Made with D, the cluster keeps these subnets, with the pool and without it.
    for after in (stack(A, D, deployed=with_d), stack(A, deployed=with_d)):
        assert private_subnets(after) == private_subnets(with_d)
    # One of the first three zones has a part already.
    assert private_subnets(stack(A, C, deployed=first)) == private_subnets(first)
    with pytest.raises(pulumi.RunError, match=r"^gpuPools\[1\]\.zones: with us-west-2d .*among us-west-2a, us-west-2b"):
        stack(A, D, deployed=first)


@pytest.mark.parametrize("other", ["10.1.0.0/16", "10.0.0.0/17", "10.0.0.0/16"])
def test_a_running_cluster_stays_in_its_range(other: str, running: Callable[[str], None]) -> None:
    """Its subnets have to be in the VPC of its creation: https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html."""
    network: dict[str, Any] = one_stack.config("eks")["gpucluster:network"]
    first = stack(A, network={**network, "nodeCidr": "10.0.0.0/16"})
    # A first update that made the network and no cluster may be repeated with another one.
    stack(A, network={**network, "nodeCidr": other}, deployed=first)
    running("abc")
    refused = other != "10.0.0.0/16"
    words = r"network\.nodeCidr: .* is in 10\.0\.0\.0/16.*Write nodeCidr: 10\.0\.0\.0/16"
    with pytest.raises(pulumi.RunError, match=words) if refused else nullcontext():
        stack(A, network={**network, "nodeCidr": other}, deployed=first)


def test_a_deployed_pool_without_a_subnet_stays_with_a_warning(running: Callable[[str], None]) -> None:
    """The first version of the program made such pools with Karpenter, and no node of them ever started."""
    first, name = stack(A), "t4d-1-pool"
    pool = stack(D).named(name)
    released = recorder.Recording([*first.resources, pool])
    released.states = {**first.states, pool.urn: pool.inputs}
    running("abc")
    with mock.patch("pulumi.warn") as warn:
        updated = stack(A, D, deployed=released)
    assert private_subnets(updated) == private_subnets(first)
    assert updated.named(name).inputs["spec"] == pool.inputs["spec"]
    assert "pool t4d-1 gets no node in us-west-2d" in " ".join(call.args[0] for call in warn.call_args_list)


@pytest.mark.parametrize(
    ("per_zone", "zones", "gateways"),
    [(False, (A,), {A}), (False, (A, B, C), {A}), (True, (A, B, C), {A, B, C}), (True, (B, C), {B, C})],
)
def test_gateways_are_one_or_one_per_zone(per_zone: bool, zones: tuple[str, ...], gateways: set[str]) -> None:
    recording = network(nat_per_zone=per_zone, zones=zones)
    subnets = [one.inputs["subnetId"].removesuffix("-id") for one in recording.of_type(NAT)]
    placed = {each.removeprefix("cluster-public-") for each in subnets}
    assert placed == gateways
    for subnet, route in ways_out(recording).items():
        zone = subnet.rpartition("-us-west-2")[2]
        if "-private-" in subnet:
            through = f"us-west-2{zone}" if f"us-west-2{zone}" in gateways else zones[0]
            assert route["natGatewayId"] == f"cluster-nat-{through}-id"
            assert "gatewayId" not in route
        else:
            assert route["gatewayId"] == "cluster-internet-gateway-id"


@pytest.mark.parametrize("per_zone", [False, True])
def test_public_subnets_are_for_gateways_alone(per_zone: bool) -> None:
    recording = network(nat_per_zone=per_zone, zones=eks_specs.THREE_ZONES)
    public = {f"{one.name}-id" for one in recording.of_type(SUBNET) if "-public-" in one.name}
    assert public == {one.inputs["subnetId"] for one in recording.of_type(NAT)}
    assert not public & set(recording.only("aws:eks/cluster:Cluster").inputs["vpcConfig"]["subnetIds"])


def test_internal_load_balancers_find_the_private_subnets_only() -> None:
    # https://docs.aws.amazon.com/eks/latest/userguide/network-load-balancing.html
    internal = "kubernetes.io/role/internal-elb"
    tagged = {one.name for one in network().of_type(SUBNET) if one.inputs["tags"].get(internal)}
    assert tagged == {one.name for one in network().of_type(SUBNET) if "-private-" in one.name}


def test_no_machine_gets_a_public_address_by_itself() -> None:
    assert {one.inputs["mapPublicIpOnLaunch"] for one in network().of_type(SUBNET)} == {False}


def test_whatever_names_no_security_group_is_shut_in() -> None:
    default = network().only("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup").inputs
    assert (default["ingress"], default["egress"]) == ([], [])


def test_images_do_not_go_through_the_gateway_and_no_endpoint_costs_while_idle() -> None:
    """An endpoint of the kind Gateway is free, and the layers of ECR's images come from S3; others are billed by the
    hour and zone (https://aws.amazon.com/privatelink/pricing)."""
    recording = network(zones=(A, B))
    (endpoint,) = recording.of_type(ENDPOINT)
    assert endpoint.inputs["serviceName"] == "com.amazonaws.us-west-2.s3"
    assert endpoint.inputs["vpcEndpointType"] == "Gateway"
    tables = {f"{one.name}-id" for one in recording.of_type("aws:ec2/routeTable:RouteTable") if "private" in one.name}
    assert set(endpoint.inputs["routeTableIds"]) == tables


def test_public_addresses_go_before_the_door_they_are_behind() -> None:
    """An address that nothing uses may stay: https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html."""
    recording = network()
    door = recording.only("aws:ec2/internetGateway:InternetGateway").urn
    assert all(door in recording.before(one) for one in recording.of_type(NAT))


def test_everything_carries_the_stacks_labels() -> None:
    for one in network(zones=eks_specs.THREE_ZONES).resources:
        if "tags" in one.inputs:
            assert one.inputs["tags"]["team"] == "ml", one.name
