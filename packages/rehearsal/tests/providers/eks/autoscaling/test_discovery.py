"""Which cluster-autoscaler runs, with which flags, and which Auto Scaling groups it finds."""

from __future__ import annotations

import pytest

from packages.rehearsal.tests.providers.eks.autoscaling import EKS_TAGS, ENABLED, FLAGS, OWN, deployment, installed
from packages.rehearsal.tests.providers.eks.tables import cases
from rehearsal.providers.eks.autoscaling.discovery import (
    Bounds,
    FlagError,
    cluster_autoscaler,
    find,
    parse,
    strays,
    why_idle,
)

DISCOVERY = "--node-group-auto-discovery=asg:tag="


@cases
def test_the_deployment_is_known_by_its_image(image: str, minor: int | None) -> None:
    autoscaler = cluster_autoscaler([deployment(image="nginx:1"), deployment(image=image)])
    assert autoscaler is not None
    assert (autoscaler.where, autoscaler.service_account) == ("kube-system/cluster-autoscaler", "cluster-autoscaler")
    assert autoscaler.minor == minor


@pytest.mark.parametrize("image", ["registry.k8s.io/cpa/cluster-proportional-autoscaler:v1.9.0", "vertical-autoscaler"])
def test_other_autoscalers_are_not_it(image: str) -> None:
    assert cluster_autoscaler([deployment(image=image)]) is None


def test_of_two_the_one_that_is_ready() -> None:
    autoscaler = cluster_autoscaler([deployment(ready=0), deployment("--v=4"), deployment(ready=0)])
    assert autoscaler is not None
    assert autoscaler.ready == 1


@pytest.mark.parametrize(
    ("flags", "ready", "reason"),
    [
        (FLAGS, 1, ""),
        (FLAGS, 0, "has no ready pod"),
        (FLAGS[1:], 1, "write --cloud-provider=aws"),
        (FLAGS[:1], 1, "looks for no groups"),
        ((*FLAGS, "--scale-down-enabled=false"), 1, "never removes a node"),
        ((*FLAGS, "--scale-down-enabled=true"), 1, ""),
        ((*FLAGS, "--scale-down"), 1, "--scale-down is not a flag"),
        ((*FLAGS, "--expander=cheapest"), 1, "--expander=cheapest does not exist"),
        ((*FLAGS, "--expander=priority,least-waste"), 1, ""),
    ],
)
def test_why_it_scales_nothing(flags: tuple[str, ...], ready: int, reason: str) -> None:
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


@cases
def test_discovery_by_tag_keys(tags: dict[str, str], lacks: str) -> None:
    bounds = find(parse(FLAGS), "eks-gpu", tags, 0, 4)
    assert bounds == Bounds(0, 4) if not lacks else f"lacks the tag {lacks} that" in str(bounds)


@pytest.mark.parametrize(("value", "matches"), [("a", True), ("b", False)])
def test_discovery_by_a_tags_value(value: str, matches: bool) -> None:
    flags = parse(["--cloud-provider=aws", f"{DISCOVERY}team=a"])
    assert (find(flags, "eks-gpu", {"team": value}, 0, 4) == Bounds(0, 4)) is matches


def test_one_of_several_discoveries_suffices() -> None:
    flags = parse([f"{DISCOVERY}a,b", f"{DISCOVERY}c"])
    assert find(flags, "eks-gpu", {"c": "1"}, 1, 2) == Bounds(1, 2)
    assert "lacks the tag b that" in str(find(flags, "eks-gpu", {"a": ""}, 1, 2))


def test_groups_named_one_by_one_bring_their_limits() -> None:
    flags = parse(["--nodes=1:3:eks-gpu"])
    assert find(flags, "eks-gpu", {}, 0, 9) == Bounds(1, 3)
    assert "add --nodes=0:9:eks-cpu" in str(find(flags, "eks-cpu", {}, 0, 9))


@pytest.mark.parametrize(("total", "most"), [(0, 4), (3, 3), (4, 4), (5, 4)])
def test_the_total_caps_a_group(total: int, most: int) -> None:
    assert find(parse([*FLAGS, f"--max-nodes-total={total}"]), "eks-gpu", EKS_TAGS, 0, 4) == Bounds(0, most)


@pytest.mark.parametrize(
    ("minor", "version", "warned"),
    [(35, "1.35", False), (34, "1.35", False), (36, "v1.35.2", False), (33, "1.35", True), (37, "1.35", True)],
)
def test_a_version_far_from_the_clusters_is_warned_of(minor: int, version: str, warned: bool) -> None:
    assert bool(strays(minor, version)) is warned
    assert strays(None, version) == ""
