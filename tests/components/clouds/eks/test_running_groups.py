"""Node groups and a control plane that exist already: sizes are the autoscaler's, jobs run on, no version goes back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pulumi
import pytest

from facts.catalog.eks import node_tags
from facts.catalog.eks.versions import CLUSTER_AUTOSCALERS, KARPENTERS, kubernetes_minor
from facts.concepts.kubernetes import RESOURCES, Taint
from facts.concepts.parts import Fabric, SharedGpu
from facts.concepts.pool import ARCH_LABEL, SHARES_KEY, Pool, gpu_pool_taints
from tests import eks_answers, recorder
from tests.components import eks_specs
from tests.declared import violations

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
# Of every template, as the mocks answer.
NEWEST = "1"


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An account whose cluster has the groups that a test puts in: name → what differs from the usual one."""
    groups: dict[str, Mapping[str, Any]] = {}

    def group(asked: Mapping[str, Any]) -> dict[str, Any]:
        its = groups[asked["nodeGroupName"]]
        return {
            # EKS's own record of the size is late.
            "scalingConfigs": [{"desiredSize": 0, "minSize": 0, "maxSize": 9}],
            "launchTemplates": [{"id": "lt-1", "name": "x", "version": its.get("template", NEWEST)}],
            "version": its.get("version", "1.35"),
            "amiType": its.get("image", "AL2023_x86_64_NVIDIA"),
            "instanceTypes": its.get("types", ["g4dn.xlarge"]),
            "capacityType": its.get("capacity", "SPOT"),
            "subnetIds": [f"cluster-private-{_zone(asked['nodeGroupName'], its)}-id"],
            "nodeRoleArn": f"arn:aws:iam::{eks_answers.ACCOUNT}:role/gpu-test-nodes",
            "resources": its.get("made", [{"autoscalingGroups": [{"name": f"eks-{asked['nodeGroupName']}-uuid"}]}]),
        }

    def scaling_group(asked: Mapping[str, Any]) -> dict[str, Any]:
        name = asked["name"].removeprefix("eks-").removesuffix("-uuid")
        return {"desiredCapacity": groups[name].get("nodes", 0), "availabilityZones": [_zone(name, groups[name])]}

    for token, answer in {
        "aws:eks/getClusters:getClusters": {"names": ["another", "gpu-test"]},
        "aws:eks/getNodeGroups:getNodeGroups": lambda asked: {"names": list(groups)},
        "aws:eks/getNodeGroup:getNodeGroup": group,
        "aws:autoscaling/getGroup:getGroup": scaling_group,
    }.items():
        monkeypatch.setitem(eks_answers.CALLS, token, answer)
    return groups


def _zone(name: str, group: Mapping[str, Any]) -> str:
    return str(group.get("zone", f"us-west-2{name[-1]}"))


def declared(pool: Pool, **cluster: Any) -> recorder.Registration:
    pools, admin = ((), pool) if pool.role == "admin" else ((pool,), None)
    everywhere = {"zones": eks_specs.THREE_ZONES, **cluster}
    return eks_specs.run(*pools, admin=admin, cluster=everywhere).named(f"{pool.name}-pool")


@pytest.mark.parametrize(("nodes", "minimum", "sent"), [(0, 0, 0), (2, 0, 2), (2, 1, 2), (2, 3, 3), (9, 0, 9)])
def test_the_size_that_is_sent_is_the_autoscalers_or_minimum(account: Any, nodes: int, minimum: int, sent: int) -> None:
    account["cpu"] = {"nodes": nodes, "image": "AL2023_x86_64_STANDARD", "types": ["m6i.xlarge"]}
    scaling = declared(eks_specs.cpu_pool(min_nodes=minimum)).inputs["scalingConfig"]
    assert scaling == {"minSize": minimum, "maxSize": 3, "desiredSize": sent}


def test_another_maximum_ends_no_gpu_node(account: Any) -> None:
    account["t4-1-a"] = {"nodes": 2}
    node_group = declared(eks_specs.gpu_pool(max_nodes=7))
    assert node_group.inputs["scalingConfig"] == {"minSize": 0, "maxSize": 7, "desiredSize": 2}


