"""``GpuPools`` on an EKS cluster of others with their cluster-autoscaler: what it adds, and what it looks at before."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final
from unittest import mock

import pulumi
import pytest

from components.gpu_pools import GpuPools, GpuPoolsArgs
from facts.catalog.eks import node_tags
from tests import eks_answers, recorder
from tests.api_server import ApiServer
from tests.eks_answers import ACCOUNT, AUTOSCALER, DEPLOYMENTS, DISCOVERY, NODE_GROUPS, SYSTEM, TEMPLATES, autoscaler
from tests.joined import Joined, api_server
from tests.stacks import ROOT, run_with, settings_of

TYPE: Final = "gpucluster:index:GpuPools"
GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
TAG: Final = "aws:autoscaling/tag:Tag"
OPTIONS: Final = "k8s.io/cluster-autoscaler/node-template/autoscaling-options"
KEYS: Final[dict[str, Any]] = {
    "aws:region": "us-west-2",
    "gpucluster:cloud": "eks",
    "gpucluster:region": "us-west-2",
    "gpucluster:zones": ["us-west-2a"],
    "gpucluster:existingCluster": {"name": "research"},
    "gpucluster:autoscaling": {"autoscaler": "cluster-autoscaler"},
    "gpucluster:gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}],
}
ROLE: Final = f"arn:aws:iam::{ACCOUNT}:role/platform-nodes"
OTHER_ROLE: Final = f"arn:aws:iam::{ACCOUNT}:role/other"
SCALER: Final = f"{DEPLOYMENTS}/cluster-autoscaler"


JOINED: Final = Joined(KEYS)
pools, update, refusal, warnings = JOINED.pools, JOINED.update, JOINED.refusal, JOINED.warnings


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """With cluster-autoscaler, as its chart has it."""
    with api_server(AUTOSCALER) as api:
        yield api


def existing(**keys: Any) -> dict[str, Any]:
    return {**KEYS, "gpucluster:existingCluster": {"name": "research", **keys}}


def deploy(server: ApiServer, **fields: Any) -> None:
    server.objects[SCALER] = {**server.objects[SCALER], **fields}


def group(name: str, **fields: Any) -> dict[str, Any]:
    return {name: {**SYSTEM, "nodeGroupName": name, **fields}}


def test_it_adds_node_groups_with_their_tags_and_objects(server: ApiServer) -> None:
    """No role, no autoscaler, no network."""
    program = update()
    assert {each.type for each in program.resources if each.type.startswith("aws:")} == {GROUP, TEMPLATE, TAG}
    assert not {each for each in program.resources if each.type == "kubernetes:apps/v1:Deployment"}
    assert program.reads == {}
    assert [each.name for each in program.resources if each.protect or each.retain_on_delete] == []


def test_where_and_as_whom_nodes_start_is_as_in_the_groups_that_are_there(server: ApiServer) -> None:
    program = update()
    inputs = program.only(GROUP).inputs
    assert inputs["clusterName"] == "research"
    assert inputs["nodeRoleArn"] == ROLE
    assert inputs["version"] == "1.34"
    assert inputs["scalingConfig"] == {"minSize": 0, "maxSize": 2, "desiredSize": 0}
    assert inputs["capacityType"] == "SPOT"
    assert inputs["subnetIds"] == ["subnet-0000000a"]
    assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"} in inputs["taints"]
    assert inputs["labels"]["nvidia.com/gpu.deploy.operands"] == "false"
    template = program.only(TEMPLATE).inputs
    assert template["name"] == "research-t4-1-a"
    assert template["networkInterfaces"] == [
        {
            "deviceIndex": 0,
            "deleteOnTermination": "true",
            "securityGroups": ["sg-0000000b"],
            "associatePublicIpAddress": "false",
        }
    ]


def test_the_groups_tags_say_what_a_node_will_be_and_that_no_running_pod_is_ended(server: ApiServer) -> None:
    """By its own flag theirs drains a node whose pods request less than half of its GPUs."""
    tags = {each.inputs["tag"]["key"]: each.inputs["tag"]["value"] for each in update().of_type(TAG)}
    prefix = "k8s.io/cluster-autoscaler/node-template"
    assert tags[f"{OPTIONS}/scaledowngpuutilizationthreshold"] == "0.001"
    assert tags[f"{prefix}/taint/nvidia.com/gpu"] == "present:NoSchedule"
    assert tags[f"{prefix}/resources/nvidia.com/gpu"] == "1"
    assert tags[f"{prefix}/label/k8s.amazonaws.com/accelerator"]
    assert f"{OPTIONS}/scaledownunneededtime" not in tags


def test_the_idle_time_of_a_pool_is_its_groups(server: ApiServer) -> None:
    tags = [each.inputs["tag"] for each in update(pools(unneededMinutes=3)).of_type(TAG)]
    assert {"key": f"{OPTIONS}/scaledownunneededtime", "value": "3m0s", "propagateAtLaunch": False} in tags


def test_the_stacks_own_autoscaler_keeps_its_flag() -> None:
    """The tags of groups that are deployed stay as they are."""
    (pool, *_) = settings_of(ROOT / "examples" / "eks-t4.yaml").gpu_pools
    both = node_tags.node_template(pool), node_tags.node_template(pool, joined=True)
    assert set(both[1]) - set(both[0]) == {f"{OPTIONS}/scaledowngpuutilizationthreshold"}


@pytest.mark.parametrize(
    ("template", "security_groups"),
    [
        ({"vpcSecurityGroupIds": ["sg-0000000b", "sg-0000000c"]}, ["sg-0000000b", "sg-0000000c"]),
        ({"networkInterfaces": [{"securityGroups": ["sg-0000000d"]}]}, ["sg-0000000d"]),
        ({}, ["sg-0000000a"]),
    ],
)
def test_security_groups_are_those_of_the_nodes_and_else_that_of_the_cluster(
    server: ApiServer, template: dict[str, Any], security_groups: list[str]
) -> None:
    with mock.patch.dict(TEMPLATES, {"lt-0000000a": template}):
        (interface,) = update().only(TEMPLATE).inputs["networkInterfaces"]
    assert interface["securityGroups"] == security_groups


@pytest.mark.parametrize(("public", "expected"), [((True, True), "true"), ((True, False), None)])
def test_public_addresses_are_as_the_subnets_say(
    server: ApiServer, public: tuple[bool, bool], expected: str | None
) -> None:
    subnets = {
        name: {**eks_answers.SUBNETS[name], "mapPublicIpOnLaunch": each}
        for name, each in zip(("subnet-0000000a", "subnet-0000000b"), public, strict=True)
    }
    with mock.patch.dict(eks_answers.SUBNETS, subnets):
        program = update()
    (interface,) = program.only(TEMPLATE).inputs["networkInterfaces"]
    assert interface.get("associatePublicIpAddress") == expected
    assert ("public addresses of nodes" in program.only(TYPE).inputs["unknown"]) == (expected is None)


@pytest.mark.parametrize(
    ("groups", "keys", "says"),
    [
        (group("b", nodeRoleArn=OTHER_ROLE), {}, "existingCluster.nodeIdentity: the node groups of 'research' have"),
        (group("b", nodeRoleArn=OTHER_ROLE), {"nodeIdentity": OTHER_ROLE}, ""),
        ({}, {"nodeIdentity": OTHER_ROLE}, "EKS would take the role's access to the cluster away with the pools"),
        (
            group("b", launchTemplates=[]),
            {},
            "existingCluster.securityGroups: the node groups of 'research' have different security groups: "
            "sg-0000000a, or sg-0000000b. Write those that the GPU nodes should have: [sg-0000000a]",
        ),
        (group("b", launchTemplates=[]), {"securityGroups": ["sg-0123456789abcdef0"]}, ""),
        (
            {},
            {"subnets": ["subnet-0a1b2c3d4e5f6000a", "subnet-0a1b2c3d4e5f6000b"]},
            "existingCluster.subnets: subnet-0a1b2c3d4e5f6000a is in vpc-0a1b2c3d4e5f60718, and 'research' in",
        ),
        (
            {"system": {**SYSTEM, "subnetIds": ["subnet-0000000b"]}},
            {},
            "gpuPools[0].zones: the node groups of 'research' have no subnet in us-west-2a. Write zones: [us-west-2b]",
        ),
    ],
)
def test_what_nodes_take_over_is_one_thing_or_is_written(
    server: ApiServer, groups: dict[str, Any], keys: dict[str, Any], says: str
) -> None:
    with mock.patch.dict(NODE_GROUPS, groups):
        if says:
            assert says in refusal(existing(**keys))
        else:
            assert update(existing(**keys)).only(TEMPLATE)


def test_a_cluster_without_managed_groups_is_refused(server: ApiServer) -> None:
    with mock.patch.dict(NODE_GROUPS, clear=True):
        assert "'research' has no managed node group whose role, subnets and security groups" in refusal()


def test_a_group_of_others_of_the_same_name_is_refused(server: ApiServer) -> None:
    with mock.patch.dict(NODE_GROUPS, group("t4-1-a")):
        assert "'research' has a pool 't4-1-a' already, which this stack did not make" in refusal()
    with mock.patch.dict(NODE_GROUPS, group("t4-1-a", labels={"gpucluster.dev/pool": "t4-1-a"})):
        assert (
            "aws eks delete-nodegroup --cluster-name research --nodegroup-name t4-1-a --region us-west-2" in refusal()
        )


WANTED: Final = f"so nobody would scale the pools. Ask its owner for --node-group-auto-discovery=asg:tag={DISCOVERY}"


@pytest.mark.parametrize(
    ("deployed", "keys", "says"),
    [
        (autoscaler("--nodes=1:5:workers", discovery=None), {}, f"knows its groups by name (--nodes), {WANTED}"),
        (autoscaler(discovery=None), {}, f"discovers no Auto Scaling groups, {WANTED}"),
        (autoscaler("--cloud-provider=clusterapi"), {}, "discovers no Auto Scaling groups"),
        (autoscaler(replicas=0), {}, "'research' has no cluster-autoscaler. Ask its owner for Karpenter"),
        (autoscaler("--scale-down-enabled=false"), {}, "a GPU node would stay, and cost, for ever"),
        (
            autoscaler(discovery="company/scaled=yes,k8s.io/cluster-autoscaler/enabled"),
            {},
            "tags: Deployment kube-system/cluster-autoscaler of 'research' discovers groups by the tag "
            "company/scaled=yes, which neither EKS nor this stack gives them. Write tags: {company/scaled: yes}",
        ),
        (autoscaler(discovery="company/scaled=yes"), {"gpucluster:tags": {"company/scaled": "yes"}}, ""),
        (
            autoscaler(discovery="k8s.io/cluster-autoscaler/production"),
            {"gpucluster:tags": {"k8s.io/cluster-autoscaler/production": "true"}},
            "",
        ),
        (autoscaler(discovery="eks:cluster-name=research"), {}, ""),
        (autoscaler("--node-group-auto-discovery=asg:tag=other", "--skip-nodes-with-system-pods=true"), {}, ""),
    ],
)  # fmt: skip
def test_whether_theirs_would_scale_the_pools_is_looked_at(
    server: ApiServer, deployed: dict[str, Any], keys: dict[str, Any], says: str
) -> None:
    deploy(server, metadata={"name": "cluster-autoscaler", "namespace": "kube-system"}, **deployed)
    if says:
        assert says in refusal({**KEYS, **keys})
    else:
        assert update({**KEYS, **keys}).only(GROUP)


def test_flags_may_be_arguments_and_the_image_a_copy(server: ApiServer) -> None:
    deployment = autoscaler()
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    words = container.pop("command")
    container |= {"image": "mirror.example/ca:1", "args": [part for word in words[1:] for part in word.split("=", 1)]}
    deploy(
        server, metadata={"name": "ca", "labels": {"app.kubernetes.io/name": "aws-cluster-autoscaler"}}, **deployment
    )
    assert update().only(GROUP)


def test_with_karpenter_in_its_place_the_keys_to_write_are_said(server: ApiServer) -> None:
    server.objects = copy.deepcopy(eks_answers.KARPENTER)
    text = refusal()
    assert "'research' has no cluster-autoscaler, and has Karpenter" in text
    assert "Write autoscaling: {autoscaler: karpenter}, and nodeClass" in text


def test_when_its_owner_changes_the_autoscaler_the_stack_follows_in_one_update(server: ApiServer) -> None:
    """What the refusal says to write is taken, both ways; the old pools are the stack's own, and go."""
    groups, scaled = update(), server.objects
    server.objects = copy.deepcopy(eks_answers.KARPENTER)
    assert "Write autoscaling: {autoscaler: karpenter}, and nodeClass" in refusal(deployed=groups)
    with_karpenter = {**existing(nodeClass="default"), "gpucluster:autoscaling": {"autoscaler": "karpenter"}}
    node_pools = update(with_karpenter, deployed=groups)
    assert node_pools.of_type(GROUP) == []
    assert [each.name for each in node_pools.of_type("kubernetes:karpenter.sh/v1:NodePool")] == ["pools-t4-1-pool"]
    server.objects = scaled
    assert "Write autoscaling: {autoscaler: cluster-autoscaler}" in refusal(with_karpenter, deployed=node_pools)
    assert len(update(deployed=node_pools).of_type(GROUP)) == 1


