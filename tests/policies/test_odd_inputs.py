"""No input, however odd or unknown, makes the gate fail: it reads what it can, and names what it cannot read.

``--hypothesis-profile=long`` tries for minutes what ``make test`` tries for seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.concepts.declared import Unreadable
from facts.concepts.unknown import UNKNOWN
from policies.judging import late_violations, tags_of
from policies.offline import view_of
from policies.readers import linked, read, read_stack, reading, stack_of, waits
from policies.readers.aks import clusters
from policies.readers.resource import Declared
from policies.rules.node_groups import gpu_taint
from policies.rules.samples import GPUS
from policies.rules.table import BY_ID, RULES
from tests.policies.corpus.case import Case, blockers, declared_by, judged
from tests.policies.corpus.programs import read_case
from tests.policies.test_corpus import ALLOWED, BLOCKED, UNJUDGED

_CASES = [*BLOCKED, *ALLOWED]
_TEXTS = ("", " ", "x", "0", "-1", "a=b", "a:b", "${a", "/")
_NUMBERS = (0, -1.0, 1.5, 1e300, math.inf, math.nan)
_SCALARS = st.sampled_from([None, *_TEXTS, True, False, *_NUMBERS, UNKNOWN])
_KEYS = st.sampled_from(["", "a", "key", "name", "value", "effect", "spec", "limits", "min", "containers"])
_ODD = st.recursive(
    _SCALARS, lambda part: st.lists(part, max_size=2) | st.dictionaries(_KEYS, part, max_size=2), max_leaves=4
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _places(part, (*path, key))
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _places(part, (*path, index))


def _with(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    if isinstance(value, Mapping):
        return {**value, path[0]: _with(value[path[0]], path[1:], odd)}
    return [*value[: path[0]], _with(value[path[0]], path[1:], odd), *value[path[0] + 1 :]]


@st.composite
def programs(draw: st.DrawFn) -> Case:
    """A case of the corpus in which something odd stands in up to two places."""
    case = draw(st.sampled_from(_CASES))
    resources = list(case.resources)
    for _ in range(draw(st.integers(1, 2))):
        index = draw(st.integers(0, len(resources) - 1))
        token, name, properties = resources[index]
        places = list(_places(properties))
        if places:
            resources[index] = (token, name, _with(properties, draw(st.sampled_from(places)), draw(_ODD)))
    return replace(case, resources=tuple(resources))


@given(programs())
def test_every_program_is_read_and_judged(case: Case) -> None:
    declared = declared_by(case)
    for resource in declared:
        waits(resource)
        tags_of(resource.properties)
    together = linked(declared)
    read_items = [item for resource in together for item in read(resource)]
    unreadable = [item.why for item in read_items if isinstance(item, Unreadable)]
    assert [why for why in unreadable if "where 0 or more is expected" not in why] == []
    stack = read_stack(together)
    for rule in RULES:
        for subject in (
            [stack] if rule.scope == "stack" else [item for item in read_items if isinstance(item, rule.subjects)]
        ):
            rule.check(subject, {**rule.limits(), **rule.example_limits})


def _unreadable(case: Case) -> set[str]:
    return {violation.resource for violation in blockers(case) if violation.rule == "resource-readable"}


def _unlike() -> Iterator[Any]:
    """Each case with the places of its resources (their number, the path) that no case before it has, and apart, for
    `make test-all`, those that none has beside the same types of resources."""
    seen: set[Any] = set()
    for case in (*_CASES, *UNJUDGED):
        types = frozenset(token for token, _, _ in case.resources)
        places: tuple[list[Any], list[Any]] = ([], [])
        for index, (token, _, properties) in enumerate(case.resources):
            for path in _places(properties):
                key = (token, tuple(step for step in path if isinstance(step, str)))
                if (types, key) not in seen:
                    places[key in seen].append((index, path))
                    seen |= {key, (types, key)}
        for each, marks in zip(places, ([], pytest.mark.rehearsal), strict=True):
            if each:
                yield pytest.param(case, each, marks=marks, id=f"{case.id}{' beside others' if marks else ''}")


@pytest.mark.parametrize(("case", "places"), _unlike())
def test_any_part_may_be_unknown(case: Case, places: list[tuple[int, tuple[Any, ...]]]) -> None:
    for index, path in places:
        token, name, properties = case.resources[index]
        changed = (token, name, _with(properties, path, UNKNOWN))
        program = replace(case, resources=(*case.resources[:index], changed, *case.resources[index + 1 :]))
        unreadable = _unreadable(program)
        assert not unreadable or unreadable <= _unreadable(case)


def _numbers() -> Iterator[tuple[Case, int, tuple[Any, ...]]]:
    """Each number that a resource of the corpus has, once for its type: the case (the shortest), its resource, the
    number's path."""
    seen = set()
    for case in sorted(_CASES, key=lambda case: len(case.resources)):
        for index, (token, _, properties) in enumerate(case.resources):
            for path in _places(properties):
                key = (token, tuple(step for step in path if isinstance(step, str)))
                value = reduce(lambda part, step: part[step], path, properties)
                if isinstance(value, (int, float)) and not isinstance(value, bool) and key not in seen:
                    seen.add(key)
                    yield case, index, path


