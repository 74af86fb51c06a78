"""What a real cluster-autoscaler does in many situations, from its own texts, beside what the rehearsal's does.

They were played with a real one: ``recorded_situations.yaml`` has what it did and said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import pytest

from packages.rehearsal.tests.fleet.emptying import emptied, others_of_row, outcome_of_row, within
from packages.rehearsal.tests.fleet.facts import Running
from packages.rehearsal.tests.fleet.situations import (
    EMPTIES,
    GROWS,
    RECORDED,
    agents_of_row,
    group_of_row,
    outcome,
    played,
    pod_of_row,
)
from packages.rehearsal.tests.fleet.test_packing import PACKING, node, packer_of, running, started
from packages.rehearsal.tests.simulated_cluster import CLUSTER, ZONES, gpu_group
from packages.rehearsal.tests.tables import beside
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.fleet.nodes import ZONE, ClusterFacts, NodeTemplate
from rehearsal.fleet.packing import Packer, Used
from rehearsal.fleet.scale_up_events import not_triggered, states
from tests.yaml_file import read_yaml

TABLE = beside(__file__)
REAL, EMPTIED = (read_yaml(RECORDED)[kind] for kind in ("grows", "empties"))
ALL = [each for kind in ("grows", "empties", "elsewhere") for each in TABLE[kind]]
REHEARSAL = Path(__file__).parents[2]
PAGE = (REHEARSAL / "docs" / "autoscaler.md").read_text("utf-8")


def test_there_are_forty_with_sources_and_the_page_has_every_difference() -> None:
    assert len(ALL) >= 40
    for each in ALL:
        start = each["source"].split("#")[0].split("/")[0]
        assert start in TABLE["links"] or each["source"].startswith("https://"), each
        assert each["real"]
    differences = [f"- {each['differs']}." for each in ALL if "differs" in each]
    assert [line for line in PAGE.splitlines() if line.startswith("- ")] == sorted(differences)


@pytest.mark.parametrize("each", TABLE["elsewhere"], ids=lambda each: each["situation"])
def test_the_test_exists(each: dict[str, str]) -> None:
    file, _, name = each["test"].partition("::")
    assert f"\ndef {name}(" in (REHEARSAL / file).read_text("utf-8")


@pytest.mark.parametrize("each", TABLE["empties"], ids=lambda each: each["situation"])
def test_a_node_is_emptied_or_stays_as_the_real_one_did_and_said(
    monkeypatch: pytest.MonkeyPatch, each: dict[str, Any]
) -> None:
    gpus, packing = each.get("gpus", 4), replace(PACKING, delay_minutes=0, **each.get("profile", {}))
    packer, api = packer_of(monkeypatch, gpu_group("t4", gpus, packing=packing))
    # The other one is of a group that keeps its nodes.
    api.nodes = [started(name, group, gpus) for name, group in {"here": "t4", "there": "kept"}.items()]
    api.nodes[0]["metadata"]["annotations"] = each.get("annotations")
    for one in api.nodes:
        name = one["metadata"]["name"]
        one["metadata"]["labels"][ZONE] = each.get("zones", {}).get(name, ZONES[0])
    here = [running(nodeName="here", **fields) for fields in each["pods"]]
    made = datetime.fromtimestamp(-each.get("minutes_old", 0), timezone.utc)
    for number, pod in enumerate(here):
        stamped = {"name": f"here-{number}", "uid": "", "creationTimestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ")}
        pod["metadata"] = {**pod["metadata"], **stamped}
    api.pods = [*here, *(running(nodeName="there", **fields) for fields in others_of_row(each))]
    api.budgets = each.get("budgets", [])
    api.volumes = [
        {"spec": {"claimRef": {"namespace": "default", "name": name}, "nodeAffinity": within(zone)}}
        for name, zone in each.get("claims", {}).items()
    ]
    for api.second in (0, 10):
        packer.look()
    real = EMPTIED[each["situation"]]
    assert (api.deleted == ["claim-here"]) is real["emptied"] is each["emptied"]
    said = {("node" if kind == "Node" else "pods", text) for kind, text in api.events}
    assert said == {(what, text) for what, texts in real["said"].items() for text in texts}


def test_a_budget_without_room_saves_the_node() -> None:
    class Budgeted:
        """An ``Api`` whose budgets have no room."""

        def create(self, path: str, body: Object) -> None:
            raise ApiError(429, "TooManyRequests", f"{path}: a disruption budget is in the way")

    packer = Packer(cast(Api, Budgeted()), lambda name: None)
    held = running(1, metadata={"name": "held"})
    assert not packer._budgets_allow(Used(node("here", 4), [held]))  # pyright: ignore[reportPrivateUsage]
    assert packer._budgets_allow(Used(node("here", 4), []))  # pyright: ignore[reportPrivateUsage]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with played(tmp_path_factory.mktemp("situations")) as running:
        yield running


@pytest.fixture(scope="module")
def all_emptied(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Lane → what became of it, of one play: those with the flags of most."""
    rows = {lane: each for lane, each in EMPTIES.items() if "profile" not in each}
    with emptied(tmp_path_factory.mktemp("emptied"), rows) as running:
        return {lane: outcome_of_row(running.api, lane) for lane in rows}