@pytest.mark.parametrize(
    ("flags", "keys", "says"),
    [
        (("--expander=priority,least-waste",), KEYS, "by its ConfigMap cluster-autoscaler-priority-expander"),
        (("--expander=random",), pools(gpusPerNode=[1, 4]), "may start one of the larger nodes"),
        (("--expander=random",), KEYS, ""),
        (("--expander=least-waste",), pools(gpusPerNode=[1, 4]), ""),
        (("--max-nodes-total=2",), KEYS, "makes 2 nodes in all (--max-nodes-total)"),
        (("--max-nodes-total=3",), KEYS, ""),
        (("--gpu-total=nvidia-tesla-t4:0:4",), KEYS, "limits all nodes together (--gpu-total=nvidia-tesla-t4:0:4)"),
    ],
)  # fmt: skip
def test_flags_that_only_hinder_are_told(server: ApiServer, flags: tuple[str, ...], keys: Any, says: str) -> None:
    deploy(server, **autoscaler(*flags))
    assert says in warnings(keys)
    if not says:
        assert "cluster-autoscaler of 'research'" not in warnings(keys)


@pytest.mark.parametrize(
    ("tag", "told"), [("v1.31.0", True), ("v1.33.4", False), ("v1.35.1", False), ("stable", False)]
)
def test_a_release_for_another_version_is_told(server: ApiServer, tag: str, told: bool) -> None:
    deploy(server, **autoscaler(tag=tag))
    assert ("it is made for its own" in warnings()) == told