@pytest.mark.parametrize("number", [-8000, math.nan, "1e400"])
def test_no_number_of_one_resource_lowers_what_the_others_cost(number: Any) -> None:
    nodes = replace(GPUS.nodes, dearest_hourly_usd=1)
    scaling = replace(GPUS.scaling, min_nodes=40, max_nodes=40)
    others = replace(GPUS, name="others", nodes=nodes, scaling=scaling, gpus=replace(GPUS.gpus, per_node=1))
    ceilings = {
        "hourly-cost-ceiling": "maxHourlyUsd",
        "idle-cost-ceiling": "maxIdleUsd",
        "gpu-stack-ceiling": "maxGpus",
    }
    for case, index, path in _numbers():
        token, name, properties = case.resources[index]
        odd = (token, name, _with(properties, path, number))
        program = declared_by(replace(case, resources=(*case.resources[:index], odd, *case.resources[index + 1 :])))
        stack = stack_of([(others,), *map(read, linked(program))])
        for rule, limit in ceilings.items():
            refused = [each for each in BY_ID[rule].check(stack, {limit: 39}) if not each.not_evaluated]
            assert refused, (rule, case.id, token, path)


def test_what_no_reader_can_read_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(resource: Declared) -> Iterator[Any]:
        yield from (None,)
        raise TypeError(f"no such thing in {resource.name}")

    monkeypatch.setattr(reading, "reader_of", lambda token: broken)
    (item,) = read(Declared("gcp:container/nodePool:NodePool", "gpu", "urn:gpu", {}))
    assert item == Unreadable("gcp:container/nodePool:NodePool 'gpu'", "TypeError: no such thing in gpu", "urn:gpu")


@pytest.mark.parametrize("odd", ["", "x", 0, True, []])
def test_an_update_by_azapi_that_is_no_object_leaves_the_pool_as_it_is(odd: Any) -> None:
    (case,) = (case for case in _CASES if case.id == "azapi-raises-a-pools-maximum")
    *others, (token, name, inputs) = case.resources
    changed = replace(case, resources=(*others, (token, name, {**inputs, "body": {"properties": odd}})))
    assert _unreadable(changed) == set()
    assert case.rule in {violation.rule for violation in blockers(case)}
    assert case.rule not in {violation.rule for violation in blockers(changed)}


def test_which_of_two_updates_of_azapi_stays_is_not_known() -> None:
    """Both run at once, in any order."""
    update = {"type": "Microsoft.ContainerService/managedClusters/agentPools@2025-01-01", "resourceId": "${t4}"}
    updates = [
        {
            "type": "azapi:index/updateResource:UpdateResource",
            "name": f"of-{most}",
            "inputs": {**update, "body": {"properties": {"maxCount": most}}},
        }
        for most in (400, 4)
    ]
    for each in (updates, updates[::-1]):
        case = read_case({"id": "two", "limits": {"maxGpus": 8}, "program": ["aks-cluster", "aks-t4", *each]})
        assert [it.not_evaluated for it in judged(case) if it.rule == "gpu-ceiling"] == [True]


@pytest.mark.parametrize(
    ("id", "added"),
    [
        ("azapi-takes-a-pools-taints-away", 1),
        ("azapi-raises-a-pools-maximum", 0),
        ("karpenter-patch-that-takes-the-taint-away", 1),
        ("karpenter-patch-of-limits", 0),
    ],
)
def test_a_pool_is_checked_before_it_is_made_and_again_with_what_another_resource_changes(id: str, added: int) -> None:
    (case,) = (case for case in _CASES if case.id == id)
    declared = declared_by(case)
    pools = [one for one in declared if one.type.endswith((":AgentPool", ":NodePool"))]
    assert pools
    assert not any(map(waits, pools))
    assert [item for pool in pools for item in read(pool) for _ in gpu_taint.check(item, {})] == []
    assert len(late_violations(view_of(declared), gpu_taint, {})) == added


class Asked(dict[str, Any]):
    """Properties that note which of them are asked for."""

    def __init__(self, **properties: Any) -> None:
        super().__init__(properties)
        self.keys_asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.keys_asked.add(key)
        return super().get(key, default)


# Who it is and where, and what an update's own reader or nobody needs: numbers of nodes, machines that cannot change.
_NAMES = {"agentPoolName", "kubernetesClusterId", "location", "name", "parentResourcePath", "resourceName"}
_OTHERWISE = {"availabilityZones", "count", "minCount", "osType"}


@pytest.mark.parametrize(
    ("kind", "reader", "named"),
    [
        ("ManagedCluster", clusters.read_cluster, clusters.OF_CLUSTERS),
        ("AgentPool", clusters.read_agent_pool, clusters.OF_POOLS),
    ],
)
def test_an_update_by_azapi_is_named_for_all_that_readers_ask_of_clusters_and_pools(
    kind: str, reader: Any, named: tuple[str, ...]
) -> None:
    asked = Asked(resourceName="c", vmSize="Standard_NC4as_T4_v3")
    assert [*reader(Declared(f"azure-native:containerservice:{kind}", "c", "urn:c", asked))]
    assert asked.keys_asked - _NAMES - _OTHERWISE <= {key.partition(".")[0] for key in named}


# Inputs of Azure's providers that name another resource.
_NAMING = {"kubernetesClusterId", "parentId", "resourceId", "resourceName", "targetResourceId", "targetResourceUri"}


def _in_capitals(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _in_capitals(part, name) for name, part in value.items()}
    return value.upper() if isinstance(value, str) and key in _NAMING else value


def test_names_and_ids_of_azure_know_no_case() -> None:
    """Each reference in capitals: the rule refuses what it refused, and nothing else is refused."""
    changed = []
    for case in _CASES:
        capitals = tuple(
            (token, name, _in_capitals(inputs) if token.startswith(("azure", "azapi")) else inputs)
            for token, name, inputs in case.resources
        )
        if case.verdict != "not evaluated" and capitals != case.resources:
            before, after = ({each.rule for each in blockers(one)} for one in (case, replace(case, resources=capitals)))
            changed += [(case.id, before ^ after)] if before != after else []
    assert changed == []
