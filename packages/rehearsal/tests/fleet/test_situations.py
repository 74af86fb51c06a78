"""What a real cluster-autoscaler does in many situations, from its own texts, beside what the rehearsal's does.

Those in which groups grow are played at once on one cluster, each with groups and pods of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from packages.rehearsal.tests.fleet.facts import Running, running_fleet
from packages.rehearsal.tests.fleet.test_packing import PACKING, node, running
from packages.rehearsal.tests.simulated_cluster import PODS, daemon_set, eventually, gpu_group, group_of, nodes, pod
from packages.rehearsal.tests.tables import beside
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.fleet.node_pools import ExhaustedPools
from rehearsal.fleet.packing import Packer, Used, unneeded
from rehearsal.simulation import NodeShape

TABLE = beside(__file__)
GROWS = {f"s{number}": each for number, each in enumerate(TABLE["grows"])}
ALL = [each for kind in ("grows", "empties", "elsewhere") for each in TABLE[kind]]
REHEARSAL = Path(__file__).parents[2]
PAGE = (REHEARSAL / "docs" / "autoscaler.md").read_text("utf-8")
QUIET_SECONDS = 5.0
PRIORITIES = {"expendable": -20, "low": -1}


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
def test_a_node_is_emptied_or_stays(each: dict[str, Any]) -> None:
    gpus = each.get("gpus", 4)
    here, there = node("here", gpus), node("there", gpus)
    here["metadata"]["annotations"] = each.get("annotations")
    used = Used(here, [running(**fields) for fields in each["pods"]])
    others, packing = [Used(there, [running(2)] if gpus else [])], replace(PACKING, **each.get("profile", {}))
    assert unneeded(used, others, packing, each.get("budgets", ())) is each["emptied"]


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
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """All situations of growth, played until nothing changes any more."""
    with running_fleet(tmp_path_factory.mktemp("situations")) as played:
        api = played.api
        for name, value in PRIORITIES.items():
            kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            api.apply_manifest({**kind, "value": value})
        exhausted = set[str]()
        for lane, each in GROWS.items():
            for name, fields in each["groups"].items():
                played.fleet.apply_group(_group(lane, name, **fields))
            exhausted |= {f"{lane}-{name}" for name in each.get("exhausted", ())}
            if "daemon_cpu" in each:
                agents = daemon_set(lane, nodeSelector={"lane": lane}, tolerations=[{"operator": "Exists"}])
                agents["spec"]["template"]["spec"]["containers"][0]["resources"] = {
                    "requests": {"cpu": each["daemon_cpu"]}
                }
                api.apply_manifest(agents)
        played.fleet.settle()
        ExhaustedPools().exhaust(api, exhausted)
        for lane, each in GROWS.items():
            for name, fields in each["pods"].items():
                api.create(PODS, _pod(lane, name, **fields))
        eventually("what should run runs", lambda: all(_runs(api, lane) for lane in GROWS))
        eventually("nothing changes any more", lambda: _quiet(api))
        yield played


@pytest.mark.rehearsal
@pytest.mark.parametrize("lane", GROWS, ids=lambda lane: GROWS[lane]["situation"])
def test_groups_grow(played: Running, lane: str) -> None:
    each, api = GROWS[lane], played.api
    sizes = {name: len(nodes(api, f"{lane}-{name}")) for name in each["groups"]}
    if "together" in each:
        assert sum(sizes.values()) == each["together"]
        return
    assert sizes == each["nodes"]
    if "runs" in each:
        assert {name: group_of(api, f"{lane}-{name}") for name in each["pods"]} == {
            name: f"{lane}-{each['runs'][name]}" if name in each["runs"] else None for name in each["pods"]
        }


def _group(lane: str, name: str, gpus: int = 1, disk_mib: int = 100 * 1024, **fields: Any) -> Any:
    full = f"{lane}-{name}"
    labels = {"gpucluster.dev/pool": full, "lane": lane, **fields.pop("labels", {})}
    machine = NodeShape(4, 15, gpus, "nvidia-tesla-t4" if gpus else "", disk_mib=disk_mib)
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return gpu_group(full, gpus, machine=machine, labels=labels, **lists)


def _pod(lane: str, name: str, gpus: int = 1, **fields: Any) -> Object:
    asked = {"cpu": fields.pop("cpu", None), "ephemeral-storage": fields.pop("disk", None)}
    port, labels = fields.pop("port", None), fields.pop("labels", {})
    selector = {"lane": lane, **fields.pop("nodeSelector", {})}
    manifest = pod(f"{lane}-{name}", gpus, seconds=900, nodeSelector=selector, **fields)
    manifest["metadata"]["labels"] = labels
    (container,) = manifest["spec"]["containers"]
    container["resources"]["requests"] = {key: value for key, value in asked.items() if value}
    container["ports"] = [{"containerPort": port, "hostPort": port}] if port else []
    return manifest


def _quiet(api: Api) -> bool:
    """Whether no node, claim or pod's place changes for a while: by then a node too many has come, or is gone again."""

    def there() -> tuple[set[str], set[str], dict[str, Any]]:
        claims = {each["metadata"]["name"] for each in api.list("/apis/karpenter.sh/v1/nodeclaims")}
        pods = {each["metadata"]["name"]: each["spec"].get("nodeName") for each in api.list(PODS)}
        return {each["metadata"]["name"] for each in api.list("/api/v1/nodes")}, claims, pods

    before = there()
    time.sleep(QUIET_SECONDS)
    return there() == before


def _runs(api: Api, lane: str) -> bool:
    each = GROWS[lane]
    expected = each.get("nodes") or {}
    grown = all(len(nodes(api, f"{lane}-{name}")) >= count for name, count in expected.items())
    return grown and all(group_of(api, f"{lane}-{name}") is not None for name in each.get("runs", ()))