def test_the_gate_is_told_what_is_there(server: ApiServer) -> None:
    program = update()
    known = program.only(TYPE).inputs["cluster"]
    assert (known["autoscaler"], known["systemNodes"]) == ("cluster-autoscaler", True)
    assert program.only(TYPE).inputs["unknown"].keys() == {"encryptionConfig"}
    labels = {"labels": {"eks.amazonaws.com/nodegroup": "t4-1-a"}}
    server.objects["/api/v1/nodes/ip-10-20-0-9"]["metadata"] |= labels
    assert update().only(TYPE).inputs["cluster"]["systemNodes"] is False


@pytest.mark.parametrize("kind", ["deployments", "nodes"])
def test_what_the_user_may_not_look_at_is_unknown_in_a_preview_and_refused_at_the_update(
    server: ApiServer, kind: str
) -> None:
    server.denied = frozenset({f"list {kind}"})
    preview = update(new=["none"])
    assert isinstance(preview.only(TYPE).inputs["cluster"], pulumi.output.Unknown)
    assert f"list {kind}" in refusal()


def test_a_cluster_that_does_not_answer_is_asked_at_the_update(server: ApiServer) -> None:
    """What Amazon says is known, and its problems too."""
    server.silent = "timed out"
    assert update(new=["none"]).only(GROUP).inputs["nodeRoleArn"] == ROLE
    assert "the API server of 'research' cannot be asked: timed out" in refusal()


