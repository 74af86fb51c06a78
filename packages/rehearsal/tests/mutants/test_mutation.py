"""Which mutants a program has, what each changes, and how many can be put in at once."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from rehearsal.mutants.mutation import Mutant, Registered, groups_of, mutants_of, ordered
from rehearsal.providers.marshal import SECRET, SIGNATURE

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
POOL: dict[str, Any] = {
    "zones": ["us-central1-a"],
    "private": True,
    "size": 3,
    "minimum": 0,
    "range": "10.1.0.0/16",
    "open": "0.0.0.0/0",
    "idle": "600s",
    "nothing": None,
    "taints": [{"key": "a"}, {"key": "b"}],
    "policy": '{"Action": ["Get", "Put"]}',
    "key": {SIGNATURE: SECRET, "value": "hidden"},
}


def registered(name: str = "p", **inputs: Any) -> Registered:
    return Registered("cloud:Pool", name, f"urn:{name}", inputs, dependencies={})


def changes(*program: Registered, enum: tuple[str, ...] = ()) -> dict[tuple[str, str], Any]:
    """(path, mutation) → the inputs after it."""
    inputs = {each.name: each.inputs for each in program}
    return {one.key[2:]: one.applied(inputs[one.name]) for one in mutants_of(program, lambda _, __: enum)}


@pytest.mark.parametrize(
    ("path", "mutation", "expected"),
    [
        ("zones", "dropped", {**POOL, "zones": None}),
        ("zones", "emptied", {**POOL, "zones": []}),
        ("zones[0]", "moved", {**POOL, "zones": ["us-central1-b"]}),
        ("private", "flipped", {**POOL, "private": False}),
        ("size", "moved", {**POOL, "size": 30}),
        ("minimum", "moved", {**POOL, "minimum": 1}),
        ("range", "moved", {**POOL, "range": "11.1.0.0/16"}),
        ("open", "moved", {**POOL, "open": "10.0.0.0/8"}),
        ("idle", "moved", {**POOL, "idle": "6000s"}),
        ("taints[0]", "dropped", {**POOL, "taints": [{"key": "b"}]}),
        ("taints[1].key", "moved", {**POOL, "taints": [{"key": "a"}, {"key": "a"}]}),
        ('policy["{}"].Action[1]', "dropped", {**POOL, "policy": '{"Action": ["Get"]}'}),
        ("key", "emptied", {**POOL, "key": {SIGNATURE: SECRET, "value": ""}}),
    ],
)
def test_a_mutant_changes_one_input(path: str, mutation: str, expected: dict[str, Any]) -> None:
    before = copy.deepcopy(POOL)
    changed = changes(registered(**POOL))[path, mutation]
    assert {**dict.fromkeys(POOL), **changed} == expected
    assert before == POOL


def test_a_value_of_the_schema_is_preferred_unless_it_means_nothing() -> None:
    changed = changes(registered(mode="ON"), enum=("MODE_UNSPECIFIED", "ON", "OFF"))
    assert changed["mode", "moved"] == {"mode": "OFF"}


def test_every_effect_is_a_mutant_once_and_no_mutant_is_without_effect() -> None:
    effects = [json.dumps(each, sort_keys=True) for each in changes(registered(**POOL)).values()]
    assert len(effects) == len(set(effects))
    assert json.dumps(POOL, sort_keys=True) not in effects


def test_equal_values_of_one_type_are_one_mutant_and_other_values_are_not() -> None:
    program = registered("a", size=1, spot=True), registered("b", size=2, spot=True)
    mutants = mutants_of(program, lambda _, __: ())
    assert sorted({(one.name, one.key[2]) for one in mutants}) == [("a", "size"), ("a", "spot"), ("b", "size")]


def test_an_unknown_value_stays_unknown_and_what_is_below_it_is_left_alone() -> None:
    network, inner = Mutant("t", "n", ("network",), "moved", '"x"'), Mutant("t", "n", ("network", "id"), "emptied")
    assert network.applied({"network": UNKNOWN}) == inner.applied({"network": UNKNOWN}) == {"network": UNKNOWN}


def test_an_option_is_no_input() -> None:
    (one,) = mutants_of([Registered("t", "n", "urn", {}, waits=True)], lambda _, __: ())
    assert one.key == ("t", "n", '["(dependsOn)"]', "dropped")
    assert one.applied({"size": 1}) == {"size": 1}


@pytest.mark.parametrize("size", [1, 3, 100])
def test_groups_hold_every_mutant_once_and_none_hides_another(size: int) -> None:
    mutants = mutants_of([registered(**POOL)], lambda _, __: ())
    groups = groups_of(mutants, size)
    assert sorted(one.key for group in groups for one in group) == sorted(one.key for one in mutants)
    for group in groups:
        assert len(group) <= size
        together: Any = POOL
        for one in ordered(group):
            before, together = together, one.applied(together)
            assert together != before
        alone = {str(key) for one in group for key in POOL if one.applied(POOL).get(key) != POOL[key]}
        assert {key for key in POOL if together.get(key) != POOL[key]} == alone


def test_two_that_exchange_their_values_are_not_put_in_together() -> None:
    program = registered("a", role="reader"), registered("b", role="writer")
    moved = [one for one in mutants_of(program, lambda _, __: ()) if one.mutation == "moved"]
    assert [json.loads(one.value) for one in moved] == ["writer", "reader"]
    assert [len(group) for group in groups_of(moved, 10)] == [1, 1]