@pytest.mark.parametrize(
    ("changes", "cluster", "sent"),
    [
        ({}, {"version": "1.34"}, False),
        ({}, {"version": "1.35"}, False),
        ({"disk_gb": 300}, {"version": "1.34"}, False),
        ({"max_nodes": 7}, {"version": "1.34"}, True),
    ],
)
def test_a_size_is_sent_with_limits_alone(
    account: Any, changes: Mapping[str, Any], cluster: Mapping[str, Any], sent: bool
) -> None:
    """Sent minutes after a version, it would end the nodes that the autoscaler has started meanwhile."""
    first = deployed_at("1.34")
    account["t4-1-a"] = {"nodes": 1, "version": "1.34"}
    everywhere = {"zones": eks_specs.THREE_ZONES, **cluster}
    updated = eks_specs.run(eks_specs.gpu_pool(**changes), cluster=everywhere, deployed=first).named("t4-1-a-pool")
    assert updated.inputs["scalingConfig"]["desiredSize"] == 1
    assert updated.ignore_changes == (() if sent else ("scalingConfig.desiredSize",))


def changed_template(monkeypatch: pytest.MonkeyPatch) -> None:
    """A preview knows no version of it: ``customdiff.ComputedIf`` in
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/ec2_launch_template.go"""
    answers = eks_answers.outputs
    monkeypatch.setattr(
        eks_answers,
        "outputs",
        lambda *of: {key: value for key, value in answers(*of).items() if key != "latestVersion"},
    )


def deployed_at(version: str, *pools: Pool) -> recorder.Recording:
    """As an update left them that found two nodes."""
    cluster = {"zones": eks_specs.THREE_ZONES, "version": version}
    first = eks_specs.run(*(pools or [eks_specs.gpu_pool()]), cluster=cluster)
    for group in first.of_type(NODE_GROUP):
        first.states[group.urn]["scalingConfig"] = {**group.inputs["scalingConfig"], "desiredSize": 2}
    return first


@pytest.mark.parametrize(
    ("changes", "version", "said"),
    [
        ({"max_nodes": 7}, "1.34", True),
        ({"max_nodes": 7, "machine_types": ("g6.xlarge",)}, "1.35", False),
        ({}, "1.35", False),
    ],
)
def test_a_version_waits_for_an_update_of_the_limits(
    account: Any, monkeypatch: pytest.MonkeyPatch, changes: Mapping[str, Any], version: str, said: bool
) -> None:
    """A new group has its cluster's version."""
    messages: list[str] = []
    monkeypatch.setattr("pulumi.info", messages.append)
    first = deployed_at("1.34")
    account["t4-1-a"] = {"nodes": 0, "version": "1.34"}
    cluster = {"zones": eks_specs.THREE_ZONES, "version": "1.35"}
    pool = eks_specs.gpu_pool(**changes)
    second = eks_specs.run(pool, cluster=cluster, deployed=first)
    assert second.named("t4-1-a-pool").inputs["version"] == version
    assert ["t4-1-a gets its minimum and maximum first" in each for each in messages] == [True] * said
    again = eks_specs.run(pool, cluster=cluster, deployed=second).named("t4-1-a-pool")
    assert again.inputs["version"] == "1.35"


@pytest.mark.parametrize(
    ("nodes", "changes", "words"),
    [
        (0, {"max_nodes": 7}, "gets its minimum and maximum first"),
        (2, {"max_nodes": 7}, "launch template"),
        (2, {}, "launch template"),
        (0, {}, None),
    ],
)
def test_a_preview_says_what_waits_also_of_a_template_that_it_does_not_know(
    account: Any, monkeypatch: pytest.MonkeyPatch, nodes: int, changes: Mapping[str, Any], words: str | None
) -> None:
    messages: list[str] = []
    monkeypatch.setattr("pulumi.info", messages.append)
    first = deployed_at("1.34")
    account["t4-1-a"] = {"nodes": nodes, "version": "1.34"}
    changed_template(monkeypatch)
    cluster = {"zones": eks_specs.THREE_ZONES, "version": "1.34"}
    eks_specs.run(eks_specs.gpu_pool(**changes), cluster=cluster, deployed=first, new=[])
    assert [words in message for message in messages if words] == [True] * bool(words)
    assert len(messages) == bool(words)


