"""Cluster-autoscaler on EKS: what it may do, what it finds, in which order it tries pools, and when nodes go."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from components.clouds.eks import autoscaling
from facts import catalog
from facts.catalog.eks import node_tags
from facts.catalog.eks.versions import CLUSTER_AUTOSCALERS, KARPENTERS, kubernetes_minor
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import Pool
from tests import eks_answers, recorder
from tests.components import eks_specs

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
CLUSTER = "gpu-test"
SPOT = eks_specs.gpu_pool("t4-1-spot-a")
SPOT_B = eks_specs.gpu_pool("t4-1-spot-b", zones=("us-west-2b",))
FALLBACK = eks_specs.gpu_pool("t4-1-ondemand", capacity_type="on-demand", preference=1)
BIG = eks_specs.gpu_pool("t4-4-spot-a", size=4, machine_types=("g4dn.12xlarge",))


def run(*pools: Pool, **cluster: Any) -> recorder.Recording:
    return eks_specs.recorded(*(pools or (SPOT,)), cluster=cluster)


def container(recording: recorder.Recording) -> dict[str, Any]:
    pod = recording.only(DEPLOYMENT).inputs["spec"]["template"]["spec"]
    (only_container,) = pod["containers"]
    return dict(only_container)


def flags(**cluster: Any) -> dict[str, str]:
    program, *written = container(run(**cluster))["command"]
    assert program == "./cluster-autoscaler"
    return dict(flag.removeprefix("--").split("=", 1) for flag in written)


def statements(recording: recorder.Recording) -> list[dict[str, Any]]:
    deployment = recording.only(DEPLOYMENT).inputs
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    return eks_specs.rights(recording, account, deployment["metadata"]["namespace"])


def test_it_has_exactly_the_actions_it_needs() -> None:
    actions = [action for statement in statements(run()) for action in statement["Action"]]
    assert sorted(actions) == [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeScalingActivities",
        "autoscaling:SetDesiredCapacity",
        "autoscaling:TerminateInstanceInAutoScalingGroup",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
        "eks:DescribeNodegroup",
    ]


def test_it_changes_groups_of_its_own_cluster_alone() -> None:
    for statement in statements(run()):
        reads = all(re.match(r"[a-z0-9]+:(Describe|Get)", action) for action in statement["Action"])
        owner = {f"aws:ResourceTag/k8s.io/cluster-autoscaler/{CLUSTER}": "owned"}
        assert reads or owner.items() <= statement["Condition"]["StringEquals"].items()


def test_it_describes_node_groups_of_its_own_cluster_alone() -> None:
    (describe,) = [each for each in statements(run()) if "eks:DescribeNodegroup" in each["Action"]]
    own = f"arn:aws:eks:us-west-2:{eks_answers.ACCOUNT}:nodegroup/{CLUSTER}/*"
    assert (describe["Action"], describe["Resource"]) == (["eks:DescribeNodegroup"], own)


def test_what_it_looks_for_is_what_it_may_change() -> None:
    kind, _, keys = flags()["node-group-auto-discovery"].partition(":tag=")
    assert kind == "asg"
    (scale,) = [statement for statement in statements(run()) if "Condition" in statement]
    tags = {key.removeprefix("aws:ResourceTag/") for key in scale["Condition"]["StringEquals"]}
    assert set(keys.split(",")) == tags == {node_tags.ENABLED, node_tags.owned(CLUSTER)}


@pytest.mark.parametrize("minor", CLUSTER_AUTOSCALERS)
def test_its_minor_version_is_the_clusters(minor: str) -> None:
    recording = run(version=minor)
    assert recording.only("aws:eks/cluster:Cluster").inputs["version"] == minor
    repository, _, tag = container(recording)["image"].partition(":")
    assert repository == "registry.k8s.io/autoscaling/cluster-autoscaler"
    assert re.fullmatch(rf"v{re.escape(minor)}\.\d+", tag)


@pytest.mark.parametrize("known", [CLUSTER_AUTOSCALERS, KARPENTERS], ids=["cluster-autoscaler", "karpenter"])
@pytest.mark.parametrize("channel", catalog.of("eks").choices.kubernetes_versions)
def test_a_channel_means_a_version_that_autoscalers_go_with(known: dict[str, str], channel: str) -> None:
    assert kubernetes_minor(None, channel) in known


@pytest.mark.parametrize(
    ("cluster", "minutes"),
    [
        ({"autoscaling_profile": "balanced"}, "10m"),
        ({"autoscaling_profile": "optimize-utilization"}, "5m"),
        ({"autoscaling_profile": "optimize-utilization", "unneeded_minutes": 2}, "2m"),
    ],
)
def test_how_long_nodes_stay_idle(cluster: dict[str, Any], minutes: str) -> None:
    written = flags(**cluster)
    assert written["scale-down-unneeded-time"] == minutes
    assert written["scale-down-delay-after-add"] == minutes


def test_no_system_pod_keeps_a_node_and_no_computing_node_is_emptied() -> None:
    written = flags()
    assert written["skip-nodes-with-system-pods"] == "false"
    assert written["node-info-cache-expire-time"] == "1m"
    assert written["skip-nodes-with-local-storage"] == "false"
    # Below one share of one GPU among the most shares of the most GPUs a node may have.
    assert 0 < float(written["scale-down-gpu-utilization-threshold"]) < 1 / (8 * 48)


def test_zones_of_one_pool_grow_evenly() -> None:
    assert flags()["balance-similar-node-groups"] == "true"
    prefix = "--balancing-ignore-label="
    ignored = {flag.removeprefix(prefix) for flag in container(run())["command"] if flag.startswith(prefix)}
    differing = {key for key in SPOT.nodes.labels if SPOT.nodes.labels[key] != SPOT_B.nodes.labels[key]}
    # What EKS adds differs too: each group has a template of its own, and may have an older image.
    added = {"sourceLaunchTemplateId", "sourceLaunchTemplateVersion", "nodegroup-image"}
    assert ignored == differing | {f"eks.amazonaws.com/{name}" for name in added}


def test_a_node_that_is_added_keeps_only_its_own_group() -> None:
    assert flags()["scale-down-delay-type-local"] == "true"


def order(*pools: Pool) -> list[list[str]]:
    """Auto Scaling groups in the order in which the expander tries them."""
    recording = run(*pools)
    groups = {one.inputs["autoscalingGroupName"] for one in recording.of_type("aws:autoscaling/tag:Tag")}
    (text,) = [one.inputs["data"]["priorities"] for one in recording.of_type(CONFIG_MAP)]
    read: dict[int, list[str]] = yaml.safe_load(text)
    assert read.pop(min(read)) == [".*"]
    short = {group: re.sub("-0c5b2e4a.*", "", group) for group in groups}
    places = [read[number] for number in sorted(read, reverse=True)]
    return [sorted(short[each] for each in groups if any(re.search(one, each) for one in place)) for place in places]


def test_spot_comes_first_then_fewer_gpus_then_the_fallback() -> None:
    expected = [["eks-t4-1-spot-a", "eks-t4-1-spot-b"], ["eks-t4-4-spot-a"], ["eks-t4-1-ondemand"]]
    assert order(FALLBACK, BIG, SPOT_B, SPOT) == expected


def test_a_pool_whose_name_continues_anothers_has_its_own_place() -> None:
    longer = eks_specs.gpu_pool("t4-1-spot-a-0", capacity_type="on-demand")
    assert order(SPOT, longer) == [["eks-t4-1-spot-a"], ["eks-t4-1-spot-a-0"]]


def test_the_expander_reads_the_declared_order() -> None:
    assert flags()["expander"] == "priority,least-waste"
    assert run().only(CONFIG_MAP).inputs["metadata"]["name"] == "cluster-autoscaler-priority-expander"


def test_it_runs_on_the_admin_pool_and_other_pods_give_way_to_it() -> None:
    pod = run().only(DEPLOYMENT).inputs["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"gpucluster.dev/role": "admin"}
    assert pod["priorityClassName"] == "system-cluster-critical"


def test_it_may_be_moved_and_is_measured() -> None:
    recording = run()
    budget = recording.only("kubernetes:policy/v1:PodDisruptionBudget").inputs["spec"]
    template = recording.only(DEPLOYMENT).inputs["spec"]["template"]
    assert budget["selector"]["matchLabels"] == template["metadata"]["labels"]
    assert budget["maxUnavailable"] == 1
    assert template["metadata"]["annotations"]["prometheus.io/scrape"] == "true"


def test_it_has_no_right_on_its_node() -> None:
    context = container(run())["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)


def test_its_rights_in_the_cluster_name_what_it_changes() -> None:
    recording = run()
    kinds = [f"kubernetes:rbac.authorization.k8s.io/v1:{kind}" for kind in ("ClusterRole", "Role")]
    rules = [rule for kind in kinds for rule in recording.called(kind, "cluster-autoscaler").inputs["rules"]]
    for rule in rules:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
        of_names = set(rule["resources"]) & {"configmaps", "leases", "secrets"}
        if of_names and {"update", "delete", "get"} & set(rule["verbs"]):
            assert rule["resourceNames"]
    assert not [rule for rule in rules if "secrets" in rule["resources"]]


@pytest.mark.parametrize(
    ("pool", "cluster", "phrase"),
    [
        (eks_specs.gpu_pool(), {}, "cluster-autoscaler on"),
        (eks_specs.gpu_pool(), {"autoscaler": "karpenter"}, "Karpenter on"),
        (eks_specs.gpu_pool(), {}, "reserved, then spot, then on-demand"),
        (eks_specs.gpu_pool(), {"unneeded_minutes": 3}, "3 minutes"),
        (eks_specs.gpu_pool(unneeded_minutes=9), {"unneeded_minutes": 3}, "9 minutes"),
        (eks_specs.gpu_pool(), {}, "us-west-2a only"),
        (eks_specs.gpu_pool(capacity_type="spot"), {}, "AWS recommends rebalancing the spot instance"),
        (eks_specs.gpu_pool(), {}, "yes: the minimum is 0 and the taints nvidia.com/gpu=present:NoSchedule"),
        (eks_specs.cpu_pool(), {}, "yes, without pods"),
        (eks_specs.cpu_pool(taints=(Taint("a", "b", "PreferNoSchedule"),)), {}, "yes, without pods"),
        (eks_specs.cpu_pool(min_nodes=2), {}, "no: the minimum is 2"),
    ],
)
def test_governance_says_what_is_so(pool: Pool, cluster: dict[str, Any], phrase: str) -> None:
    rows = autoscaling.governance(pool, eks_specs.cluster_settings(**cluster)).as_output(pool)
    assert any(phrase in str(value) for value in rows.values())
