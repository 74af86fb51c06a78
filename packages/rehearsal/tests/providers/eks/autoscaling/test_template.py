"""What cluster-autoscaler sees of an empty group, and which group it prefers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks.autoscaling import (
    EKS_TAGS,
    LABELS,
    TAINT,
    TEMPLATE,
    TEMPLATE_TAGS,
    declared,
)
from rehearsal.providers.eks.autoscaling.cluster_autoscaler import (
    CONFIG_MAP,
    ObservedNode,
    observed_node,
    ordered,
    priorities,
    rank,
    template,
)
from rehearsal.simulation import SimulatedNodeGroup

DESCRIBED = ObservedNode(LABELS, ({**TAINT, "effect": "NO_SCHEDULE"},))
HIDDEN = {"eks.amazonaws.com/nodegroup": "gpu-1"}  # EKS's own label, which nothing tells the autoscaler


def view(tags: dict[str, str], described: ObservedNode | None = None, gpus: int = 1) -> SimulatedNodeGroup:
    base = declared().base
    base = replace(base, machine=replace(base.machine, gpus=gpus))
    return observed_node(base, template(gpus, tags, described), base.zones)


def test_with_all_tags_only_the_clouds_own_labels_are_unknown_to_the_autoscaler() -> None:
    group = view(TEMPLATE_TAGS)
    assert group.late_labels == HIDDEN
    assert {**group.labels, **HIDDEN} == declared().base.labels
    assert not group.labels.keys() & HIDDEN.keys()
    assert (group.taints, group.late_taints) == ((TAINT,), ())


@pytest.mark.parametrize("key", sorted(LABELS))
def test_a_label_without_its_tag_is_unknown_to_the_autoscaler(key: str) -> None:
    tags = {name: value for name, value in TEMPLATE_TAGS.items() if name != f"{TEMPLATE}label/{key}"}
    assert view(tags).late_labels == {**HIDDEN, key: LABELS[key]}
    assert view({**tags, f"{TEMPLATE}label/{key}": "other"}).late_labels == {**HIDDEN, key: LABELS[key]}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("present:NoSchedule", True),
        ("present:NoExecute", False),
        ("absent:NoSchedule", False),
        ("present", False),
        ("present:NO_SCHEDULE", False),
        ("present:NoScheduleAtAll", False),
    ],
)
def test_a_taint_is_known_by_value_and_effect(text: str, known: bool) -> None:
    group = view({**TEMPLATE_TAGS, f"{TEMPLATE}taint/nvidia.com/gpu": text})
    assert (group.taints, group.late_taints) == (((TAINT,), ()) if known else ((), (TAINT,)))


def test_describe_nodegroup_tells_what_tags_do_not() -> None:
    assert view(EKS_TAGS).late_labels == {**HIDDEN, **LABELS}
    assert view(EKS_TAGS).late_taints == (TAINT,)
    group = view(EKS_TAGS, DESCRIBED)
    assert (group.late_labels, group.late_taints) == (HIDDEN, ())


def test_describe_nodegroup_is_asked_only_about_groups_that_eks_has_tagged() -> None:
    assert view({}, DESCRIBED).late_labels == {**HIDDEN, **LABELS}
    assert view({"eks:cluster-name": "demo"}, DESCRIBED).late_labels == {**HIDDEN, **LABELS}


def test_labels_of_describe_nodegroup_win_over_tags() -> None:
    tags = {**EKS_TAGS, f"{TEMPLATE}label/gpucluster.dev/pool": "old"}
    assert view(tags, DESCRIBED).late_labels == HIDDEN


@pytest.mark.parametrize(
    ("tags", "node_group_tags", "gpus"),
    [
        ({}, {}, 2),
        ({f"{TEMPLATE}resources/nvidia.com/gpu": "8"}, {}, 8),
        ({f"{TEMPLATE}resources/nvidia.com/gpu": "many"}, {}, 2),
        ({f"{TEMPLATE}resources/cpu": "8"}, {}, 2),
        (EKS_TAGS, {f"{TEMPLATE}resources/nvidia.com/gpu": "8"}, 8),
        ({**EKS_TAGS, f"{TEMPLATE}resources/nvidia.com/gpu": "4"}, {f"{TEMPLATE}resources/nvidia.com/gpu": "8"}, 8),
    ],
)
def test_gpus_of_the_type_unless_a_tag_says_otherwise(
    tags: dict[str, str], node_group_tags: dict[str, str], gpus: int
) -> None:
    described = ObservedNode(tags=node_group_tags)
    group = view(tags, described, gpus=2)
    assert group.machine.gpus == gpus
    assert group.offered_gpus == (None if gpus == 2 else 2), "a node has what its machine has"


def test_node_group_tags_count_only_through_describe_nodegroup() -> None:
    assert view(EKS_TAGS, gpus=2).machine.gpus == 2


@pytest.mark.parametrize(
    ("minimum", "zones"), [(0, ("us-west-2b",)), (1, ("us-west-2a", "us-west-2b")), (3, ("us-west-2a", "us-west-2b"))]
)
def test_of_several_zones_the_first_in_aws_order(minimum: int, zones: tuple[str, ...]) -> None:
    base = replace(declared().base, zones=("us-west-2a", "us-west-2b"), min_nodes=minimum)
    assert observed_node(base, template(1, TEMPLATE_TAGS, None), ("us-west-2b", "us-west-2a")).zones == zones


def config_map(text: str, namespace: str = "kube-system") -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": CONFIG_MAP}, "data": {"priorities": text}}


def test_the_highest_number_that_matches_ranks_first() -> None:
    numbers = priorities([config_map("10: ['.*']\n50: ['spot']\n30: ['^eks-gpu-1-']")], "kube-system")
    assert not isinstance(numbers, str)
    names = ["eks-gpu-8-x", "eks-gpu-1-x", "eks-gpu-1-spot-x"]
    assert sorted(names, key=lambda name: rank(name, numbers)) == ["eks-gpu-1-spot-x", "eks-gpu-1-x", "eks-gpu-8-x"]


def test_a_group_that_nothing_matches_ranks_last() -> None:
    numbers = priorities([config_map("0: ['^eks-a$']")], "kube-system")
    assert not isinstance(numbers, str)
    assert rank("eks-a", numbers) < rank("eks-ab", numbers)


@pytest.mark.parametrize(
    ("maps", "reason"),
    [
        ([], "does not exist"),
        ([config_map("1: ['a']", namespace="default")], "does not exist"),
        ([config_map("")], "not a map"),
        ([config_map("- a")], "not a map"),
        ([config_map("high: ['a']")], "not a map"),
        ([config_map("1: ['(']")], "not a map"),
        ([{"metadata": {"namespace": "kube-system", "name": CONFIG_MAP}}], "not a map"),
    ],
)
def test_priorities_that_cannot_be_read(maps: list[dict[str, Any]], reason: str) -> None:
    assert reason in str(priorities(maps, "kube-system"))


@pytest.mark.parametrize(
    ("expanders", "answer"),
    [(("priority",), True), (("priority", "least-waste"), True), (("least-waste",), False), (("random",), False)],
)
def test_only_the_priority_expander_orders(expanders: tuple[str, ...], answer: bool) -> None:
    assert ordered(expanders) is answer


def test_the_disk_of_an_empty_group_is_known_by_its_tag_alone() -> None:
    whole = declared().base.machine.disk_mib
    assert view(TEMPLATE_TAGS).machine.disk_mib == 0
    assert view({**TEMPLATE_TAGS, f"{TEMPLATE}resources/ephemeral-storage": "90Gi"}).machine.disk_mib == whole > 0