def test_what_amazon_says_instead_is_told(server: ApiServer) -> None:
    denied = mock.Mock(side_effect=LookupError("AccessDeniedException: not authorized to perform eks:ListNodegroups"))
    with mock.patch.dict(eks_answers.CALLS, {"aws:eks/getNodeGroups:getNodeGroups": denied}):
        text = refusal()
    assert "the node groups of 'research' cannot be looked up" in text
    assert "Ask the account's administrator for eks:ListNodegroups" in text


def test_a_launch_template_of_others_with_a_pools_name_is_refused_by_the_preview(server: ApiServer) -> None:
    with mock.patch.dict(TEMPLATES, {"research-t4-1-a": {}}):
        text = refusal(new=["none"])
        assert "gpuPools[0].name: there is a launch template 'research-t4-1-a' already, which this" in text
        assert "aws ec2 delete-launch-template --launch-template-name research-t4-1-a --region us-west-2" in text


def test_its_own_launch_template_is_no_problem_also_without_its_group(server: ApiServer) -> None:
    """As after an update that was interrupted between the two."""
    first = update()
    first.resources = [each for each in first.resources if each.type != GROUP]
    with mock.patch.dict(TEMPLATES, {"research-t4-1-a": {}}):
        assert update(deployed=first).only(TEMPLATE).inputs["name"] == "research-t4-1-a"


