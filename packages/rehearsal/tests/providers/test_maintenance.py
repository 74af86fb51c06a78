"""When a simulated cloud maintains nodes, by what was declared, and what AKS refuses to begin with."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from packages.rehearsal.tests.providers.aks.account import MAINTENANCE, Microsoft, gpu_pool, window
from packages.rehearsal.tests.providers.aks.account import POOL as AKS_POOL
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.cloud import Record
from rehearsal.providers.gke.cluster import night
from rehearsal.scenario.timeline import PodRecord
from rehearsal.simulation import Night
from rehearsal.work.maintenance import problems, window_check

REGULAR = {"scaleSetPriority": None, "scaleSetEvictionPolicy": None, "spotMaxPrice": None}
IMAGES = window(maintenanceWindow={**window()["maintenanceWindow"], "durationHours": 12})


@pytest.mark.parametrize(
    ("channel", "night"), [("NodeImage", True), ("SecurityPatch", True), ("None", False), ("Unmanaged", False)]
)
def test_aks_renews_nodes_by_its_channel_whenever_without_a_window(azure: Microsoft, channel: str, night: bool) -> None:
    azure.cluster(autoUpgradeProfile={"nodeOSUpgradeChannel": channel})
    assert azure.provider.maintain() == (Night("any hour") if night else None)
    azure.create(MAINTENANCE, IMAGES)
    assert azure.provider.maintain() == (Night("sunday 02:00 12 h") if night else None)


@pytest.mark.parametrize(("behavior", "renewal"), [(None, "schedule"), ("Schedule", "schedule"), ("Cordon", "cordon")])
def test_what_aks_does_with_a_node_that_it_cannot_drain(azure: Microsoft, behavior: str | None, renewal: str) -> None:
    azure.cluster()
    settings = {"maxSurge": "1", **({"undrainableNodeBehavior": behavior} if behavior else {})}
    azure.create(AKS_POOL, gpu_pool(**REGULAR, upgradeSettings=settings))
    assert azure.fleet.groups["t4spot"].renewal == renewal


@cases
def test_aks_starts_no_upgrade_that_a_budget_blocks_for_certain(
    azure: Microsoft, monkeypatch: pytest.MonkeyPatch, of: dict[str, Any], refused: str
) -> None:
    azure.cluster()
    monkeypatch.setattr(azure.fleet, "list_objects", lambda path: [of] if path.endswith("budgets") else [])
    begun = azure.provider.maintain()
    assert begun is not None
    assert re.search(f"UnsatisfiablePDB: .*{refused}" if refused else "^$", begun.refused)


def test_gke_upgrades_in_its_window() -> None:
    times = {"startTime": "2024-01-07T02:00:00Z", "endTime": "2024-01-07T14:00:00Z"}
    weekly = {**times, "recurrence": "FREQ=WEEKLY;BYDAY=SU"}

    def night_of(window: dict[str, str] | None) -> Night:
        policy = {} if window is None else {"maintenancePolicy": {"recurringWindow": window}}
        cloud: Any = SimpleNamespace(store=SimpleNamespace(all=lambda kind: [Record("c", kind, policy)]))
        return night(cloud)

    assert night_of(None) == Night("any hour")
    assert night_of(weekly) == Night("sunday 02:00 12 h")
    assert night_of({**weekly, "recurrence": "FREQ=DAILY"}) == Night("FREQ=DAILY from 2024-01-07T02:00:00Z")


def pod(uid: str, node: str) -> PodRecord:
    return PodRecord(uid, "default", f"pod-{uid}", "job", "Job", 1, 0.0, node=node)


BUSY, IDLE = pod("1", "a"), pod("2", "b")
WINDOW = Night("sunday 02:00 12 h")


@pytest.mark.parametrize(
    ("after", "begun", "nodes", "wrong"),
    [
        ([BUSY], WINDOW, {"a": "quarantined", "b": "renewed"}, ""),
        ([BUSY], Night(""), {}, ""),
        ([BUSY], None, {}, ""),
        ([pod("3", "b")], WINDOW, {"a": "renewed", "b": "renewed"}, "pod-1 was ended on a"),
        ([BUSY], WINDOW, {"a": "unchanged", "b": "unchanged"}, "b, which was idle, is unchanged"),
        ([BUSY], Night("any hour"), {}, "renews nodes at any hour; maintenance declares sunday 02:00 12 h"),
        ([BUSY], Night(WINDOW.window, refused="no"), {}, "the cloud renews no node: no"),
    ],
)
def test_what_fails_in_a_night(after: list[PodRecord], begun: Night | None, nodes: dict[str, str], wrong: str) -> None:
    messages = problems([BUSY, IDLE], after, begun, nodes, WINDOW.window)
    assert [wrong in each for each in messages] == ([True] if wrong else [])


def test_without_a_job_the_window_is_checked_where_there_is_one() -> None:
    (check,) = window_check(WINDOW, WINDOW.window)
    assert check.passed
    (check,) = window_check(Night("any hour"), WINDOW.window)
    assert not check.passed
    assert check.detail == "any hour; maintenance declares sunday 02:00 12 h"
    assert window_check(None, WINDOW.window) == window_check(Night(""), WINDOW.window) == []