@pytest.mark.parametrize(("most", "version", "sent"), [(3, "1.35", False), (9, "1.34", True)])
def test_a_cpu_pool_grows_before_its_nodes_are_replaced(account: Any, most: int, version: str, sent: bool) -> None:
    first = deployed_at("1.34", eks_specs.cpu_pool())
    account["cpu"] = {"nodes": 5, "version": "1.34", "image": "AL2023_x86_64_STANDARD", "types": ["m6i.xlarge"]}
    account["cpu"]["zone"] = "us-west-2a"
    cluster = {"zones": eks_specs.THREE_ZONES, "version": "1.35"}
    pool = eks_specs.cpu_pool(max_nodes=most)
    updated = eks_specs.run(pool, cluster=cluster, deployed=first).named("cpu-pool")
    assert (updated.inputs["version"], updated.inputs["scalingConfig"]["desiredSize"]) == (version, 5)
    assert ("scalingConfig.desiredSize" not in updated.ignore_changes) is sent


def test_a_gpu_group_that_another_capacity_replaces_starts_empty(account: Any) -> None:
    """Machines of the new kind would start before any pod asks for them."""
    first = deployed_at("1.34", eks_specs.gpu_pool(capacity_type="on-demand"))
    account["t4-1-a"] = {"nodes": 2, "version": "1.34", "capacity": "ON_DEMAND"}
    pool = eks_specs.gpu_pool()
    replaced = eks_specs.run(pool, cluster={"zones": eks_specs.THREE_ZONES, "version": "1.34"}, deployed=first)
    assert replaced.named("t4-1-a-pool").inputs["scalingConfig"]["desiredSize"] == 0


@pytest.mark.parametrize("resources", [[], [{"autoscalingGroups": [], "remoteAccessSecurityGroupId": ""}]])
def test_a_group_that_eks_could_not_make_is_to_be_replaced(
    account: Any, monkeypatch: pytest.MonkeyPatch, resources: list[Any]
) -> None:
    account["t4-1-a"] = {"made": resources}
    answers = eks_answers.outputs
    monkeypatch.setattr(
        eks_answers,
        "outputs",
        lambda type, *of: {**answers(type, *of), **({"resources": resources} if type == NODE_GROUP else {})},
    )
    with pytest.raises(pulumi.RunError, match=r"could not make this node group. Run `pulumi up --replace 'urn:"):
        declared(eks_specs.gpu_pool())


def test_an_autoscaled_admin_pool_keeps_its_size_and_a_fixed_one_has_its_own(account: Any) -> None:
    account["admin"] = {"nodes": 5}
    growing = eks_specs.admin_pool(max_nodes=9, zones=eks_specs.THREE_ZONES)
    assert declared(growing).inputs["scalingConfig"]["desiredSize"] == 5
    fixed = eks_specs.admin_pool(zones=eks_specs.THREE_ZONES)
    assert declared(fixed).inputs["scalingConfig"]["desiredSize"] == 3


OLD = {
    "template": "7",
    "version": "1.34",
    "types": ["g4dn.2xlarge", "g4dn.xlarge"],
    "image": "BOTTLEROCKET_x86_64_NVIDIA",
}


@pytest.mark.parametrize("nodes", [0, 1])
def test_a_gpu_group_with_nodes_keeps_what_they_were_made_from(account: Any, nodes: int) -> None:
    account["t4-1-a"] = {**OLD, "nodes": nodes}
    inputs = declared(eks_specs.gpu_pool(), version="1.35").inputs
    actual = (inputs["launchTemplate"]["version"], inputs["version"], inputs["instanceTypes"], inputs["amiType"])
    unchanged = (OLD["template"], OLD["version"], OLD["types"], OLD["image"])
    assert actual == (unchanged if nodes else (NEWEST, "1.35", ["g4dn.xlarge"], "AL2023_x86_64_NVIDIA"))


def test_a_gpu_group_with_nodes_that_was_updated_in_the_console_is_not_updated_again(account: Any) -> None:
    """The provider would send what the group has, since the state has the former: EKS would replace all its nodes."""
    pool = eks_specs.gpu_pool()
    first = eks_specs.run(pool, cluster={"zones": eks_specs.THREE_ZONES, "version": "1.34"})
    account["t4-1-a"] = {"nodes": 1, "version": "1.35", "template": "2"}
    cluster = {"zones": eks_specs.THREE_ZONES, "version": "1.35"}
    inputs = eks_specs.run(pool, cluster=cluster, deployed=first).named("t4-1-a-pool").inputs
    assert (inputs["version"], inputs["launchTemplate"]["version"]) == ("1.34", NEWEST)
    account["t4-1-a"] = {**account["t4-1-a"], "nodes": 0}
    assert eks_specs.run(pool, cluster=cluster, deployed=first).named("t4-1-a-pool").inputs["version"] == "1.35"


