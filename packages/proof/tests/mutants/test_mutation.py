"""Which mutants a program has, what each changes, how many can be put in at once, and which of those are noticed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from proof.mutants import trials
from proof.mutants.judges import NOBODY, Verdict
from proof.mutants.mutation import Mutant, Registered, groups_of, mutants_of, ordered
from proof.mutants.replay import Replay, Variant, changed, followed
from proof.mutants.trials import Trial, attribute
from rehearsal.engine.events import PolicyViolation
from rehearsal.engine.stack import resolve
from rehearsal.providers.marshal import SECRET, SIGNATURE
from rehearsal.scenario.check import Check, pools_of

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
    ("path", "mutation", "key", "value"),
    [
        ("zones", "dropped", "zones", None),
        ("zones", "emptied", "zones", []),
        ("zones[0]", "moved", "zones", ["us-central1-b"]),
        ("private", "flipped", "private", False),
        ("size", "moved", "size", 30),
        ("minimum", "moved", "minimum", 1),
        ("range", "moved", "range", "11.1.0.0/16"),
        ("open", "moved", "open", "10.0.0.0/8"),
        ("idle", "moved", "idle", "6000s"),
        ("taints[0]", "dropped", "taints", [{"key": "b"}]),
        ("taints[1].key", "moved", "taints", [{"key": "a"}, {"key": "a"}]),
        ('policy["{}"].Action[1]', "dropped", "policy", '{"Action": ["Get"]}'),
        (
            "key",
            "emptied",
            "key",
            {SIGNATURE: SECRET, "value": ""},
        ),
    ],
)
def test_a_mutant_changes_one_input(path: str, mutation: str, key: str, value: Any) -> None:
    before = copy.deepcopy(POOL)
    changed = changes(registered(**POOL))[path, mutation]
    assert {**dict.fromkeys(POOL), **changed} == {**POOL, key: value}
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


FELT = Verdict("scenario", "a check")
MUTANTS = [Mutant("t", f"r{number}", ("size",), "dropped") for number in range(24)]


def noticing(felt: Sequence[Mutant], suspects: Sequence[Mutant] = ()) -> tuple[Callable[..., Trial], list[int]]:
    """A rehearsal that fails if any of ``felt`` is in, and then names ``suspects``; and how many were in each."""
    sizes: list[int] = []

    def ask(group: Sequence[Mutant]) -> Trial:
        sizes.append(len(group))
        failed = any(one in felt for one in group)
        return (FELT, [one for one in suspects if one in group]) if failed else (NOBODY, [])

    return ask, sizes


@pytest.mark.parametrize("seed", range(20))
def test_exactly_those_that_are_noticed_are_found_whatever_the_reasons_name(seed: int) -> None:
    chance = random.Random(seed)
    felt = chance.sample(MUTANTS, chance.randint(0, 8))
    ask, _ = noticing(felt, chance.sample(MUTANTS, chance.randint(0, 4)))
    verdicts = attribute(MUTANTS, ask)
    assert {one for one, verdict in verdicts.items() if verdict == FELT} == set(felt)
    assert set(verdicts) == set(MUTANTS)


def test_a_group_that_passes_needs_one_rehearsal() -> None:
    ask, sizes = noticing([])
    assert set(attribute(MUTANTS, ask).values()) == {NOBODY}
    assert sizes == [24]


def test_a_reason_that_names_the_resource_needs_three() -> None:
    ask, sizes = noticing(MUTANTS[7:8], MUTANTS[7:8])
    assert attribute(MUTANTS, ask)[MUTANTS[7]] == FELT
    assert sizes == [24, 1, 23]


def test_what_is_only_noticed_together_is_not_noticed() -> None:
    def ask(group: Sequence[Mutant]) -> Trial:
        return (FELT, []) if len(group) > 1 else (NOBODY, [])

    assert set(attribute(MUTANTS, ask).values()) == {NOBODY}


def test_the_first_update_says_what_the_program_registers() -> None:
    preview = {"type": "t", "name": "r", "urn": "urn:r", "inputs": {"count": 0}, "id": "", "outputs": {}}
    update = {**preview, "id": "1", "outputs": {"fqdn": "x"}}
    later = {**update, "inputs": {"count": 4}}
    (one,) = trials.registered([preview, update, later])
    assert (one.id, one.inputs, one.outputs) == ("1", {"count": 0}, {"fqdn": "x"})


def record(*checks: Check, violations: Sequence[PolicyViolation] = (), reasons: Sequence[str] = ()) -> Any:
    return SimpleNamespace(checks=list(checks), violations=violations, reasons=list(reasons))


def test_the_first_reason_of_a_rehearsal_is_the_judge() -> None:
    up, later = Check("up", "", False, "Error 400"), Check("drift", "", False, "changed")
    refused = PolicyViolation("gpu-taint", "mandatory", "t4", "untainted")
    noted = PolicyViolation("gpu-taint-key", "advisory", "t4", "another key")
    assert trials.verdict_of(record(Check("up", "", True, ""), violations=[noted])) == NOBODY
    assert trials.verdict_of(record(up, violations=[refused])) == Verdict("gate", "gpu-taint")
    assert trials.verdict_of(record(up, later)) == Verdict("up", "Error 400")
    assert trials.verdict_of(record(later)) == Verdict("scenario", "drift: changed")
    assert trials.verdict_of(record(reasons=["the sandbox died"])) == Verdict("up", "the sandbox died")


REPLAYED = Registered("cloud:Pool", "p", "urn:p", {}, dependencies={"cluster": ("urn:c",), "account": ("urn:a",)})
NETWORK, SUBNET = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"


def test_only_texts_that_differ_are_new_outputs() -> None:
    before = {"id": "projects/old", "size": 3, "same": "as before", "keys": [{"name": "first"}], "short": "abc"}
    after = {"id": "projects/new", "size": 4, "same": "as before", "keys": [{"name": "other"}], "short": "abd"}
    assert changed(before, after) == {"projects/old": "projects/new", "first": "other"}


def test_inputs_follow_the_resources_that_they_depend_on_and_no_others() -> None:
    changes = {"urn:c": {"old-name": "new-name"}, "urn:x": {"old-name": "another"}}
    inputs: dict[str, Any] = {"cluster": {"id": ["clusters/old-name"]}, "account": "old-name", "name": "old-name"}
    assert followed(REPLAYED, inputs, changes) == {**inputs, "cluster": {"id": ["clusters/new-name"]}}


def test_a_mutant_that_names_another_resource_gets_its_new_name() -> None:
    changes = {"urn:c": {"old-name": "new-name"}, "urn:x": {"subnet-old": "subnet-new"}}
    inputs = {"cluster": ["subnet-old"], "text": "subnet-old-b", "name": "old-name"}
    assert followed(REPLAYED, inputs, changes, "subnet-old") == {**inputs, "cluster": ["subnet-new"]}
    assert followed(REPLAYED, inputs, changes) == inputs


def test_variants_are_judged_one_by_one_each_in_the_place_of_its_resource() -> None:
    stack = resolve("dev")
    replay = Replay("gcp", {"project": "p"}, pools_of(stack.settings), stack.settings.maintenance.window)
    network = {"project": "p", "autoCreateSubnetworks": False, "name": "net"}
    inputs = {"name": "sub", "region": "us-central1", "project": "p", "ipCidrRange": "10.0.0.0/20", "network": "net"}
    program = [
        (Registered(NETWORK, "n", "urn:n", {}), network),
        (Registered(SUBNET, "s", "urn:s", {}, dependencies={"network": ("urn:n",)}, after=("urn:n",)), inputs),
    ]
    variants = [
        Variant("urn:n", {**network, "name": "other"}),
        Variant("urn:s", {**inputs, "network": "another"}),
        Variant("urn:s", inputs, created_early=True),
        Variant("urn:s", {**inputs, "name": "sub2"}),
    ]
    refused = [error for error, _ in replay.refusals(program, variants)]
    assert ["networks/" in error and "was not found" in error for error in refused] == [True, True, False, False]


@pytest.mark.parametrize(
    ("network", "subnetwork", "refused", "wrong"),
    [
        ({"name": "net"}, {"network": "net"}, "", "groups-as-declared: admin has no node group"),
        ({"name": "net"}, {"network": "other"}, "networks/other' was not found", ""),
    ],
)
def test_the_cloud_and_the_first_check_judge(
    network: dict[str, Any], subnetwork: dict[str, Any], refused: str, wrong: str
) -> None:
    stack = resolve("dev")
    replay = Replay("gcp", {"project": "p"}, pools_of(stack.settings), stack.settings.maintenance.window)
    inputs = {"name": "sub", "region": "us-central1", "project": "p", "ipCidrRange": "10.0.0.0/20", **subnetwork}
    program = [
        (Registered(NETWORK, "n", "urn:n", {}), {"project": "p", "autoCreateSubnetworks": False, **network}),
        (Registered(SUBNET, "s", "urn:s", {}), inputs),
    ]
    error, problem = replay.refusal(program)
    assert refused in error
    assert problem.startswith(wrong)
    assert bool(error) is bool(refused)