SECOND: Final = {"subnet-0000000b": {**eks_answers.SUBNETS["subnet-0000000b"], "availabilityZone": "us-west-2a"}}
BOTH: Final = ["subnet-0000000a", "subnet-0000000b"]


def updated(
    nodes: int, before: dict[str, Any], after: dict[str, Any], keys: dict[str, Any] | None = None, **theirs: Any
) -> recorder.Recording:
    """An update with ``keys`` that finds the pool's group with ``nodes``: the one before found two, at version 1.33.
    ``before`` and ``after`` are what is said of subnets, ``theirs`` what differs of the owner's groups after."""
    with mock.patch.dict(eks_answers.SUBNETS, before):
        first = update()
    made = first.only(GROUP)
    first.states[made.urn]["version"] = "1.33"
    first.states[made.urn]["scalingConfig"] = {**made.inputs["scalingConfig"], "desiredSize": 2}
    own = {
        **made.inputs,
        "version": "1.33",
        "launchTemplates": [{"id": "lt-0000000b", "version": "1"}],
        "resources": [{"autoscalingGroups": [{"name": "eks-t4-1-a"}]}],
    }
    scaling = {"desiredCapacity": nodes, "availabilityZones": ["us-west-2a"]}
    groups = {"t4-1-a": own, "system": {**SYSTEM, **theirs}}
    with (
        mock.patch.dict(NODE_GROUPS, groups),
        mock.patch.dict(eks_answers.SCALING, scaling),
        mock.patch.dict(eks_answers.SUBNETS, after),
    ):
        return update(keys, deployed=first)


@pytest.mark.parametrize(("nodes", "version"), [(0, "1.34"), (2, "1.33")])
@pytest.mark.parametrize("subnets", [{}, SECOND])
def test_a_pool_with_nodes_keeps_its_version_and_no_size_is_sent(
    server: ApiServer, nodes: int, version: str, subnets: dict[str, Any]
) -> None:
    """The provider would send it minutes after the version, and end what has started meanwhile."""
    again = updated(nodes, subnets, subnets).only(GROUP)
    assert "scalingConfig.desiredSize" in again.ignore_changes
    assert (again.inputs["version"], again.inputs["nodeRoleArn"]) == (version, ROLE)


@pytest.mark.parametrize(("nodes", "subnets", "role"), [(0, BOTH, OTHER_ROLE), (2, BOTH[:1], ROLE)])
def test_what_the_owner_changes_of_other_groups_replaces_no_pool_with_nodes(
    server: ApiServer, nodes: int, subnets: list[str], role: str
) -> None:
    again = updated(nodes, {}, SECOND, nodeRoleArn=OTHER_ROLE).only(GROUP).inputs
    assert (again["subnetIds"], again["nodeRoleArn"]) == (subnets, role)
    # A new group starts empty.
    assert again["scalingConfig"]["desiredSize"] == nodes