@pytest.mark.parametrize("other", [{"capacity": "ON_DEMAND"}, {"zone": "us-west-2b"}])
def test_a_gpu_group_that_is_replaced_starts_as_its_pool_is(account: Any, other: Mapping[str, str]) -> None:
    """EKS makes no group of an older version than the cluster's:
    https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html."""
    account["t4-1-a"] = {**OLD, **other, "nodes": 1}
    inputs = declared(eks_specs.gpu_pool(), version="1.35").inputs
    assert (inputs["version"], inputs["instanceTypes"]) == ("1.35", ["g4dn.xlarge"])


def test_labels_taints_and_limits_reach_a_gpu_group_with_nodes(account: Any) -> None:
    account["t4-1-a"] = {**OLD, "nodes": 1}
    pool = eks_specs.gpu_pool(max_nodes=4, extra_labels={"example.com/rack": "7"})
    inputs = declared(pool).inputs
    assert (inputs["labels"], inputs["scalingConfig"]["maxSize"]) == (pool.nodes.labels, 4)


def planned(recording: recorder.Recording) -> dict[str, str]:
    """The tags by which the autoscaler plans the group's nodes."""
    tags = (each.inputs["tag"] for each in recording.of_type("aws:autoscaling/tag:Tag"))
    return {each["key"]: each["value"] for each in tags if each["key"].startswith(node_tags.NODE_TEMPLATE)}


def described(recording: recorder.Recording) -> dict[str, Any]:
    """Labels and taints of the group's nodes, and the tags by which the autoscaler plans them."""
    inputs = recording.named("t4-1-a-pool").inputs
    taints = {f"taint {each['key']}": each["value"] for each in inputs["taints"]}
    return {**{f"label {key}": value for key, value in inputs["labels"].items()}, **taints, **planned(recording)}


SHARED: Mapping[str, Any] = {
    "time_sharing": SharedGpu(clients_per_gpu=4),
    "taints": gpu_pool_taints(1, 1, (), shares=4),
}
EFA = Fabric(devices=1, resource="vpc.amazonaws.com/efa", env={})
SHARES_TAG = f"{node_tags.TAINT}{SHARES_KEY}"


@pytest.mark.parametrize(
    ("image", "changes", "at_once"),
    [
        ("al2023", {"gpu": "nvidia-l4", "machine_types": ("g6.4xlarge",), "disk_gb": 300}, {}),
        ("al2023", {"extra_labels": {"example.com/rack": "7"}}, {"label example.com/rack": "7"}),
        # The autoscaler takes these for none.
        ("al2023", {"machine_types": ("g4dn.8xlarge",), "fabric": EFA}, {f"{node_tags.RESOURCE}{EFA.resource}": "0"}),
        ("bottlerocket", SHARED, {SHARES_TAG: ""}),
        ("al2023", SHARED, {SHARES_TAG: ""}),
    ],
)
def test_a_gpu_group_with_nodes_is_described_as_they_are(
    account: Any, image: str, changes: Mapping[str, Any], at_once: Mapping[str, str]
) -> None:
    """Planned as another machine, a group that is empty later starts node after node for a pod that fits none."""
    first = eks_specs.run(eks_specs.gpu_pool(image=image))
    account["t4-1-a"] = {"nodes": 1, "image": f"{image.upper()}_x86_64_NVIDIA"}
    pool = eks_specs.gpu_pool(**{"image": image, **changes})
    running = described(eks_specs.run(pool, deployed=first))
    expected = {**described(first), **at_once}
    planned_labels = {f"{node_tags.LABEL}{key[6:]}": each for key, each in at_once.items() if key.startswith("label ")}
    assert running == {**expected, **planned_labels}
    account["t4-1-a"]["nodes"] = 0
    assert described(eks_specs.run(pool, deployed=first)) == described(eks_specs.run(pool))


ARM = Taint(ARCH_LABEL, "arm64", "NoSchedule")
NEURON: Mapping[str, Any] = {
    "gpu": "aws-inferentia2",
    "machine_types": ("inf2.xlarge",),
    "taints": gpu_pool_taints(1, 1, (), resource=RESOURCES["aws"]),
}
USERS: Mapping[str, Any] = {
    "taints": gpu_pool_taints(1, 1, (Taint("example.com/team", "ml", "NoSchedule"),)),
    "extra_labels": {"example.com/rack": "7"},
    "unneeded_minutes": 30,
}


