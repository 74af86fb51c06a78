"""The choice of faults and the judgement of what they leave behind: pure functions, with the worst cases made up."""

from __future__ import annotations

import io
from collections import Counter

import pytest
from rich.console import Console

from proof.faults.calls import KINDS, ROTATIONS, planned
from proof.faults.judge import FaultRow, Inventory, differences, leaks, result_table

CALLS = {call: [f"urn:{call}:{number}" for number in range(12)] for call in ("Create", "Update", "Read", "Delete")}
CALLS["Read"] += CALLS["Update"]
CLEAN = Inventory(("net n1", "pool a", "pool b", "rule r"), ("net n1", "pool a", "pool b"))


def test_a_seed_always_gives_the_same_faults_and_another_seed_others() -> None:
    assert planned(CALLS, 1) == planned(CALLS, 1)
    assert planned(CALLS, 1) != planned(CALLS, 2)
    assert planned(CALLS, 1, most=5) == planned(CALLS, 1, most=5)


def test_every_call_gets_one_fault_and_every_kind_occurs() -> None:
    faults = planned(CALLS, 1)
    calls = Counter((fault.call, fault.urn) for fault in faults)
    assert calls == dict.fromkeys(((call, urn) for call, urns in CALLS.items() for urn in urns), 1)
    assert {(fault.call, fault.kind) for fault in faults} == {(call, kind) for call in CALLS for kind in KINDS[call]}


def test_all_rotations_together_disturb_every_call_in_every_way() -> None:
    faults = {fault for rotation in range(ROTATIONS) for fault in planned(CALLS, 1, rotation=rotation)}
    assert len(faults) == 12 * (6 + 6 + 2 + 3 + 6)


@pytest.mark.parametrize("rotation", range(ROTATIONS))
def test_only_an_answer_after_an_update_is_stale(rotation: int) -> None:
    faults = planned(CALLS, 1, rotation=rotation)
    assert {fault.urn for fault in faults if fault.kind == "stale"} < {*CALLS["Update"]}


def test_with_one_update_its_read_is_stale() -> None:
    calls = {"Update": ["urn:b"], "Read": ["urn:a", "urn:b", "urn:c"]}
    stale = [fault.urn for seed in range(9) for fault in planned(calls, seed) if fault.kind == "stale"]
    assert stale == ["urn:b"] * 9


def test_a_sample_is_part_of_the_whole() -> None:
    sample = planned(CALLS, 1, most=5)
    assert len(sample) == 5
    assert {*sample} < {*planned(CALLS, 1)}


def test_an_equal_inventory_has_no_differences_even_with_other_ids() -> None:
    other = Inventory(("net n2", "pool a", "pool c", "rule r"), ("net n2", "pool a", "pool c"))
    assert differences(CLEAN, CLEAN) == differences(CLEAN, other)
    assert not any(vars(differences(CLEAN, other)).values())


def test_on_aws_the_account_has_other_words_and_ids_are_random() -> None:
    clean = Inventory(("VPC vpc-1", "Elastic IP address 192.0.2.1"), ("aws:vpc vpc-1", "aws:eip eipalloc-1"))
    other = Inventory(("VPC vpc-2", "Elastic IP address 192.0.2.2"), ("aws:vpc vpc-2", "aws:eip eipalloc-2"))
    twice = Inventory((*other.existing, "VPC vpc-3"), other.recorded)
    assert not any(vars(differences(clean, other)).values())
    assert (differences(clean, twice).duplicates, differences(clean, twice).missing) == (("VPC vpc-2",), ())
    assert differences(clean, Inventory((), other.recorded)).missing == clean.existing[::-1]


@pytest.mark.parametrize(
    ("existing", "recorded", "duplicates", "orphans", "missing"),
    [
        (("net n1", "net n2", "pool a", "pool b", "rule r"), CLEAN.recorded, ("net n2",), ("net n2",), ()),
        (("net n1", "pool a", "pool b", "pool c", "rule r"), (*CLEAN.recorded, "pool c"), ("pool c",), (), ()),
        (CLEAN.existing, ("net n1", "pool a"), (), ("pool b",), ()),
        (("net n1", "pool a", "rule r"), ("net n1", "pool a"), (), (), ("pool b",)),
        (("net n1", "pool a", "rule r"), CLEAN.recorded, (), (), ("pool b",)),
        (CLEAN.existing, ("net n1", "pool a", "pool x"), (), ("pool b",), ("pool x",)),
    ],
)
def test_what_is_there_twice_unknown_to_the_state_or_missing_is_named(
    existing: tuple[str, ...],
    recorded: tuple[str, ...],
    duplicates: tuple[str, ...],
    orphans: tuple[str, ...],
    missing: tuple[str, ...],
) -> None:
    differing = differences(CLEAN, Inventory(existing, recorded))
    assert (differing.duplicates, differing.orphans, differing.missing) == (duplicates, orphans, missing)


def test_a_secret_in_a_log_is_a_leak_also_as_json_and_a_short_word_is_none() -> None:
    texts = {"a.log": "token s3cret-token!", "b.json": r'{"x": "line one\nline two"}', "c.log": "nothing dev"}
    assert leaks(["s3cret-token!", "line one\nline two", "dev"], texts) == ["a.log", "b.json"]


def test_the_table_fits_80_columns_and_adds_up() -> None:
    good = FaultRow("create: killed before", 5, 5, 5)
    bad = FaultRow("delete: lost answer", 4, 3, 2, 0, ["net n2"], ["net n2"], ["up.log"])
    other = FaultRow("without an injected fault", failed=2)
    output = io.StringIO()
    Console(file=output, width=80).print(result_table([good, bad, other]))
    lines = output.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].split() == ["all", "8", "of", "9", "7", "of", "10", "1", "1", "1"]


@pytest.mark.parametrize(
    "row",
    [
        FaultRow("not injected", 2, 1, 1),
        FaultRow("not converged", 1, 1, 0),
        FaultRow("without a fault", failed=1),
        FaultRow("duplicate", 1, 1, 1, duplicates=["net n2"]),
        FaultRow("orphan", 1, 1, 1, orphans=["net n2"]),
        FaultRow("leak", 1, 1, 1, leaks=["up.log"]),
    ],
    ids=lambda row: row.title,
)
def test_one_defect_is_enough_to_fail(row: FaultRow) -> None:
    assert not row.ok
    assert FaultRow("good", 1, 1, 1).ok