@pytest.mark.rehearsal
@pytest.mark.parametrize("lane", EMPTIES, ids=lambda lane: EMPTIES[lane]["situation"])
def test_nodes_are_emptied(all_emptied: dict[str, Any], lane: str) -> None:
    if lane in all_emptied:  # the others are decided by the flags alone, which the test above has
        assert all_emptied[lane]["emptied"] is EMPTIES[lane]["emptied"]


@pytest.mark.rehearsal
@pytest.mark.parametrize("lane", GROWS, ids=lambda lane: GROWS[lane]["situation"])
def test_groups_grow(everything: Running, lane: str) -> None:
    each, actual = GROWS[lane], outcome(everything.api, lane)
    if "in_vain" in each:
        return
    assert actual["nodes"] == each["nodes"]
    if "runs" in each:
        assert actual["runs"] == each["runs"]
    if "differs" not in each:
        # Counts are of the groups that are there at that moment.
        reasons = {name: _reasons(text) for name, text in actual["said"].items()}
        assert reasons == {name: _reasons(text) for name, text in REAL[each["situation"]]["said"].items()}


@pytest.mark.parametrize("each", TABLE["grows"], ids=lambda each: each["situation"])
def test_what_the_rehearsals_autoscaler_does_is_what_the_real_one_did(each: dict[str, Any]) -> None:
    recorded = REAL[each["situation"]]
    assert (each["nodes"] == recorded["nodes"]) is ("differs" not in each)
    if "runs" in each and "differs" not in each:
        assert each["runs"] == recorded["runs"]


def test_what_it_says_is_what_the_real_one_said() -> None:
    """With the nodes that there were in the end, and an attempt to grow that is long past."""
    cluster = ClusterFacts(CLUSTER, "us-central1", "1.34.4")
    groups = {f"{lane}-{name}": group_of_row(lane, name) for lane, each in GROWS.items() for name in each["groups"]}
    sizes = {
        f"{lane}-{name}": count for lane in GROWS for name, count in REAL[GROWS[lane]["situation"]]["nodes"].items()
    }
    agents = [agents_of_row(lane)["spec"]["template"]["spec"] for lane in GROWS if "daemon_cpu" in GROWS[lane]]
    known = states([NodeTemplate(group, cluster) for group in groups.values()], sizes, agents)
    compared = 0
    for lane, each in GROWS.items():
        for name, text in REAL[each["situation"]]["said"].items():
            spec = pod_of_row(lane, name)["spec"]
            # As the API server's plugin ExtendedResourceToleration does.
            spec["tolerations"] = [*spec.get("tolerations", ()), {"key": "nvidia.com/gpu", "operator": "Exists"}]
            assert not_triggered(spec, known) == text, each["situation"]
            compared += 1
    assert compared >= 10


def _reasons(text: str) -> set[str]:
    return {part.partition(" ")[2] for part in text.partition(": ")[2].split(", ")} - PASSING


PASSING = {"in backoff after failed scale-up", "not ready for scale-up"}
"""Of other groups, for some seconds."""
