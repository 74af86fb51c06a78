"""A VPC that is there already: used as it is, refused where it does not fit, and never declared."""

from __future__ import annotations

from typing import Any

import grpc
import pulumi
import pytest

from components.settings.sections.cluster import ExistingNetwork
from tests import eks_answers, recorder
from tests.components import eks_specs

CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
VPC = "vpc-0000000a"
SUBNETS = tuple(eks_answers.SUBNETS)
MAIN = next(iter(eks_answers.ROUTE_TABLES))
ZONES = ("us-west-2a", "us-west-2b")


def run_cluster(
    *, subnets: tuple[str, ...] = SUBNETS, maximum: int | None = None, **changes: Any
) -> recorder.Recording:
    existing = ExistingNetwork.model_construct(network=VPC, subnets=subnets)
    usual: dict[str, Any] = {"zones": ZONES, "existing": existing, "node_cidr": ""}
    admin = eks_specs.admin_pool(zones=ZONES, max_nodes=maximum)
    pools = (eks_specs.gpu_pool(),) if maximum is None else ()
    return eks_specs.run(*pools, admin=admin, cluster={**usual, **changes})


@pytest.fixture
def a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(eks_answers.CALLS, "aws:eks/getClusters:getClusters", {"names": ["gpu-test"]})
    monkeypatch.setitem(eks_answers.CALLS, "aws:eks/getNodeGroups:getNodeGroups", {"names": []})


def test_control_plane_and_nodes_are_in_the_subnets_and_no_network_is_made() -> None:
    recording = run_cluster()
    assert recording.only(CLUSTER).inputs["vpcConfig"]["subnetIds"] == list(SUBNETS)
    groups = {one.inputs["nodeGroupName"]: one.inputs["subnetIds"] for one in recording.of_type(NODE_GROUP)}
    assert groups == {"admin": list(SUBNETS[:2]), "t4-1-a": [SUBNETS[0]]}
    made = {one.type for one in recording.resources if one.type.startswith("aws:ec2/")}
    assert made == {"aws:ec2/launchTemplate:LaunchTemplate"}
    assert "aws:ec2/getSubnets:getSubnets" not in recording.calls


def test_karpenters_nodes_are_in_the_subnets_of_the_stacks_zones() -> None:
    recording = run_cluster(autoscaler="karpenter")
    (node_class,) = (one for one in recording.resources if one.type.endswith(":EC2NodeClass"))
    assert node_class.inputs["spec"]["subnetSelectorTerms"] == [{"id": id} for id in SUBNETS[:2]]


def test_a_new_cluster_may_be_private_and_admits_its_network(monkeypatch: pytest.MonkeyPatch) -> None:
    more = [*eks_answers.VPC["cidrBlockAssociations"], {"cidrBlock": "100.64.0.0/16", "state": "associated"}]
    disassociated = {"cidrBlock": "100.65.0.0/16", "state": "disassociated"}
    monkeypatch.setitem(eks_answers.VPC, "cidrBlockAssociations", [*more, disassociated])
    recording = run_cluster(private_endpoint=True, authorized_networks=())
    (group,) = recording.of_type("aws:ec2/securityGroup:SecurityGroup")
    access = recording.only(CLUSTER).inputs["vpcConfig"]
    assert (access["endpointPublicAccess"], access["securityGroupIds"]) == (False, [f"{group.name}-id"])
    assert [rule["cidrBlocks"] for rule in group.inputs["ingress"]] == [["10.20.0.0/16"], ["100.64.0.0/16"]]


