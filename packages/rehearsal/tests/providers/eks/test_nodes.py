"""What EKS makes of node groups: machines, labels, tags, and what it refuses once they exist."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from components.clouds.eks.node_template import divided_gpus
from facts.catalog import of
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Gpus
from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.base import Created, Properties, ProviderError
from rehearsal.providers.eks import node_pool
from rehearsal.providers.eks.functions import get_scaling_group
from rehearsal.providers.eks.nodes import declared_groups, is_leaving


def asg_of(amazon: eks.Amazon, group: Created) -> dict[str, Any]:
    name = group.state["resources"][0]["autoscalingGroups"][0]["name"]
    answer = amazon.account.call("autoscaling", "DescribeAutoScalingGroups", AutoScalingGroupNames=[name])
    scaling_group: dict[str, Any] = answer["AutoScalingGroups"][0]
    return scaling_group


def test_a_node_groups_tags_stay_off_its_auto_scaling_group(amazon: eks.Amazon) -> None:
    amazon.cluster()
    tags = {tag["Key"]: tag["Value"] for tag in asg_of(amazon, amazon.node_group())["Tags"]}
    assert "cost" not in tags
    assert tags["eks:nodegroup-name"] == "t4-1"
    assert tags["k8s.io/cluster-autoscaler/gpu-dev"] == "owned"
    assert tags["k8s.io/cluster-autoscaler/enabled"] == "true"


def test_a_declared_tag_is_on_the_auto_scaling_group(amazon: eks.Amazon) -> None:
    amazon.cluster()
    group = amazon.node_group()
    asg = asg_of(amazon, group)["AutoScalingGroupName"]
    tag = {"key": "k8s.io/cluster-autoscaler/node-template/label/team", "value": "a", "propagateAtLaunch": False}
    created = amazon.create(eks.ASG_TAG, {"autoscalingGroupName": asg, "tag": tag})
    amazon.update(eks.ASG_TAG, created, {"autoscalingGroupName": asg, "tag": {**tag, "value": "b"}})
    assert {each["Key"]: each["Value"] for each in asg_of(amazon, group)["Tags"]}[tag["key"]] == "b"
    amazon.refuses(eks.ASG_TAG, {"autoscalingGroupName": "eks-none", "tag": tag}, "not found")
    # The tag goes with its group; deleting it afterwards is no error.
    amazon.delete(eks.NODE_GROUP, group)
    amazon.delete(eks.ASG_TAG, created)


def test_a_gpu_node_has_what_was_declared_and_eks_labels(amazon: eks.Amazon) -> None:
    amazon.cluster()
    amazon.node_group()
    (group,) = declared_groups(amazon.account)
    machine, catalogued = group.base.machine, of("eks").machines.get("g4dn.xlarge")
    assert catalogued is not None
    assert (group.base.nodes.machine_type, machine.gpus, machine.cpu) == ("g4dn.xlarge", 1, catalogued.vcpus)
    allocatable = of("eks").nodes.allocatable(catalogued)
    assert machine.reserved_milli_cpu == 1000 * catalogued.vcpus - allocatable.milli_cpu
    assert group.base.nodes.taints == (Taint("nvidia.com/gpu", "present", "NoSchedule"),)
    assert group.base.nodes.labels["eks.amazonaws.com/nodegroup"] == "t4-1"
    assert group.base.nodes.labels["eks.amazonaws.com/capacityType"] == "SPOT"
    assert group.base.nodes.labels["node.kubernetes.io/instance-type"] == "g4dn.xlarge"
    assert group.base.nodes.labels["team"] == "vision"
    assert group.base.nodes.zones == ("us-west-2a", "us-west-2b", "us-west-2c")
    assert group.base.scaling.spot
    assert not group.base.scaling.autoscaled
    assert (group.min_size, group.max_size, group.desired) == (0, 4, 0)
    assert (dict(group.labels), dict(group.nodegroup_tags)) == ({"team": "vision"}, {"cost": "research"})


def test_no_gpu_taint_unless_it_is_declared(amazon: eks.Amazon) -> None:
    amazon.cluster()
    amazon.node_group(taints=[])
    assert declared_groups(amazon.account)[0].base.nodes.taints == ()


@cases
def test_who_advertises_the_gpus_is_the_images_doing(amazon: eks.Amazon, ami: str, types: list[str], by: str) -> None:
    amazon.cluster()
    amazon.node_group(amiType=ami, instanceTypes=types)
    assert declared_groups(amazon.account)[0].base.gpus_advertised_by == by


def test_a_node_has_the_slices_that_bottlerockets_settings_make(amazon: eks.Amazon) -> None:
    amazon.cluster()
    gpus = Gpus(type="nvidia-a100-40gb", accelerator="", per_node=8, mig="1g")
    data = base64.b64encode(divided_gpus(gpus).encode()).decode()
    made = amazon.create(eks.TEMPLATE, {"name": "gpu", "userData": data})
    of_template = {"instanceTypes": ["p4d.24xlarge"], "launchTemplate": {"id": made.id, "version": "1"}}
    archive = b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n--//\n\nx\n--//--\n'
    mime = amazon.create(eks.TEMPLATE, {"name": "mime", "userData": base64.b64encode(archive).decode()}, "mime")
    merged = {**of_template, "launchTemplate": {"id": mime.id, "version": "1"}}
    amazon.node_group(nodeGroupName="other-image", amiType="AL2023_x86_64_NVIDIA", **merged)
    amazon.node_group(amiType="BOTTLEROCKET_x86_64_NVIDIA", **of_template)
    offered = {group.base.name: group.base.gpus for group in declared_groups(amazon.account)}
    assert offered == {"other-image": 8, "t4-1": 56}


def test_a_group_with_nodes_gets_them_at_once(amazon: eks.Amazon) -> None:
    amazon.cluster()
    amazon.admin_group()
    assert amazon.fleet.groups["admin"].scaling.min_nodes == 2
    assert len(asg_of(amazon, amazon.made[-1][1])["Instances"]) == 2


def test_a_group_changes_in_place(amazon: eks.Amazon) -> None:
    amazon.cluster()
    group = amazon.node_group()
    changed = amazon.group_inputs(
        labels={"team": "speech"},
        taints=[{"key": "nvidia.com/gpu", "value": "yes", "effect": "NO_SCHEDULE"}],
        scalingConfig={"minSize": 1, "maxSize": 6, "desiredSize": 1},
        tags={"cost": "sales"},
    )
    state = amazon.update(eks.NODE_GROUP, group, changed)
    assert state["labels"] == {"team": "speech"}
    answer = amazon.account.call("eks", "DescribeNodegroup", clusterName="gpu-dev", nodegroupName="t4-1")
    described = answer["nodegroup"]
    assert (described["labels"], described["tags"]) == ({"team": "speech"}, {"cost": "sales"})
    assert [taint["value"] for taint in described["taints"]] == ["yes"]
    asg = asg_of(amazon, group)
    assert (asg["MinSize"], asg["MaxSize"], asg["DesiredCapacity"]) == (1, 6, 1)
    assert amazon.fleet.groups["t4-1"].nodes.labels["team"] == "speech"
    amazon.delete(eks.NODE_GROUP, group)


def test_a_refresh_sees_the_size_that_the_group_has(amazon: eks.Amazon) -> None:
    amazon.cluster()
    group = amazon.node_group()
    name = asg_of(amazon, group)["AutoScalingGroupName"]
    amazon.account.call("autoscaling", "SetDesiredCapacity", AutoScalingGroupName=name, DesiredCapacity=3)
    refreshed = amazon.read(eks.NODE_GROUP, group.id, group.inputs).inputs
    assert refreshed is not None
    assert refreshed["scalingConfig"]["desiredSize"] == 3


def test_machines_that_do_not_leave_keep_the_group(amazon: eks.Amazon) -> None:
    amazon.cluster()
    group = amazon.admin_group()
    amazon.fleet.fail = "delete_group"
    with pytest.raises(ProviderError, match=r"waiting for EKS Node Group \(gpu-dev:admin\) delete: no machines left"):
        amazon.delete(eks.NODE_GROUP, group)
    assert is_leaving(amazon.account, "gpu-dev", "admin")
    amazon.fleet.fail = ""
    amazon.delete(eks.NODE_GROUP, group)
    assert amazon.read(eks.NODE_GROUP, group.id, group.inputs).id == ""


def test_a_scaling_group_is_in_the_zones_of_its_subnets(amazon: eks.Amazon) -> None:
    amazon.cluster()
    made = amazon.create(eks.NODE_GROUP, eks.gpu_group(amazon.subnets()[1:2]))
    asked = {"name": made.state["resources"][0]["autoscalingGroups"][0]["name"]}
    assert get_scaling_group(amazon.account, asked)["availabilityZones"] == ["us-west-2b"]


def test_a_new_version_of_a_launch_template(amazon: eks.Amazon) -> None:
    inputs = {"name": "gpu", "updateDefaultVersion": True, "metadataOptions": {"httpTokens": "optional"}}
    template = amazon.create(eks.TEMPLATE, inputs)
    assert template.state["latestVersion"] == 1
    hardened = {**inputs, "metadataOptions": {"httpTokens": "required"}}
    preview = amazon.update(eks.TEMPLATE, template, hardened, preview=True)
    assert repr(preview["latestVersion"]) == "UNKNOWN"
    state = amazon.update(eks.TEMPLATE, template, hardened)
    assert (state["latestVersion"], state["defaultVersion"]) == (2, 2)
    answer = amazon.account.call("ec2", "DescribeLaunchTemplateVersions", LaunchTemplateId=template.id, Versions=["2"])
    data = answer["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    assert data["MetadataOptions"]["HttpTokens"] == "required"


@pytest.mark.parametrize(
    ("change", "planned", "latest"),
    [({"tags": {"a": "b"}}, "UNKNOWN", 1), ({"description": "GPUs"}, "1", 2), ({"updateDefaultVersion": True}, "1", 1)],
)
def test_a_preview_of_a_launch_template_does_not_foresee_every_version(
    amazon: eks.Amazon, change: Properties, planned: str, latest: int
) -> None:
    template = amazon.create(eks.TEMPLATE, {"name": "gpu"})
    changed = {"name": "gpu", **change}
    assert repr(amazon.update(eks.TEMPLATE, template, changed, preview=True)["latestVersion"]) == planned
    assert amazon.update(eks.TEMPLATE, template, changed)["latestVersion"] == latest


def test_eks_replaces_the_nodes_of_a_group_that_gets_another_template_or_version(amazon: eks.Amazon) -> None:
    amazon.cluster()
    template = amazon.create(eks.TEMPLATE, {"name": "gpu", "metadataOptions": {"httpTokens": "optional"}})
    amazon.update(eks.TEMPLATE, template, {"name": "gpu", "metadataOptions": {"httpTokens": "required"}})
    at_first = amazon.group_inputs(launchTemplate={"id": template.id, "version": "1"})
    group = amazon.create(eks.NODE_GROUP, at_first)
    amazon.update(eks.NODE_GROUP, group, {**at_first, "labels": {"team": "speech"}, "tags": {"cost": "sales"}})
    assert amazon.fleet.recreated == []
    later = {**at_first, "launchTemplate": {"id": template.id, "version": "2"}}
    amazon.update(eks.NODE_GROUP, group, later)
    assert amazon.fleet.recreated == ["t4-1"]
    refreshed = amazon.read(eks.NODE_GROUP, group.id, at_first)
    amazon.update(eks.NODE_GROUP, refreshed, {**later, "labels": {"team": "speech"}})
    assert amazon.fleet.recreated == ["t4-1"]
    # A state that has the former version, because somebody else updated the group: the request is sent once more.
    amazon.update(eks.NODE_GROUP, group, later)
    assert amazon.fleet.recreated == ["t4-1", "t4-1"]


def test_a_cluster_has_as_many_groups_as_an_account_may(amazon: eks.Amazon, monkeypatch: pytest.MonkeyPatch) -> None:
    assert node_pool.GROUPS_PER_CLUSTER == 30
    monkeypatch.setattr(node_pool, "GROUPS_PER_CLUSTER", 2)  # thirty take a minute
    amazon.cluster()
    amazon.admin_group()
    first = amazon.node_group()
    with pytest.raises(ProviderError, match="ResourceLimitExceededException"):
        amazon.node_group(nodeGroupName="one-more")
    amazon.update(eks.NODE_GROUP, first, amazon.group_inputs(labels={"team": "speech"}))
    amazon.delete(eks.NODE_GROUP, first)
    amazon.node_group(nodeGroupName="one-more")


def test_a_gateway_needs_the_internet_and_keeps_it(amazon: eks.Amazon) -> None:
    vpc = amazon.create(eks.VPC, {"cidrBlock": "10.0.0.0/16"})
    inner = amazon.create(eks.SUBNET, eks.subnet(vpc.id))
    address = amazon.create("aws:ec2/eip:Eip", {})
    inputs = {"subnetId": inner.id, "allocationId": address.id}
    amazon.refuses(eks.NAT, inputs, r"Gateway\.NotAttached")
    internet = amazon.create(eks.INTERNET_GATEWAY, {"vpcId": vpc.id})
    gateway = amazon.create(eks.NAT, inputs)
    with pytest.raises(ProviderError, match="mapped public address"):
        amazon.delete(eks.INTERNET_GATEWAY, internet)
    amazon.delete(eks.NAT, gateway)
    amazon.delete(eks.INTERNET_GATEWAY, internet)


@cases
def test_a_group_refers_to_what_exists(amazon: eks.Amazon, changes: Properties, message: str) -> None:
    amazon.cluster()
    with pytest.raises(ProviderError, match=message):
        amazon.node_group(**changes)


BLOCK: Properties = {"capacityType": "CAPACITY_BLOCK", "instanceTypes": ["p5.48xlarge"]}
RESERVED: Properties = {
    "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}}
}


def test_a_group_of_a_block_names_it_in_its_template(amazon: eks.Amazon) -> None:
    amazon.cluster()
    block = {**RESERVED, "instanceMarketOptions": {"marketType": "capacity-block"}}
    made = amazon.create(eks.TEMPLATE, {"name": "gpu", **block})
    assert amazon.node_group(launchTemplate={"id": made.id, "version": "1"}, **BLOCK).id
    # As https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html makes one.
    typed = amazon.create(eks.TEMPLATE, {"name": "typed", "instanceType": "p5.48xlarge", **block}, "typed")
    by_template = {"launchTemplate": {"id": typed.id, "version": "1"}, "instanceTypes": None}
    assert amazon.node_group(nodeGroupName="typed", capacityType="CAPACITY_BLOCK", **by_template).id
    assert amazon.fleet.groups["typed"].machine.gpus == 8
    nothing = {"launchTemplate": {"id": made.id, "version": "1"}, "instanceTypes": None}
    with pytest.raises(ProviderError, match="has one instance type"):
        amazon.node_group(nodeGroupName="none", capacityType="CAPACITY_BLOCK", **nothing)
    with pytest.raises(ProviderError, match="needs a launch template"):
        amazon.node_group(nodeGroupName="none", **BLOCK)


@pytest.mark.parametrize(
    ("ami", "type", "cpus", "gpus"),
    [
        ("AL2023_x86_64_NVIDIA", "g5.2xlarge", 8, 1),
        ("AL2023_x86_64_STANDARD", "m6i.4xlarge", 16, 0),
        ("AL2023_x86_64_STANDARD", None, 2, 0),
    ],
)
def test_a_group_has_the_type_of_its_template(
    amazon: eks.Amazon, ami: str, type: str | None, cpus: int, gpus: int
) -> None:
    amazon.cluster()
    made = amazon.create(eks.TEMPLATE, {"name": "nodes", "instanceType": type})
    group = amazon.node_group(amiType=ami, instanceTypes=None, launchTemplate={"id": made.id, "version": "1"})
    machine = amazon.fleet.groups["t4-1"].machine
    assert (machine.cpu, machine.gpus) == (cpus, gpus)
    # "If the node group was deployed with a launch template, then this is null":
    # https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html
    assert group.state["instanceTypes"] == ([] if type else ["t3.medium"])


@cases
def test_a_launch_template_leaves_to_eks_what_is_eks(
    amazon: eks.Amazon, template: Properties, changes: Properties, message: str
) -> None:
    amazon.cluster()
    made = amazon.create(eks.TEMPLATE, {"name": "gpu", **template})
    with pytest.raises(ProviderError, match=message):
        amazon.node_group(launchTemplate={"id": made.id, "version": "1"}, **changes)