@pytest.mark.parametrize(
    ("before", "stay"),
    [
        (
            {"taints": gpu_pool_taints(1, 1, (ARM,)), "extra_labels": {ARCH_LABEL: "arm64"}},
            {f"taint/{ARCH_LABEL}", f"label/{ARCH_LABEL}"},
        ),
        ({"machine_types": ("g4dn.8xlarge",), "fabric": EFA}, {f"resources/{EFA.resource}"}),
        # At the autoscaler's own threshold it would drain nodes with jobs that use little CPU.
        (
            NEURON,
            {
                f"taint/{RESOURCES['aws']}",
                f"resources/{RESOURCES['aws']}",
                "autoscaling-options/scaledownutilizationthreshold",
                "autoscaling-options/ignoredaemonsetsutilization",
            },
        ),
        (USERS, set()),
    ],
)
def test_tags_that_other_machines_lack_stay_as_long_as_the_group_has_nodes(
    account: Any, before: Mapping[str, Any], stay: set[str]
) -> None:
    """A pod without a toleration for the taint of the group's machines would start one after another."""
    first = eks_specs.run(eks_specs.gpu_pool(**before))
    account["t4-1-a"] = {"nodes": 1}
    second = eks_specs.run(eks_specs.gpu_pool(), deployed=first)
    usual = planned(eks_specs.run(eks_specs.gpu_pool()))
    others = {f"{node_tags.NODE_TEMPLATE}/{tag}" for tag in stay}
    assert planned(second).keys() - usual.keys() == others
    assert {planned(second)[tag] for tag in others} == {planned(first)[tag] for tag in others}
    account["t4-1-a"]["nodes"] = 0
    third = eks_specs.run(eks_specs.gpu_pool(), deployed=second)
    assert planned(third) == {**usual, **dict.fromkeys(others, "")}
    assert planned(eks_specs.run(eks_specs.gpu_pool(), deployed=third)) == usual


@pytest.mark.parametrize("image", ["al2023", "bottlerocket"])
def test_a_group_whose_gpus_are_shared_as_before_gets_the_taint_of_shares_at_once(account: Any, image: str) -> None:
    """Another pool of its size has whole GPUs from now on, whose pods would come to its nodes."""
    first = eks_specs.run(eks_specs.gpu_pool(image=image, time_sharing=SHARED["time_sharing"]))
    account["t4-1-a"] = {"nodes": 1, "image": f"{image.upper()}_x86_64_NVIDIA"}
    inputs = eks_specs.run(eks_specs.gpu_pool(image=image, **SHARED), deployed=first).named("t4-1-a-pool").inputs
    assert {each["key"]: each["value"] for each in inputs["taints"]}[SHARES_KEY] == "4"


