"""Which cluster-autoscaler runs and finds which groups, which it prefers, and what it lacks to scale an empty one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from facts.catalog.eks.node_tags import node_template
from packages.rehearsal.tests.fleet.test_packing import node, running
from packages.rehearsal.tests.providers.eks.autoscaling import (
    CLUSTER,
    EKS_TAGS,
    ENABLED,
    FLAGS,
    LABELS,
    OWN,
    TAINT,
    TEMPLATE,
    TEMPLATE_TAGS,
    declared,
    deployment,
    installed,
    policy,
    role,
    snapshot,
)
from packages.rehearsal.tests.tables import cases
from rehearsal.fleet.packing import Used, unneeded
from rehearsal.providers.eks.autoscaling.cluster_autoscaler import (
    READS,
    WRITES,
    FlagError,
    cluster_autoscaler,
    evaluate,
    observed_group,
    parse,
    why_idle,
    why_unseen,
)
from rehearsal.simulation import Packing, SimulatedNodeGroup
from tests.components import eks_specs
from tests.components.specs import changed

HIDDEN = {"eks.amazonaws.com/nodegroup": "gpu-1"}  # EKS's own label, which nothing tells the autoscaler


def view(tags: dict[str, str], *, described: bool = False, **changes: Any) -> SimulatedNodeGroup:
    return observed_group(declared(asg_tags=tags, **changes), described=described)


def test_with_all_tags_only_the_clouds_own_labels_are_unknown_to_the_autoscaler() -> None:
    group = view(TEMPLATE_TAGS)
    assert group.late_labels == HIDDEN
    assert {**group.nodes.labels, **HIDDEN} == declared().base.nodes.labels
    assert not group.nodes.labels.keys() & HIDDEN.keys()
    assert (group.nodes.taints, group.late_taints) == ((TAINT,), ())


@pytest.mark.parametrize("key", sorted(LABELS))
def test_a_label_without_its_tag_is_unknown_to_the_autoscaler(key: str) -> None:
    tags = {name: value for name, value in TEMPLATE_TAGS.items() if name != f"{TEMPLATE}label/{key}"}
    assert view(tags).late_labels == {**HIDDEN, key: LABELS[key]}
    assert view({**tags, f"{TEMPLATE}label/{key}": "other"}).late_labels == {**HIDDEN, key: LABELS[key]}


@cases
def test_a_taint_is_known_by_value_and_effect(text: str, known: bool) -> None:
    group = view({**TEMPLATE_TAGS, f"{TEMPLATE}taint/nvidia.com/gpu": text})
    assert (group.nodes.taints, group.late_taints) == (((TAINT,), ()) if known else ((), (TAINT,)))


def test_describe_nodegroup_tells_what_tags_do_not() -> None:
    assert view(EKS_TAGS).late_labels == {**HIDDEN, **LABELS}
    assert view(EKS_TAGS).late_taints == (TAINT,)
    group = view(EKS_TAGS, described=True)
    assert (group.late_labels, group.late_taints) == (HIDDEN, ())


def test_describe_nodegroup_is_asked_only_about_groups_that_eks_has_tagged() -> None:
    assert view({}, described=True).late_labels == {**HIDDEN, **LABELS}
    assert view({"eks:cluster-name": "demo"}, described=True).late_labels == {**HIDDEN, **LABELS}


def test_labels_of_describe_nodegroup_win_over_tags() -> None:
    tags = {**EKS_TAGS, f"{TEMPLATE}label/gpucluster.dev/pool": "old"}
    assert view(tags, described=True).late_labels == HIDDEN


@cases
def test_gpus_of_the_type_or_of_a_tag(tags: dict[str, str], node_group_tags: dict[str, str], gpus: int) -> None:
    base = declared().base
    base = replace(base, machine=replace(base.machine, gpus=2))
    group = view(tags, described=True, nodegroup_tags=node_group_tags, base=base)
    assert group.machine.gpus == gpus
    assert group.offered_gpus == (None if gpus == 2 else 2), "a node has what its machine has"


def test_node_group_tags_count_only_through_describe_nodegroup() -> None:
    eight = {f"{TEMPLATE}resources/nvidia.com/gpu": "8"}
    assert view(EKS_TAGS, nodegroup_tags=eight).machine.gpus == 1
    assert view(EKS_TAGS, nodegroup_tags=eight, described=True).machine.gpus == 8


@pytest.mark.parametrize(
    ("minimum", "zones"), [(0, ("us-west-2b",)), (1, ("us-west-2a", "us-west-2b")), (3, ("us-west-2a", "us-west-2b"))]
)
def test_of_several_zones_the_first_in_aws_order(minimum: int, zones: tuple[str, ...]) -> None:
    base = changed(declared().base, zones=("us-west-2a", "us-west-2b"), min_nodes=minimum)
    assert view(TEMPLATE_TAGS, base=base, asg_zones=("us-west-2b", "us-west-2a")).nodes.zones == zones


def test_the_disk_of_an_empty_group_is_known_by_its_tag_alone() -> None:
    whole = declared().base.machine.disk_mib
    assert view(TEMPLATE_TAGS).machine.disk_mib == 0
    assert view({**TEMPLATE_TAGS, f"{TEMPLATE}resources/ephemeral-storage": "90Gi"}).machine.disk_mib == whole > 0


@pytest.mark.parametrize(("tagged", "whole"), [((), True), (("cpu",), True), (("cpu", "memory"), False)])
def test_an_empty_group_without_tags_for_cpu_and_memory_is_planned_as_a_whole_machine(
    tagged: tuple[str, ...], whole: bool
) -> None:
    machine = view({**TEMPLATE_TAGS, **{f"{TEMPLATE}resources/{each}": "1" for each in tagged}}).planned_machine
    assert ((machine.reserved_milli_cpu, machine.reserved_memory_mib) == (0, 0)) is whole


OWN_TAG = {"StringEquals": {f"aws:ResourceTag/{OWN}": "owned"}}


def never() -> bool:
    return False


def always() -> bool:
    return True


def test_with_everything_in_place_the_group_scales() -> None:
    group = evaluate(snapshot(), declared(), never)
    assert group.scaling.autoscaled
    assert (group.scaling.min_nodes, group.scaling.max_nodes, group.not_scaled_because) == (0, 4, "")
    assert (group.rank, group.late_taints) == (None, ())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"installation": None}, "no autoscaler runs"),
        ({"installation": installed(ready=0)}, "has no ready pod"),
        ({"installation": installed(*FLAGS, "--typo")}, "--typo is not a flag"),
        ({"role": "service account x has no AWS identity"}, "has no AWS identity"),
        ({"installation": installed(*FLAGS, "--expander=priority"), "priorities": "no ConfigMap"}, "no ConfigMap"),
        *[({"role": role(policy(reads=tuple(each for each in READS if each != action)))}, action) for action in READS],
        *[
            ({"role": role(policy(writes=tuple(each for each in WRITES if each != action)))}, action)
            for action in WRITES
        ],
    ],
)
def test_what_is_missing_is_named(change: dict[str, Any], reason: str) -> None:
    group = evaluate(snapshot(**change), declared(), never)
    assert not group.scaling.autoscaled
    assert reason in group.not_scaled_because
    assert group == replace(declared().base, not_scaled_because=group.not_scaled_because)


@pytest.mark.parametrize(
    "change", [{}, {"installation": None}, {"role": "none"}, {"role": role(policy(writes=("x",)))}]
)
def test_a_group_of_fixed_size_misses_nothing(change: dict[str, Any]) -> None:
    immutable = declared(min_size=2, max_size=2)
    assert evaluate(snapshot(**change), immutable, never) == declared().base
    almost = declared(min_size=2, max_size=3)
    assert bool(evaluate(snapshot(**change), almost, never).not_scaled_because) is bool(change)


@cases
def test_writes_conditioned_on_a_tag(condition: dict[str, Any], scales: bool) -> None:
    group = evaluate(snapshot(role=role(policy(**condition))), declared(), never)
    assert group.scaling.autoscaled is scales
    assert scales or "autoscaling:SetDesiredCapacity" in group.not_scaled_because


def test_reads_cannot_be_conditioned_on_a_tag() -> None:
    document = policy()
    document["Statement"][0]["Condition"] = OWN_TAG
    because = evaluate(snapshot(role=role(document)), declared(), never).not_scaled_because
    assert "no identity-based policy allows the autoscaling:Describe" in because


def test_an_unjudged_condition_is_named() -> None:
    document = policy(NumericLessThan={"aws:MultiFactorAuthAge": "60"})
    group = evaluate(snapshot(role=role(document)), declared(), never)
    assert "NumericLessThan" in group.not_scaled_because


def test_labels_known_only_to_describe_nodegroup_vanish_once_the_group_has_had_a_node() -> None:
    untagged = declared(asg_tags=EKS_TAGS)
    fresh = evaluate(snapshot(), untagged, never)
    used = evaluate(snapshot(), untagged, always)
    assert LABELS.items() & fresh.late_labels.items() == set()
    assert LABELS.items() <= used.late_labels.items()
    assert (fresh.late_taints, used.late_taints) == ((), declared().base.nodes.taints)
    assert {**used.nodes.labels, **used.late_labels} == declared().base.nodes.labels, "a node has them all the same"
    assert used.scaling.autoscaled, "it scales for pods that ask for none of these labels"
    assert evaluate(snapshot(), declared(), always) == evaluate(snapshot(), declared(), never)


def test_without_describe_nodegroup_the_group_scales_by_its_tags_alone() -> None:
    document = policy()
    document["Statement"][0]["Action"].remove("eks:DescribeNodegroup")
    group = evaluate(snapshot(role=role(document)), declared(asg_tags=EKS_TAGS), never)
    assert group.scaling.autoscaled
    assert LABELS.items() <= group.late_labels.items()


def test_describe_nodegroup_may_be_limited_to_the_clusters_groups() -> None:
    for cluster, hidden in ((CLUSTER, False), ("other", True)):
        document = policy()
        document["Statement"][0]["Action"].remove("eks:DescribeNodegroup")
        resource = f"arn:aws:eks:us-west-2:123456789012:nodegroup/{cluster}/*"
        document["Statement"].append({"Effect": "Allow", "Action": "eks:DescribeNodegroup", "Resource": resource})
        group = evaluate(snapshot(role=role(document)), declared(asg_tags=EKS_TAGS), never)
        assert (LABELS.items() <= group.late_labels.items()) is hidden


def test_priorities_become_ranks() -> None:
    both: dict[str, Any] = {"installation": installed(*FLAGS, "--expander=priority")}
    priorities = {30: [re.compile("gpu-1")], 10: [re.compile("gpu")]}
    assert evaluate(snapshot(**both, priorities=priorities), declared(), never).rank == -30
    assert evaluate(snapshot(priorities=priorities), declared(), never).rank is None
    others = {10: [re.compile("^eks-cpu")]}
    assert evaluate(snapshot(**both, priorities=others), declared(), never).rank == 1, "after all that have a place"


@pytest.mark.parametrize(
    ("flags", "tag", "minutes"),
    [([], None, 10), (["--scale-down-unneeded-time=4m"], None, 4), (["--scale-down-unneeded-time=4m"], "1m30s", 2)],
)
def test_nodes_go_after_the_time_of_their_group(flags: list[str], tag: str | None, minutes: int) -> None:
    own = {} if tag is None else {f"{TEMPLATE}autoscaling-options/scaledownunneededtime": tag}
    group = evaluate(
        snapshot(installation=installed(*FLAGS, *flags)), declared(asg_tags={**EKS_TAGS, **TEMPLATE_TAGS, **own}), never
    )
    assert group.scaling.unneeded_minutes == minutes
    assert group.packing == Packing(
        gpus_below=0.5, others_below=0.5, moves_system_pods=False, moves_local_storage=False
    )


CHIPS = {"cpu": "4", "memory": "16Gi", "pods": "10", "aws.amazon.com/neuron": "6"}
BUSY = running(containers=[{"resources": {"requests": {"cpu": "100m"}, "limits": {"aws.amazon.com/neuron": "6"}}}])
DAEMON = running(metadata={"ownerReferences": [{"kind": "DaemonSet", "controller": True}]})


@pytest.mark.parametrize(
    ("dropped", "busy_is_drained", "idle_stays"),
    [("", False, False), ("scaledownutilizationthreshold", True, False), ("ignoredaemonsetsutilization", False, True)],
)
def test_tags_keep_busy_nodes_with_chips_and_let_idle_ones_go(
    dropped: str, busy_is_drained: bool, idle_stays: bool
) -> None:
    """The tags that the program puts on a group, without one of them."""
    tags = node_template(eks_specs.gpu_pool("inf2-6", size=6, gpu="aws-inferentia2"))
    own = {key: value for key, value in tags.items() if key.startswith(f"{TEMPLATE}autoscaling-options/")}
    own.pop(f"{TEMPLATE}autoscaling-options/{dropped}", None)
    packing = evaluate(snapshot(), declared(asg_tags={**EKS_TAGS, **TEMPLATE_TAGS, **own}), never).packing
    assert packing is not None
    nodes = [{**node(name), "status": {**node(name)["status"], "allocatable": CHIPS}} for name in ("here", "there")]
    used = Used(nodes[0], [BUSY, DAEMON])
    assert unneeded(used, [Used(nodes[1], [])], packing) is busy_is_drained
    assert Used(nodes[0], [DAEMON]).below(packing) is not idle_stays


@pytest.mark.parametrize(
    ("flag", "tag", "below"),
    [("0.3", None, 0.3), ("0.3", "0.2", 0.2), ("0.3", "some", 0.3)],
)
def test_a_threshold_is_the_group_s_or_that_of_all(flag: str, tag: str | None, below: float) -> None:
    """``TestGetAsgOptions`` of cluster-autoscaler has the same cases."""
    own = {} if tag is None else {f"{TEMPLATE}autoscaling-options/scaledownutilizationthreshold": tag}
    here = snapshot(installation=installed(*FLAGS, f"--scale-down-utilization-threshold={flag}"))
    group = evaluate(here, declared(asg_tags={**EKS_TAGS, **TEMPLATE_TAGS, **own}), never)
    assert group.packing is not None
    assert (group.packing.others_below, group.packing.gpus_below) == (below, 0.5)


DISCOVERY = "--node-group-auto-discovery=asg:tag="


@cases
def test_the_deployment_is_known_by_its_image(image: str) -> None:
    autoscaler = cluster_autoscaler([deployment(image="nginx:1"), deployment(image=image)])
    assert autoscaler is not None
    assert (autoscaler.where, autoscaler.service_account) == ("kube-system/cluster-autoscaler", "cluster-autoscaler")


@pytest.mark.parametrize("image", ["registry.k8s.io/cpa/cluster-proportional-autoscaler:v1.9.0", "vertical-autoscaler"])
def test_other_autoscalers_are_not_it(image: str) -> None:
    assert cluster_autoscaler([deployment(image=image)]) is None


def test_of_two_the_one_that_is_ready() -> None:
    autoscaler = cluster_autoscaler([deployment(ready=0), deployment("--v=4"), deployment(ready=0)])
    assert autoscaler is not None
    assert autoscaler.ready == 1


@cases
def test_why_it_scales_nothing(flags: list[str], ready: int, reason: str) -> None:
    actual = why_idle(installed(*flags, ready=ready))
    assert reason in actual if reason else actual == ""


@cases
def test_spellings_of_flags(words: list[str]) -> None:
    flags = parse(words)
    assert flags.provider == "aws"
    assert flags.discovery == ({ENABLED: "", OWN: ""},)


@cases
def test_flags_that_end_the_autoscaler(flag: str, message: str) -> None:
    with pytest.raises(FlagError, match=message):
        parse([*FLAGS, flag])


@pytest.mark.parametrize(
    ("flag", "release", "known"),
    [
        ("--max-node-startup-time=15m", "v1.35.0", True),
        ("--max-node-startup-time=15m", "v1.34.2", False),
        ("--salvo-scale-up", "v1.36.1", True),
        ("--salvo-scale-up", "v1.35.2", False),
        ("--startup-taint-prefix=example.com/", "v1.33.0", False),
        ("--startup-taint-prefix=example.com/", "latest", True),
        ("--scale-down-candidates-pool-min-count=9", "v1.33.0", True),
    ],
)
def test_a_flag_that_the_image_lacks_ends_it(flag: str, release: str, known: bool) -> None:
    image = f"registry.k8s.io/autoscaling/cluster-autoscaler:{release}"
    reason = why_idle(cluster_autoscaler([deployment(*FLAGS, flag, image=image)]))
    assert (reason == "") is known
    assert known or f"{flag.partition('=')[0]} is a flag since 1.3" in reason


def test_a_real_program_gets_the_flags_that_the_deployment_declares() -> None:
    own = installed(*FLAGS, "--balancing-ignore-label", "a", "--balancing-ignore-label=b", "--scale-down-enabled")
    flags = evaluate(snapshot(installation=own), declared(), never).autoscaler_flags
    assert [each for each in flags if each.startswith("--bal")] == [f"--balancing-ignore-label={each}" for each in "ab"]
    assert flags[-1] == "--scale-down-enabled=true"


@pytest.mark.parametrize(
    ("expander", "ordered"), [("priority", True), ("priority,least-waste", True), ("least-waste,priority", False)]
)
def test_only_the_priority_expander_orders(expander: str, ordered: bool) -> None:
    assert parse([*FLAGS, f"--expander={expander}"]).ordered is ordered
    assert not parse(FLAGS).ordered


@cases
def test_discovery_by_tag_keys(tags: dict[str, str], lacks: str) -> None:
    problem = why_unseen(parse(FLAGS), "eks-gpu", tags)
    assert f"lacks the tag {lacks} that" in problem if lacks else problem == ""


@pytest.mark.parametrize(("value", "matches"), [("a", True), ("b", False)])
def test_discovery_by_a_tags_value(value: str, matches: bool) -> None:
    assert (why_unseen(parse([f"{DISCOVERY}team=a"]), "eks-gpu", {"team": value}) == "") is matches


def test_one_of_several_discoveries_suffices() -> None:
    flags = parse([f"{DISCOVERY}a,b", f"{DISCOVERY}c"])
    assert why_unseen(flags, "eks-gpu", {"c": "1"}) == ""
    assert "lacks the tag b that" in why_unseen(flags, "eks-gpu", {"a": ""})
