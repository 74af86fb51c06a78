"""Lower levels and exemptions: what they owe and cover, when they end, and that each run prints them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from facts.concepts.unknown import UNKNOWN
from policies import config, exemptions
from policies.config import ConfigError, main
from policies.exemptions import Exemption, parse, today_utc
from policies.exemptions import problems as exemption_problems
from policies.judging import tags_of
from policies.levels import Configured, lowered_levels, problems
from policies.pack import EXEMPTED, Gate
from tests.policies.test_pack import NODE_POOL, Session, output

TODAY = date(2026, 11, 21)
WHY = {"reason": "pilot of the data team", "expires": "2026-12-31"}


@pytest.mark.parametrize(
    ("configured", "words"),
    [
        ({"gpu-taint": ["disabled", {}]}, "gpu-taint: disabled lowers a rule that is mandatory"),
        ({"gpu-taint": ["advisory", {}]}, "gpu-taint: advisory lowers a rule that is mandatory"),
        ({"private-nodes": ["disabled", {}]}, "private-nodes: disabled lowers a rule that is advisory"),
        ({"gpu-taint": ["advisory", {**WHY, "reason": "."}]}, "gpu-taint.reason: write a reason of at least 2 words"),
        ({"gpu-taint": ["advisory", {"reason": "pilot of the data team"}]}, "gpu-taint.expires: missing"),
        ({"gpu-taint": ["advisory", {**WHY, "expires": "2026-11-20"}]}, "gpu-taint.expires: 2026-11-20 is in the past"),
        ({"gpu-taint": ["advisory", {**WHY, "expires": "2028-01-01"}]}, "gpu-taint.expires: at most a year ahead"),
        ({"all": ["disabled", {}]}, "all: disabled lowers rules"),
        ({"all": ["advisory", {**WHY, "reason": "-"}]}, "all.reason: write a reason"),
    ],
)
def test_a_lower_level_needs_a_reason_and_a_date(configured: Configured, words: str) -> None:
    (problem,) = problems(configured, TODAY)
    assert problem.startswith(words)


@pytest.mark.parametrize(
    "configured",
    [
        {},
        {"gpu-taint": ["mandatory", {}], "private-nodes": ["advisory", {}]},
        {"private-nodes": ["mandatory", {}]},
        {"gpu-taint": ["remediate", {}]},
        {"gpu-ceiling": ["", {"maxGpus": 8.0}]},
        {"gpu-taint": ["advisory", WHY]},
        {"gpu-taint": ["advisory", {**WHY, "expires": "2026-11-21"}]},
        {"private-nodes": ["disabled", {"reason": "pilot of the data team"}]},
        {"all": ["advisory", WHY]},
        {"all": ["advisory", WHY], "gpu-taint": ["advisory", {}], "gpu-ceiling": ["mandatory", {}]},
    ],
)
def test_what_owes_nothing_or_has_paid(configured: Configured) -> None:
    assert problems(configured, TODAY) == []


def test_a_rule_s_own_reason_comes_before_that_of_all() -> None:
    own = {**WHY, "reason": "waits for a quota"}
    by_rule = {one.rule.id: one for one in lowered_levels({"all": ("advisory", WHY), "gpu-taint": ("advisory", own)})}
    note = "gpu-taint is advisory here until 2026-12-31 instead of mandatory: waits for a quota"
    assert by_rule["gpu-taint"].note == note
    assert by_rule["gpu-zero-minimum"].note.endswith(WHY["reason"])
    assert "private-nodes" not in by_rule


def test_each_run_prints_what_is_lowered() -> None:
    gate = Gate(TODAY)
    gate.configure({"gpu-taint": ("disabled", WHY), "gpu-ceiling": ("mandatory", {})})
    session = Session(gate)
    session.stack()
    lowered = "gpu-taint is disabled here until 2026-12-31 instead of mandatory: pilot of the data team"
    assert [text for rule, text, _ in session.notes if rule == EXEMPTED] == [lowered]


@pytest.mark.parametrize(
    ("configured", "words"),
    [
        ({"gpu-taint": ["disabled", {}]}, "gpu-taint: disabled lowers"),
        ({"gpu-tant": ["advisory", {}]}, "no such rule"),
    ],
)
def test_a_run_ends_where_nobody_checked_the_file(configured: Configured, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Gate(TODAY).configure(configured)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"gpu-taint": "advisory"}, 1),
        ({"gpu-taint": {"enforcementLevel": "advisory", "reason": "pilot of the data team", "expires": "today"}}, 0),
        ({"all": "disabled"}, 1),
        ({"all": {"enforcementLevel": "advisory", "reason": "pilot of the data team", "expires": "today"}}, 0),
        ({"all": {"enforcementLevel": "advisory", "why": "x"}}, 1),
    ],
)
def test_a_file_is_held_to_the_same(content: dict[str, Any], code: int, tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    # Of the moment of the test: tests are collected a while before they run, and midnight may be between.
    path.write_text(json.dumps(content).replace("today", today_utc().isoformat()))
    assert main([str(path)]) == code


GOOD = {"resource": "bench-*", "reason": "load test", "expires": "2026-12-31"}
URN = f"urn:pulumi:dev::p::{NODE_POOL}::bench-a"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reason": None}, "[0].reason: missing"),
        ({"reason": "  "}, "[0].reason: must be a text"),
        ({"expires": None}, "[0].expires: missing; write the last day, for example 2026-12-21"),
        ({"expires": "soon"}, '[0].expires: must be a date like 2026-12-21, got "soon"'),
        ({"expires": 20261231}, "[0].expires: must be a text"),
        ({"expires": "2027-11-23"}, "[0].expires: at most a year ahead (2027-11-22)"),
        ({"reason": "."}, '[0].reason: write a reason of at least 2 words, got "."'),
        ({"reason": "ok"}, '[0].reason: write a reason of at least 2 words, got "ok"'),
        ({"resource": None}, "[0].resource: missing; write a name, or a pattern with *"),
        (
            {"resource": None, "tag": "a=b"},
            "[0].resource: missing; write a name, or a pattern with *; with a tag alone",
        ),
        ({"tag": "team"}, '[0].tag: must be key=value, got "team"'),
        ({"until": "2026-12-31"}, "[0].until: no such key; an exemption has resource, tag, reason, expires"),
    ],
)
def test_an_incomplete_exemption_is_an_error(change: dict[str, Any], words: str) -> None:
    entry = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    (problem,) = exemption_problems("x", [entry], TODAY)
    assert problem.startswith(f"x{words}")


def test_all_problems_of_all_exemptions_at_once() -> None:
    assert len(exemption_problems("x", [GOOD, {}, "gpu-pool"], TODAY)) == 4


@pytest.mark.parametrize(
    ("exemption", "covered"),
    [
        ({"resource": "bench-*"}, True),
        ({"resource": URN}, True),
        ({"resource": "bench"}, False),
        ({"resource": "*nodePool*"}, False),
        ({"resource": "dev*"}, False),
        ({"resource": "urn:*nodePool*"}, True),
        ({"resource": "gcp:container/nodePool:NodePool::bench-*"}, True),
        ({"resource": "gcp:container/*::*"}, True),
        ({"resource": "gcp:container/cluster:Cluster::*"}, False),
        ({"resource": "*", "tag": "team=research"}, True),
        ({"resource": "*", "tag": "team=web"}, False),
        ({"resource": "bench-a", "tag": "team=web"}, False),
    ],
)
def test_what_an_exemption_covers(exemption: dict[str, str], covered: bool) -> None:
    assert Exemption("r", TODAY, **exemption).covers(URN, {"team": "research"}) is covered


def test_the_stack_as_a_whole_is_covered_by_a_star_only() -> None:
    assert Exemption("r", TODAY, resource="*").covers("", {})
    assert not Exemption("r", TODAY, resource="bench-*").covers("", {})


def test_the_last_day_counts() -> None:
    (exemption,) = parse([GOOD])
    assert not exemption.expired(date(2026, 12, 31))
    assert exemption.expired(date(2027, 1, 1))


@pytest.mark.parametrize(
    "properties",
    [
        {"tags": {"team": "ml"}},
        {"tags": [{"key": "team", "value": "ml", "propagateAtLaunch": True}]},
        {"resourceLabels": {"team": "ml"}},
        {"nodeConfig": {"labels": {"team": "ml"}}},
        {"metadata": {"labels": {"team": "ml", "late": UNKNOWN}}},
        {"tags": UNKNOWN, "nodeLabels": {"team": "ml"}},
    ],
)
def test_tags_are_read_where_each_cloud_has_them(properties: dict[str, Any]) -> None:
    assert tags_of(properties) == {"team": "ml"}


def test_expired_ones_are_printed_by_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"gpu-taint": {"exemptions": [{**GOOD, "expires": "2020-01-31"}]}}))
    assert config.main([str(path)]) == 0
    assert "dev.json: gpu-taint.exemptions: expired on 2020-01-31 (load test)" in capsys.readouterr().err


POOL = {
    "autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 4},
    "nodeConfig": {
        "serviceAccount": "nodes@p.iam.gserviceaccount.com",
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "guestAccelerators": [{"type": "nvidia-l4", "count": 1}],
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "labels": {"nvidia.com/gpu.present": "true"},
    },
}


def reported(*listed: dict[str, str], **labels: str) -> list[tuple[str, str, str | None]]:
    """What a gate on that day says of a GPU node pool with a minimum of 1, with these exemptions from that rule."""
    session = Session(Gate(TODAY))
    pool = {**POOL, "nodeConfig": {**POOL["nodeConfig"], "resourceLabels": {"team": "research", **labels}}}
    session.resource(NODE_POOL, pool, URN, {"gpu-zero-minimum": {exemptions.KEY: list(listed)}})
    early = len(session.notes)
    session.stack(output(NODE_POOL, {}, URN))
    return [*session.notes[:early], *(note for note in session.notes[early:] if note[0] == EXEMPTED)]


def test_a_pattern_for_the_type_means_the_resource_s_own_and_not_its_parent_s() -> None:
    inside = "urn:pulumi:dev::p::gpucluster:index:Pool$gcp:container/nodePool:NodePool::bench-a"
    assert Exemption("r", TODAY, "gcp:container/nodePool:NodePool::bench-a").covers(inside, {})
    assert not Exemption("r", TODAY, "gpucluster:*::*").covers(inside, {})


@pytest.mark.parametrize("by", [{"resource": "bench-*"}, {"resource": "*", "tag": "team=research"}])
def test_what_passes_by_an_exemption_is_printed_with_reason_and_end(by: dict[str, str]) -> None:
    ((rule, text, urn),) = reported({**by, "reason": "load test", "expires": "2026-12-31"})
    assert (rule, urn) == (EXEMPTED, URN)
    assert text.startswith("gpu-zero-minimum: GPU node group 'bench-a' keeps at least 1 node running")
    assert text.endswith("\nExempt until 2026-12-31, because: load test")


def test_an_expired_exemption_does_not_count_and_is_named_in_the_violation() -> None:
    ((rule, text, _),) = reported({**GOOD, "expires": "2026-11-20"})
    assert rule == "gpu-zero-minimum"
    assert text.endswith("\nIts exemption expired on 2026-11-20 (load test).")


def test_a_tag_in_the_program_only_asks() -> None:
    ((rule, text, _),) = reported(**{exemptions.ASKS: "demo"})
    assert rule == "gpu-zero-minimum"
    assert text.endswith("Its tag gpucluster-exempt requests an exemption; only the gate's configuration grants one.")


def test_an_exemption_of_something_else_does_not_count() -> None:
    ((rule, text, _),) = reported({**GOOD, "resource": "other"})
    assert rule == "gpu-zero-minimum"
    assert "exemption" not in text


def test_an_exemption_without_a_reason_is_an_error_even_if_nobody_checked_the_file() -> None:
    with pytest.raises(config.ConfigError, match=r"gpu-zero-minimum.exemptions\[0\].reason: missing"):
        reported({"resource": "*", "expires": "2026-12-31"})
