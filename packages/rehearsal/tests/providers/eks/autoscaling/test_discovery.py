"""Which cluster-autoscaler runs, with which flags, and which Auto Scaling groups it finds."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.eks.autoscaling import ENABLED, FLAGS, OWN, deployment, installed
from rehearsal.providers.eks.autoscaling.cluster_autoscaler import (
    FlagError,
    cluster_autoscaler,
    parse,
    why_idle,
    why_unseen,
)
from tests.tables import cases

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