def plugins(recording: recorder.Recording) -> dict[str, list[str]]:
    """Variant of NVIDIA's device plugin → the pools on whose nodes it runs."""
    result = {}
    for each in recording.of_type("kubernetes:apps/v1:DaemonSet"):
        affinity = each.inputs["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        result[each.name.removeprefix("drivers-nvidia-device-plugin-")] = term["matchExpressions"][0]["values"]
    return result


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (4, 2)])
def test_nodes_keep_the_device_plugin_that_they_started_with(
    account: Any, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    """A plugin that shares GPUs offers the one of a running pod again."""
    messages: list[str] = []
    monkeypatch.setattr("pulumi.info", messages.append)

    def pools(shares: int) -> list[Pool]:
        sharing = SharedGpu(clients_per_gpu=shares) if shares > 1 else None
        shared = eks_specs.gpu_pool("t4-1-a", time_sharing=sharing, taints=gpu_pool_taints(1, 1, (), shares=shares))
        return [shared, eks_specs.gpu_pool("t4-1-z")]

    old, new = ("whole" if shares == 1 else f"shared-{shares}" for shares in (before, after))
    always = {"whole": ["t4-1-z"]}
    account["t4-1-a"] = {"nodes": 2}
    first = eks_specs.run(*pools(before), drivers=True)
    second = eks_specs.run(*pools(after), deployed=first, drivers=True)
    again = eks_specs.run(*pools(after), deployed=second, drivers=True)
    for recording in (second, again):
        variants = plugins(recording)
        assert "t4-1-a" in variants[old]
        assert "t4-1-a" not in variants[new]
        # Kubernetes refuses an empty list.
        assert variants.pop(new) == always.get(new, [""])
    assert messages == [message for message in messages if "t4-1-a has nodes (2)" in message and "share" in message]
    assert len(messages) == 2
    assert not [each for each in violations(again) if "does not tolerate" in each]
    account["t4-1-a"]["nodes"] = 0
    empty = eks_specs.run(*pools(after), deployed=again, drivers=True)
    # A tag that goes has an empty value before.
    expected = described(eks_specs.run(*pools(after)))
    assert {key: value for key, value in described(empty).items() if value or key in expected} == expected
    assert "t4-1-a" in plugins(empty)[new]
    assert plugins(empty)[old] == always.get(old, [""])
    account["t4-1-a"]["nodes"] = 3
    assert plugins(eks_specs.run(*pools(after), deployed=empty, drivers=True)) == plugins(
        eks_specs.run(*pools(after), drivers=True)
    )
    assert len(messages) == 2


@pytest.mark.parametrize(("before", "after"), [("al2023", "bottlerocket"), ("bottlerocket", "al2023")])
def test_nodes_keep_the_device_plugin_of_their_image(account: Any, before: str, after: str) -> None:
    """Without it a new node of the group would have no GPUs, and with ours beside Bottlerocket's own it has two."""
    of_image = {"al2023": ["t4-1-a"], "bottlerocket": []}
    first = eks_specs.run(eks_specs.gpu_pool(image=before), drivers=True)
    assert plugins(first).get("whole", []) == of_image[before]
    for nodes, image in ((1, before), (0, after)):
        account["t4-1-a"] = {"nodes": nodes, "image": f"{before.upper()}_x86_64_NVIDIA"}
        updated = eks_specs.run(eks_specs.gpu_pool(image=after), deployed=first, drivers=True)
        assert [each for each in plugins(updated).get("whole", []) if each] == of_image[image]


@pytest.mark.parametrize("other", [{"capacity": "ON_DEMAND"}, {"zone": "us-west-2b"}])
def test_a_group_that_is_replaced_gets_its_device_plugin_at_once(account: Any, other: Mapping[str, str]) -> None:
    first = eks_specs.run(eks_specs.gpu_pool(), drivers=True)
    account["t4-1-a"] = {"nodes": 1, **other}
    shared = eks_specs.gpu_pool(time_sharing=SHARED["time_sharing"])
    assert plugins(eks_specs.run(shared, deployed=first, drivers=True)) == {"whole": [""], "shared-4": ["t4-1-a"]}


@pytest.mark.parametrize("nodes", [0, 1])
def test_a_preview_with_a_new_addon_replaces_no_group(account: Any, nodes: int) -> None:
    """An ``amiType`` that it does not know would show as a replacement, at which a protected stack stops."""
    account["t4-1-a"] = {**OLD, "nodes": nodes}
    cluster = {"zones": eks_specs.THREE_ZONES, "addons": ("fsx",), "version": "1.35"}
    preview = eks_specs.run(eks_specs.gpu_pool(), cluster=cluster, new=["aws:eks/addon:Addon"])
    update = eks_specs.run(eks_specs.gpu_pool(), cluster=cluster)
    assert preview.named("t4-1-a-pool").inputs == update.named("t4-1-a-pool").inputs


def test_nodes_without_gpus_follow_their_template(account: Any) -> None:
    account["cpu"] = {**OLD, "nodes": 2}
    inputs = declared(eks_specs.cpu_pool(), version="1.35").inputs
    assert (inputs["launchTemplate"]["version"], inputs["version"]) == (NEWEST, "1.35")


def test_what_waits_is_said(account: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr("pulumi.info", messages.append)
    account |= {"t4-1-a": {**OLD, "nodes": 1}, "t4-1-b": {**OLD, "nodes": 0}, "t4-1-c": {"nodes": 1}}
    pools = [eks_specs.gpu_pool(f"t4-1-{zone[-1]}", zones=(zone,)) for zone in eks_specs.THREE_ZONES]
    eks_specs.run(*pools, cluster={"zones": eks_specs.THREE_ZONES})
    (line,) = messages
    assert "t4-1-a" in line
    assert all(word in line for word in ("machine types", "image", "Kubernetes version", "template"))


@pytest.mark.parametrize("nodes", [0, 2])
@pytest.mark.parametrize(
    ("image", "changes", "word"),
    [
        ("al2023", {"taints": gpu_pool_taints(1, 1, (Taint("a.com/b", "c", "NoExecute"),))}, "taint a.com/b ends"),
        (
            "al2023",
            {"taints": gpu_pool_taints(1, 1, (Taint("a.com/b", "c", "NoExecute"),)), "machine_types": ("g6.xlarge",)},
            "taint a.com/b ends",
        ),
        ("al2023", {"taints": gpu_pool_taints(1, 1, (Taint("a.com/b", "c", "NoSchedule"),))}, ""),
        ("al2023", SHARED, ""),
    ],
)
def test_what_disturbs_pods_on_running_nodes_is_warned_about_once(
    account: Any, monkeypatch: pytest.MonkeyPatch, nodes: int, image: str, changes: Mapping[str, Any], word: str
) -> None:
    messages: list[str] = []
    monkeypatch.setattr("pulumi.warn", messages.append)
    first = eks_specs.run(eks_specs.gpu_pool(image=image))
    account["t4-1-a"] = {"nodes": nodes, "image": f"{image.upper()}_x86_64_NVIDIA"}
    pool = eks_specs.gpu_pool(**{"image": image, **changes})
    second = eks_specs.run(pool, deployed=first)
    expected = [word] if word and nodes else []
    assert [word in message and "has nodes (2)" in message for message in messages] == [True for _ in expected]
    eks_specs.run(pool, deployed=second)
    assert len(messages) == len(expected)


@pytest.mark.parametrize("pool", [eks_specs.gpu_pool, eks_specs.cpu_pool])
@pytest.mark.parametrize(("before", "after"), [(None, "c"), ("c", None), ("c", "d")])
def test_each_pool_warns_of_another_value_of_a_taint_that_ends_pods(
    account: Any, monkeypatch: pytest.MonkeyPatch, pool: Any, before: str | None, after: str | None
) -> None:
    """Pods tolerate a value, unless they tolerate each: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/."""
    messages: list[str] = []
    monkeypatch.setattr("pulumi.warn", messages.append)
    former, other = (pool(taints=(Taint("a.com/b", value, "NoExecute"),)) for value in (before, after))
    first = eks_specs.run(former)
    account[former.name] = {"nodes": 2, "image": "AL2023_x86_64_NVIDIA"}
    second = eks_specs.run(other, deployed=first)
    (message,) = messages
    assert f"pool {former.name} has nodes (2), and its taint a.com/b ends their pods" in message
    eks_specs.run(other, deployed=second)
    assert len(messages) == 1


def test_a_group_that_does_not_exist_yet_is_not_asked_about(account: Any) -> None:
    recording = eks_specs.run(eks_specs.gpu_pool(), cluster={"zones": eks_specs.THREE_ZONES})
    assert "aws:eks/getNodeGroup:getNodeGroup" not in recording.calls
    assert recording.named("t4-1-a-pool").inputs["scalingConfig"]["desiredSize"] == 0


def test_karpenter_has_no_groups_to_ask_about(account: Any) -> None:
    recording = eks_specs.run(eks_specs.gpu_pool(), cluster={"autoscaler": "karpenter"})
    assert not [token for token in recording.calls if "NodeGroup" in token]


CLUSTER = "aws:eks/cluster:Cluster"
OURS = kubernetes_minor(None, "regular")
NUMBER = int(OURS.partition(".")[2])
LATER = f"1.{NUMBER + 1}"


def running_version(running: str, monkeypatch: pytest.MonkeyPatch, **cluster: Any) -> recorder.Recording:
    answers = {
        "getClusters": {"names": ["gpu-test"]},
        "getCluster": {**eks_answers.CLUSTER, "version": running},
        "getNodeGroups": {"names": []},
    }
    for function, answer in answers.items():
        monkeypatch.setitem(eks_answers.CALLS, f"aws:eks/{function}:{function}", answer)
    return eks_specs.run(eks_specs.gpu_pool(), cluster=cluster)


@pytest.mark.parametrize(
    ("running", "declared"), [(f"1.{NUMBER - 1}", OURS), (OURS, OURS), (LATER, LATER), ("1.99", "1.99")]
)
def test_an_upgraded_plane_is_not_sent_back(running: str, declared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = running_version(running, monkeypatch).only(CLUSTER).inputs
    assert cluster["version"] == declared
    # It stays EKS's to upgrade: nobody wrote a version.
    assert cluster["upgradePolicy"] == {"supportType": "STANDARD"}


@pytest.mark.parametrize(("running", "ignored"), [(f"1.{NUMBER - 1}", ()), (OURS, ("version",)), (LATER, ("version",))])
def test_a_version_that_the_plane_has_is_not_sent(
    running: str, ignored: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state has the version of the last update, if EKS or a user has upgraded the plane since."""
    answers = eks_answers.outputs
    monkeypatch.setattr(
        eks_answers,
        "outputs",
        lambda type, *of: {**answers(type, *of), **({"version": "1.30"} if type == CLUSTER else {})},
    )
    recording = running_version(running, monkeypatch)
    assert recording.only(CLUSTER).ignore_changes == ignored
    # Nodes follow the plane, not the state.
    assert recording.named("admin-pool").inputs["version"] == (LATER if running == LATER else OURS)


@pytest.mark.parametrize(("running", "minor"), [(OURS, OURS), (LATER, LATER), ("1.99", list(CLUSTER_AUTOSCALERS)[-1])])
def test_the_autoscaler_goes_with_what_runs(running: str, minor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = running_version(running, monkeypatch).named("autoscaler-deployment")
    (container,) = deployment.inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(f":{CLUSTER_AUTOSCALERS[minor]}")
    chart = running_version(running, monkeypatch, autoscaler="karpenter").named("autoscaler-release")
    assert chart.inputs["version"] == KARPENTERS[minor]


@pytest.mark.parametrize("running", [LATER, "1.99"])
def test_a_written_version_below_it_is_refused(running: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = rf"kubernetes\.version: .* runs {running}, and {OURS} .*Write '{running}'"
    with pytest.raises(pulumi.RunError, match=words):
        running_version(running, monkeypatch, version=OURS)
    assert running_version(running, monkeypatch, version=running).only(CLUSTER).inputs["version"] == running


def test_an_update_is_one_step_as_eks_upgrades_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html"""
    old, following = f"1.{NUMBER - 2}", f"1.{NUMBER - 1}"
    messages: list[str] = []
    monkeypatch.setattr("pulumi.info", messages.append)
    recording = running_version(old, monkeypatch)
    assert recording.only(CLUSTER).inputs["version"] == following
    assert addon_versions(recording)["kube-proxy"].startswith(f"v{following}.")
    assert [following in message and f"again for {OURS}" in message for message in messages] == [True]
    with pytest.raises(pulumi.RunError, match=rf"kubernetes\.version: .* runs {old}, .*Write '{following}'"):
        running_version(old, monkeypatch, version=OURS)


@pytest.mark.parametrize(
    ("policy", "day", "declared"),
    [
        ("EXTENDED", "2026-12-02", "EXTENDED"),
        ("EXTENDED", "2026-12-01", "STANDARD"),
        ("STANDARD", "2026-12-02", "STANDARD"),
    ],
)
def test_extended_support_ends_with_a_version_in_standard_support(
    policy: str, day: str, declared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """https://docs.aws.amazon.com/eks/latest/userguide/disable-extended-support.html (1.34: from 2026-12-02 on)."""
    monkeypatch.setitem(eks_answers.CLUSTER, "upgradePolicies", [{"supportType": policy}])
    cluster = running_version("1.33", monkeypatch, day=date.fromisoformat(day)).only(CLUSTER).inputs
    assert (cluster["version"], cluster["upgradePolicy"]) == ("1.34", {"supportType": declared})


def test_a_new_cluster_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(eks_answers.CALLS, "aws:eks/getClusters:getClusters", {"names": ["another"]})
    recording = eks_specs.run(cluster={})
    assert "aws:eks/getCluster:getCluster" not in recording.calls
    assert recording.only(CLUSTER).inputs["version"] == OURS


def addon_versions(recording: recorder.Recording) -> dict[str, str]:
    addons = recording.of_type("aws:eks/addon:Addon")
    return {each.inputs["addonName"]: each.inputs["addonVersion"] for each in addons if "addonVersion" in each.inputs}


@pytest.mark.parametrize("running", ["1.34", OURS, LATER])
def test_kube_proxy_and_coredns_go_with_what_runs(running: str, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = OURS if running == "1.34" else running
    versions = {"kube-proxy": f"v{declared}.7-eksbuild.1", "coredns": "v1.13.2-eksbuild.4"}
    assert addon_versions(running_version(running, monkeypatch)) == versions


def test_a_written_version_of_an_addon_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    pins = {"kube-proxy": "v1.35.1-eksbuild.2", "vpc-cni": "v1.21.0-eksbuild.4"}
    versions = {"coredns": "v1.13.2-eksbuild.4", **pins}
    assert addon_versions(running_version(OURS, monkeypatch, addon_versions=pins)) == versions