@pytest.mark.parametrize(("nodes", "whole", "shared"), [(0, [""], ["t4-1-a"]), (2, ["t4-1-a"], [""])])
def test_a_pool_with_nodes_keeps_its_device_plugin(
    server: ApiServer, nodes: int, whole: list[str], shared: list[str]
) -> None:
    again = updated(nodes, {}, {}, pools(timeSharing={"clientsPerGpu": 4}))
    places = {
        each.name.rpartition("plugin-")[2]: each.inputs["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        for each in again.of_type("kubernetes:apps/v1:DaemonSet")
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    terms = {name: place[required]["nodeSelectorTerms"][0]["matchExpressions"][0] for name, place in places.items()}
    assert {name: term["values"] for name, term in terms.items()} == {"whole": whole, "shared-4": shared}
    tags = {each.inputs["tag"]["key"]: each.inputs["tag"]["value"] for each in again.of_type(TAG)}
    assert tags[f"{node_tags.RESOURCE}nvidia.com/gpu"] == ("1" if nodes else "4")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"existingCluster": {"name": "research", "nodeClass": "default"}}, "existingCluster.nodeClass: an EC2Node"),
        ({"existingCluster": {"name": "research", "subnets": ["private"]}}, "'private' is not a subnet ID"),
        ({"existingCluster": {"name": "research", "securityGroups": ["x"]}}, "'x' is not the ID of a security group"),
        ({"autoscaling": {"autoscaler": "cluster-autoscaler", "unneededMinutes": 5}}, "belongs to the cluster"),
        (
            {
                "autoscaling": {"autoscaler": "karpenter"},
                "existingCluster": {"name": "research", "nodeClass": "default", "subnets": ["subnet-0000000a"]},
            },
            "existingCluster.subnets: nodes have those of their node class",
        ),
        (
            {"gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot-with-fallback", "maxNodes": 2}]},
            "an order of capacity types needs the cluster's autoscaler",
        ),
    ],
)  # fmt: skip
def test_keys_that_do_not_belong_there_are_refused(server: ApiServer, keys: dict[str, Any], says: str) -> None:
    assert says in refusal({**KEYS, **{f"gpucluster:{key}": value for key, value in keys.items()}})
    assert server.asked == []


def test_the_roles_that_a_refusal_prints_are_enough(server: ApiServer) -> None:
    server.granted = {}
    server.granted = JOINED.roles()
    assert update().only(GROUP)


def test_the_printed_roles_permit_what_the_update_deletes(server: ApiServer) -> None:
    shared = pools(timeSharing={"clientsPerGpu": 4})
    plugin = "nvidia-device-plugin-whole"
    assert JOINED.deletable(server, shared) == {f"DaemonSet {plugin}": True, f"ConfigMap {plugin}": True}


def test_in_another_program_the_name_and_the_role_may_be_outputs(server: ApiServer) -> None:
    plain = {key.removeprefix("gpucluster:"): each for key, each in KEYS.items() if key.startswith("gpucluster:")}

    def run() -> None:
        given = {"name": pulumi.Output.from_input("research"), "nodeIdentity": pulumi.Output.from_input(ROLE)}
        GpuPools("gpu", GpuPoolsArgs.of({**plain, "existingCluster": given}))

    made = run_with({"aws:region": "us-west-2"}, "ml", run)
    assert (made.only(GROUP).name, made.only(TEMPLATE).inputs["name"]) == ("gpu-t4-1-a-pool", "research-t4-1-a")


@pytest.mark.parametrize("key", ["subnets", "securityGroups", "location", "reaperImage"])
def test_another_output_beside_the_name_is_refused(server: ApiServer, key: str) -> None:
    """Before, the program took a word in its place for the value."""
    plain = {key.removeprefix("gpucluster:"): each for key, each in KEYS.items() if key.startswith("gpucluster:")}

    def run() -> None:
        given = {"name": "research", key: pulumi.Output.from_input("subnet-0000000a")}
        GpuPools("gpu", GpuPoolsArgs.of({**plain, "existingCluster": given}))

    text = recorder.refusal(lambda: run_with({"aws:region": "us-west-2"}, "ml", run))
    assert f"existingCluster.{key}: is an output or a secret" in text
