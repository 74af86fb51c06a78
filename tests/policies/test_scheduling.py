"""Node affinity and tolerations as the scheduler reads them, with a third answer for what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.concepts.declared import NodeGroup, Stack, Workload
from facts.concepts.kubernetes import Taint, Toleration
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import UNKNOWN
from policies.rules import workloads as rules
from policies.rules.samples import GPUS as SAMPLE
from policies.rules.samples import JOB
from policies.rules.scheduling import distinct, offers_gpus, selectable, selects, untolerated_when_admitted

GROUP = NodeGroup(
    name="g",
    cloud="gke",
    nodes=Nodes(
        machine_types=(None,), zones=(), labels={"gpus": "4", "zone": UNKNOWN, "driver.example.com/version": None}
    ),
)


def affine(*expressions: dict[str, Any]) -> Workload:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return Workload(
        "w", "n", "Pod", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    )


@pytest.mark.parametrize(
    ("key", "operator", "values", "answer"),
    [
        ("gpus", "Exists", [], True),
        ("gpus", "DoesNotExist", [], False),
        ("gpus", "In", ["1", "4"], True),
        ("gpus", "In", ["8"], False),
        ("gpus", "In", ["8", UNKNOWN], UNKNOWN),
        ("gpus", "NotIn", ["8"], True),
        ("gpus", "Gt", ["3"], True),
        ("gpus", "Lt", ["3"], False),
        ("gpus", "Gt", ["many"], False),
        ("zone", "Exists", [], True),
        ("zone", "In", ["a"], UNKNOWN),
        ("driver.example.com/version", "Exists", [], False),
        ("driver.example.com/version", "DoesNotExist", [], True),
        ("missing", "In", ["x"], False),
        ("missing", "NotIn", ["x"], True),
        ("topology.kubernetes.io/zone", "In", ["a"], UNKNOWN),
        ("topology.kubernetes.io/zone", "Exists", [], UNKNOWN),
        ("topology.kubernetes.io/zone", "DoesNotExist", [], UNKNOWN),
        (UNKNOWN, "Exists", [], UNKNOWN),
    ],
)
def test_expressions(key: Any, operator: str, values: list[Any], answer: Any) -> None:
    assert selects(affine({"key": key, "operator": operator, "values": values}), GROUP) is answer


def test_expressions_of_a_term_are_all_needed_and_terms_are_alternatives() -> None:
    yes, no = {"key": "gpus", "operator": "Exists"}, {"key": "gpus", "operator": "DoesNotExist"}
    assert selects(affine(yes, no), GROUP) is False
    terms = {"nodeSelectorTerms": [{"matchExpressions": [no]}, {"matchExpressions": [yes]}]}
    either = Workload(
        "w", "n", "Pod", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    )
    assert selects(either, GROUP) is True


def test_a_selector_and_an_affinity_must_both_match() -> None:
    workload = Workload("w", "n", "Pod", node_selector={"gpus": "1"})
    assert selects(workload, GROUP) is False
    assert selects(Workload("w", "n", "Pod", node_selector={"gpus": "4"}), GROUP) is True
    assert selects(Workload("w", "n", "Pod"), GROUP) is True


def test_an_auto_provisioned_group_is_made_to_fit() -> None:
    group = NodeGroup(
        name="a",
        cloud="gke",
        kind="auto-provisioned",
        gpus=Gpus(per_node=1),
        scaling=Scaling(autoscaled=False, max_nodes=8),
    )
    assert selects(Workload("w", "n", "Pod", node_selector={"any": "thing"}), group) is UNKNOWN
    assert offers_gpus(group, 8) is True
    assert offers_gpus(group, 9) is False


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration("a", "Exists"), True),
        (Toleration("a", "Equal", "x"), True),
        (Toleration("a", "Equal", "y"), False),
        (Toleration("a"), False),
        (Toleration("b", "Exists"), False),
        (Toleration(None, "Exists"), True),
        (Toleration(None), False),
        (Toleration(key="a", operator="Exists", effect="NoExecute"), False),
        (Toleration("a", "Equal", "x", "NoSchedule"), True),
    ],
)
def test_tolerations(toleration: Toleration, tolerated: bool) -> None:
    assert toleration.tolerates(Taint("a", "x", "NoSchedule")) is tolerated


def test_groups_that_no_workload_tells_apart_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def counted(workload: Workload, group: NodeGroup) -> Any:
        nonlocal calls
        calls += 1
        return untolerated_when_admitted(workload, group)

    monkeypatch.setattr(rules, "untolerated_when_admitted", counted)
    groups = tuple(
        replace(SAMPLE, name=f"g{n}", nodes=replace(SAMPLE.nodes, labels={"pool": f"g{n}"})) for n in range(100)
    )
    jobs = tuple(replace(JOB, name=f"j{n}", node_selector={"pool": "g7"} if n == 0 else {}) for n in range(100))
    assert rules.placeable(Stack(groups, jobs[1:])) == []
    assert calls == len(jobs) - 1
    assert rules.placeable(Stack(groups, jobs)) == []
    assert [group.name for group in distinct(Stack(groups, jobs[1:])).groups] == ["g0"]
    assert len(distinct(Stack(groups, jobs)).groups) == len(groups), "one workload tells all of them apart"


_KEYS = st.sampled_from(["team", "size", "topology.kubernetes.io/zone"])
_LABELS = st.one_of(
    st.just(UNKNOWN), st.dictionaries(_KEYS, st.one_of(st.sampled_from(["a", "b"]), st.none(), st.just(UNKNOWN)))
)
_GROUPS = st.builds(
    NodeGroup,
    name=st.sampled_from(["g", "h"]),
    cloud=st.just("gke"),
    nodes=st.builds(Nodes, machine_types=st.just((None,)), zones=st.just(()), labels=_LABELS),
    kind=st.sampled_from(["pool", "auto-provisioned"]),
)
_SELECTORS = st.one_of(
    st.just(UNKNOWN), st.dictionaries(_KEYS, st.one_of(st.sampled_from(["a", "b", "c"]), st.just(UNKNOWN)))
)


@given(st.lists(_GROUPS, max_size=6), _SELECTORS)
def test_groups_looked_up_by_label_are_all_that_a_selector_may_choose(groups: list[NodeGroup], selector: Any) -> None:
    workload = Workload("w", "n", "Pod", node_selector=selector)
    node_groups = list(selectable(groups)(workload))
    assert node_groups == [group for group in groups if any(group is one for one in node_groups)], "in their order"
    left_out = [group for group in groups if not any(group is one for one in node_groups)]
    assert all(selects(workload, group) is False for group in left_out)


@pytest.mark.parametrize("few", [True, False])
def test_a_refusal_names_the_groups_that_fit_best_and_counts_the_others(few: bool) -> None:
    groups = [
        replace(SAMPLE, name=f"g{n}", nodes=replace(SAMPLE.nodes, labels={"team": str(n)}))
        for n in range(3 if few else 40)
    ]
    near = replace(
        SAMPLE,
        name="near",
        nodes=replace(SAMPLE.nodes, labels={"team": "none"}, taints=(Taint("team", "red", "NoSchedule"),)),
    )
    workload = replace(JOB, node_selector={"team": "none"})
    (violation,) = rules.placeable(Stack(groups=(*groups, near), workloads=(workload,)))
    assert "'near' repels it with team=red:NoSchedule" in violation.message
    assert "toleration {key: team" in violation.remedy
    assert ("and 33 more" in violation.message) is not few
