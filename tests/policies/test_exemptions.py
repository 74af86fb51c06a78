"""Exemptions: what one must say, what it covers, when it ends, and that nothing passes by one unseen."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pulumi_policy import PolicyResource, ResourceValidationArgs, ResourceValidationPolicy, StackValidationArgs
from pulumi_policy.policy import StackValidationPolicy
from pulumi_policy.proxy import unknown_checking_proxy

from facts.concepts.unknown import UNKNOWN
from policies import config, exemptions
from policies.exemptions import Exemption, parse, problems
from policies.pack import EXEMPTED, Gate
from policies.readers.tags import tags_of
from tests.policies.test_pack import OPTIONS

TODAY = date(2026, 11, 21)
GOOD = {"resource": "bench-*", "reason": "load test", "expires": "2026-12-31"}
URN = "urn:pulumi:dev::p::gcp:container/nodePool:NodePool::bench-a"


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
    (problem,) = problems("x", [entry], TODAY)
    assert problem.startswith(f"x{words}")


def test_all_problems_of_all_exemptions_at_once() -> None:
    assert len(problems("x", [GOOD, {}, "gpu-pool"], TODAY)) == 4


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


class Run:
    """A gate on one day, given one GPU node pool with a minimum of 1 and one configuration of that rule."""

    def __init__(self, *listed: dict[str, str], labels: dict[str, str] | None = None) -> None:
        self.reported: list[tuple[str, str, str | None]] = []
        pool = {
            "autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 4},
            "nodeConfig": {
                "serviceAccount": "nodes@p.iam.gserviceaccount.com",
                "workloadMetadataConfig": {"mode": "GKE_METADATA"},
                "guestAccelerators": [{"type": "nvidia-l4", "count": 1}],
                "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
                "labels": {"nvidia.com/gpu.present": "true"},
                "resourceLabels": {"team": "research", **(labels or {})},
            },
        }
        token = "gcp:container/nodePool:NodePool"
        entries = {"gpu-zero-minimum": {exemptions.KEY: list(listed)}}
        for policy in Gate(TODAY).policies():
            if isinstance(policy, ResourceValidationPolicy):
                args = ResourceValidationArgs(
                    token, unknown_checking_proxy(pool), URN, "bench-a", OPTIONS, None, entries.get(policy.name)
                )
                policy.validate(args, lambda text, urn=None, rule=policy.name: self.reported.append((rule, text, urn)))
            elif isinstance(policy, StackValidationPolicy) and policy.name == EXEMPTED:
                resource = PolicyResource(token, unknown_checking_proxy({}), URN, "a", OPTIONS, None, None, [], {})
                stack = StackValidationArgs([resource])
                policy.validate(stack, lambda text, urn=None, rule=policy.name: self.reported.append((rule, text, urn)))


def test_a_pattern_for_the_type_means_the_resource_s_own_and_not_its_parent_s() -> None:
    inside = "urn:pulumi:dev::p::gpucluster:index:Pool$gcp:container/nodePool:NodePool::bench-a"
    assert Exemption("r", TODAY, "gcp:container/nodePool:NodePool::bench-a").covers(inside, {})
    assert not Exemption("r", TODAY, "gpucluster:*::*").covers(inside, {})


@pytest.mark.parametrize("by", [{"resource": "bench-*"}, {"resource": "*", "tag": "team=research"}])
def test_what_passes_by_an_exemption_is_printed_with_reason_and_end(by: dict[str, str]) -> None:
    ((rule, text, urn),) = Run({**by, "reason": "load test", "expires": "2026-12-31"}).reported
    assert (rule, urn) == (EXEMPTED, URN)
    assert text.startswith("gpu-zero-minimum: GPU node group 'bench-a' keeps at least 1 node running")
    assert text.endswith("\nExempt until 2026-12-31, because: load test")


def test_an_expired_exemption_does_not_count_and_is_named_in_the_violation() -> None:
    ((rule, text, _),) = Run({**GOOD, "expires": "2026-11-20"}).reported
    assert rule == "gpu-zero-minimum"
    assert text.endswith("\nIts exemption expired on 2026-11-20 (load test).")


def test_a_tag_in_the_program_only_asks() -> None:
    ((rule, text, _),) = Run(labels={exemptions.ASKS: "demo"}).reported
    assert rule == "gpu-zero-minimum"
    assert text.endswith("Its tag gpucluster-exempt requests an exemption; only the gate's configuration grants one.")


def test_an_exemption_of_something_else_does_not_count() -> None:
    ((rule, text, _),) = Run({**GOOD, "resource": "other"}).reported
    assert rule == "gpu-zero-minimum"
    assert "exemption" not in text


def test_an_exemption_without_a_reason_is_an_error_even_if_nobody_checked_the_file() -> None:
    with pytest.raises(config.ConfigError, match=r"gpu-zero-minimum.exemptions\[0\].reason: missing"):
        Run({"resource": "*", "expires": "2026-12-31"})
