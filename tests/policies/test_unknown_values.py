"""A value that is unknown at preview is reported: in each program of the corpus that a rule refuses, with one input
after the other unknown. What stays silent stands in ``silent_unknowns.csv``, with the reason."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from facts.concepts.declared import Violation
from facts.concepts.offer import CONFIG_MAP, NAMESPACE
from facts.concepts.unknown import UNKNOWN, holds_unknown
from policies.judging import put_off
from policies.readers.resource import Declared
from policies.rules.table import BY_ID
from policies.rules.unjudged import unjudged
from tests.policies.corpus.case import Case, declared_by, judged
from tests.policies.corpus.programs import read_cases

Place: TypeAlias = tuple[str, str, str]
"""The rule that refuses the program, the type of a resource in it, and a path in that."""


def words(case: Case) -> list[str]:
    """What is said of it at preview: that the rule is broken, or that something is not known."""
    violations = judged(case)
    own = (each.message for each in violations if each.rule == case.rule or _is_open(each))
    return [*own, *_put_off(case, violations)]


def _put_off(case: Case, violations: Iterable[Violation]) -> list[str]:
    said = {each.resource for each in violations if _is_open(each)}
    return [each.unknown_reason.why for each in put_off(declared_by(case), said)]


def _is_open(violation: Violation) -> bool:
    return violation.not_evaluated or violation.rule == unjudged.id


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from _paths(part, (*path, key))


def _without(value: Any, path: tuple[str | int, ...]) -> Any:
    """The value, of which the part at ``path`` is unknown."""
    if not path:
        return UNKNOWN
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _without(value[path[0]], path[1:])
    return copy


@cache
def places() -> dict[Place, Case]:
    """Each place once, with the first program that has it, in which it is unknown."""
    found: dict[Place, Case] = {}
    for case in read_cases():
        for number, (token, name, inputs) in enumerate(case.resources if case.verdict == "refused" else ()):
            for path in _paths(inputs):
                place = str(case.rule), token, ".".join("#" if isinstance(key, int) else key for key in path)
                if place not in found:
                    unknown = token, name, _without(inputs, path)
                    resources = (*case.resources[:number], unknown, *case.resources[number + 1 :])
                    found[place] = replace(case, resources=resources)
    return found


def silent() -> dict[Place, str]:
    with (Path(__file__).parent / "silent_unknowns.csv").open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {(row["rule"], row["type"], row["path"]): row["why"] for row in rows}


def _unsaid(cases: dict[Place, Case]) -> list[Place]:
    known = silent()
    return [
        place
        for place, case in cases.items()
        if place not in known and (place[0], "*", "*") not in known and not words(case)
    ]


def test_every_value_that_is_unknown_at_preview_is_reported() -> None:
    assert len(places()) > 9000
    assert _unsaid(places()) == [], "report it, or add it to silent_unknowns.csv with the reason"


# What their authors know and this program does not: numbers, labels and names that are made elsewhere.
SAID: Final = {
    "accelerators-minimum-of-another-stack",
    "apps-tolerations-to-be",
    "flux-chart-of-an-object-by-its-output",
    "gce-autoscaler-whose-group-is-an-output",
    "gce-group-whose-template-is-an-output",
    "k8s-budget-of-a-deployment-to-be",
    "k8s-budget-with-expressions-to-be",
    "schedule-of-an-unknown-group-within-its-maximum",
}


def test_what_accepted_programs_do_not_know_yet_is_no_news() -> None:
    """IDs, addresses, roles, images: nearly every first preview has some."""
    accepted = [case for case in read_cases() if case.verdict == "allowed"]
    open = [case for case in accepted if any(holds_unknown(inputs) for _, _, inputs in case.resources)]
    assert len(open) > 50
    assert {case.id for case in open if _put_off(case, judged(case))} == SAID


# Whether nodes get a GPU or a slice that their pool or class does not name, and what a server starts on demand.
UNSURE: Final = {
    ("accelerators-tpu7x-of-a-policy", "gpu-workload-placeable"),
    ("always-on-a-backend", "gpu-held-for-ever"),
    ("always-on-a-backend", "idle-cost-ceiling"),
    ("gke-compute-class-on-autopilot", "gpu-workload-placeable"),
}


def test_where_all_values_are_known_nothing_waits_for_the_update() -> None:
    """It would know no more: a preview passed, and the update was refused after it had made everything.

    Of a rule on one resource the gate sees that all values of it are known.
    """
    known = [case for case in read_cases() if not any(holds_unknown(inputs) for _, _, inputs in case.resources)]
    assert len(known) > 1000
    waiting = {
        (case.id, each.rule)
        for case in known
        for each in judged(case)
        if each.not_evaluated and each.unknown_reason is None and BY_ID[each.rule].scope == "stack"
    }
    assert waiting == UNSURE


@pytest.mark.parametrize(
    ("name", "namespace", "notes"), [(CONFIG_MAP, NAMESPACE, 0), (CONFIG_MAP, "ml", 1), ("a", NAMESPACE, 1)]
)
def test_the_pool_inventory_of_our_first_previews_is_no_news(name: str, namespace: str, notes: int) -> None:
    """It has addresses of buckets and registries, and its pools are declared by themselves."""
    inputs = {"metadata": {"name": name, "namespace": namespace}, "data": UNKNOWN}
    inventory = Declared("kubernetes:core/v1:ConfigMap", "offer-pools", "urn:offer", inputs)
    assert len([*put_off([inventory], ())]) == notes


def test_each_silent_one_is_silent_for_a_reason() -> None:
    cases = {place: places()[place] for place in silent() if place[1] != "*"}
    assert all(silent().values())
    assert {place: said for place, case in cases.items() if (said := words(case))} == {}, "take the row away"