@pytest.mark.parametrize(
    ("vpc", "words"),
    [
        (
            {"enableDnsSupport": False},
            r"existing\.network: vpc-0000000a has enableDnsSupport off.*modify-vpc-attribute",
        ),
        (
            {"enableDnsHostnames": False},
            r"existing\.network: vpc-0000000a has enableDnsHostnames off.*modify-vpc-attribute",
        ),
        ({"cidrBlock": "172.20.0.0/20"}, r"network\.serviceCidr: 172\.20\.0\.0/16 overlaps with 172\.20\.0\.0/20"),
    ],
)
def test_a_vpc_that_does_not_fit_is_refused(vpc: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in vpc.items():
        monkeypatch.setitem(eks_answers.VPC, key, value)
    with pytest.raises(pulumi.RunError, match=words):
        run_cluster()


@pytest.mark.parametrize(
    ("number", "facts", "words"),
    [
        (1, {}, "no subnet is in us-west-2b.*; they are in us-west-2a"),
        (2, {"vpcId": "vpc-0000000b"}, "subnet-0000000a .*is in vpc-0000000b, not in vpc-0000000a"),
        (2, {"availabilityZone": "us-west-2b"}, "subnet-0000000a .* and subnet-0000000b .* are both in us-west-2b"),
    ],
)
def test_subnets_have_to_fit(number: int, facts: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in facts.items():
        monkeypatch.setitem(eks_answers.SUBNETS[SUBNETS[0]], key, value)
    with pytest.raises(pulumi.RunError, match=rf"network\.existing\.subnets: .*{words}"):
        run_cluster(subnets=SUBNETS[:number])


def test_a_control_plane_wants_two_zones_also_for_nodes_in_one() -> None:
    with pytest.raises(pulumi.RunError, match=r"all subnets are in us-west-2a, but a control plane needs two zones"):
        run_cluster(subnets=SUBNETS[:1], zones=ZONES[:1])
    assert run_cluster(subnets=SUBNETS[:2], zones=ZONES[:1]).only(CLUSTER)


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ([], "no route to 0.0.0.0/0"),
        ([{"cidrBlock": "10.0.0.0/8", "transitGatewayId": "tgw-0000000a"}], "no route to 0.0.0.0/0"),
        ([{"cidrBlock": "0.0.0.0/0", "gatewayId": "igw-0000000a"}], "is public: its default route is igw-0000000a"),
        ([eks_answers.OUT], ""),
        ([{"cidrBlock": "0.0.0.0/0", "transitGatewayId": "tgw-0000000a"}], ""),
        ([{"cidrBlock": "0.0.0.0/0", "gatewayId": "vgw-0000000a"}], ""),
        ([{"cidrBlock": "0.0.0.0/0", "vpcEndpointId": "vpce-0000000a"}], ""),
    ],
)
@pytest.mark.parametrize("explicit", [False, True])
def test_every_subnet_has_a_way_out_by_its_own_table_or_the_vpcs(
    routes: list[dict[str, str]], words: str, explicit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if explicit:
        its = {"associations": [{"main": False, "subnetId": SUBNETS[1]}], "routes": routes}
        monkeypatch.setitem(eks_answers.ROUTE_TABLES, "rtb-0000000c", its)
    else:
        monkeypatch.setitem(eks_answers.ROUTE_TABLES[MAIN], "routes", routes)
    if not words:
        assert run_cluster().only(CLUSTER)
        return
    with pytest.raises(pulumi.RunError, match=words) as refused:
        run_cluster()
    named = [id for id in SUBNETS if f"existing.subnets: {id} " in str(refused.value)]
    assert named == (list(SUBNETS[1:2]) if explicit else list(SUBNETS))


NODE = 256
"""Addresses of a node with its pods."""


@pytest.mark.parametrize(
    ("free", "maximum", "fits"), [(2 * NODE, 3, True), (2 * NODE - 1, 3, False), (2 * NODE, 4, False)]
)
def test_a_new_cluster_has_free_addresses_for_its_pools_at_their_maximum(
    free: int, maximum: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All but the one that the other zone always has may be in one zone.
    for subnet in eks_answers.SUBNETS.values():
        monkeypatch.setitem(subnet, "availableIpAddressCount", free)
    if fits:
        assert run_cluster(maximum=maximum).only(CLUSTER)
    else:
        with pytest.raises(pulumi.RunError, match=r"'subnet-0000000a' .* room for \d nodes?, but the pools may grow"):
            run_cluster(maximum=maximum)


@pytest.mark.usefixtures("a_cluster")
def test_later_its_own_nodes_have_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(eks_answers.SUBNETS[SUBNETS[0]], "availableIpAddressCount", 3)
    assert run_cluster(maximum=9).only(CLUSTER)


@pytest.mark.usefixtures("a_cluster")
def test_a_control_plane_stays_in_the_zones_of_its_subnets() -> None:
    with pytest.raises(pulumi.RunError, match="no subnet is in us-west-2c, where the control plane is"):
        run_cluster(subnets=SUBNETS[:2])


def test_load_balancers_are_told_which_tags_they_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr("pulumi.warn", lambda message, *_: warnings.append(message))
    run_cluster(addons=("load-balancer",))
    assert warnings == []
    monkeypatch.setitem(eks_answers.SUBNETS[SUBNETS[1]], "tags", None)
    monkeypatch.setitem(eks_answers.CALLS, "aws:ec2/getSubnets:getSubnets", {"ids": ["subnet-0000001a"]})
    run_cluster(addons=("load-balancer",))
    internal, public = warnings
    assert SUBNETS[1] in internal
    assert SUBNETS[0] not in internal
    assert "in 1 zone of" in public


def test_a_network_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class AbsentError(grpc.RpcError):
        def code(self) -> grpc.StatusCode:
            return grpc.StatusCode.UNKNOWN

        def details(self) -> str:
            return "no matching EC2 VPC found"

    def absent(asked: Any) -> Any:
        raise AbsentError

    monkeypatch.setitem(eks_answers.CALLS, "aws:ec2/getVpc:getVpc", absent)
    with pytest.raises(pulumi.RunError, match=r"network\.existing\.network: 'vpc-0000000a': .*no matching EC2 VPC"):
        run_cluster()
