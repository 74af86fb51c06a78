"""``gpu cost --month`` adds up what the ledger recorded, and says what it does not know."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from facts.concepts import ledger
from packages.gpu.tests.api_server import inventory, kubeconfig, serving
from packages.gpu.tests.offers import offer
from packages.gpu.tests.offers import pool as offered
from packages.gpu.tests.test_cli import Run, gpu
from rehearsal.checks.ledger_cluster import LedgerCluster, pool

__all__ = ["gpu"]

CONFIG_MAPS = f"/api/v1/namespaces/{ledger.NAMESPACE}/configmaps"
HOUR = 3600


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, Any]], None]]:
    with ExitStack() as stack:

        def with_objects(objects: dict[str, Any]) -> None:
            url = stack.enter_context(serving({**inventory(offer(offered())), **objects}))
            monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"gke": url})))

        yield with_objects


def recorded(at_most: bool = False, before: Callable[[LedgerCluster], object] = lambda there: None) -> dict[str, Any]:
    """Two jobs of two users and a service of nobody, each an hour, over midnight; and an hour of an idle node."""
    start = datetime(2026, 11, 29, 22, 30, tzinfo=timezone.utc).timestamp()
    there = LedgerCluster([pool("l4", 1.0, price_at_most=at_most), pool("h100", 80.0, gpus=8)], now=start)
    there.run()
    there.add_node("a", "l4")
    there.add_node("b", "h100")
    there.now += 1800
    there.add_pod("p1", "a", job="train", user="=ada", team="ml")
    there.add_pod("p2", "b", gpus=4, job="sweep", user="eve", team="vision")
    there.add_pod("p3", "b", job="", team="vision")
    for name in ("p1", "p2", "p3"):
        there.run_pod(name)
    there.now += HOUR - 60
    there.run()
    there.now += 60 + HOUR
    for name in ("p1", "p2", "p3"):
        there.end_pod(name)
    before(there)
    there.run()
    return objects(there)


def objects(there: LedgerCluster) -> dict[str, Any]:
    days = [each for each in there.config_maps.values() if ledger.MONTH_LABEL in each["metadata"].get("labels", {})]
    return {CONFIG_MAPS: days}


IN_ALL = 2.5 + 2.5 * 80


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("team", {"vision": 2 * 50.0, "ml": 2.0}),
        ("user", {"eve": 2 * 40.0, "(unknown)": 2 * 10.0, "=ada": 2.0}),
        ("job", {"sweep": 2 * 40.0, "p3": 2 * 10.0, "train": 2.0}),
    ],
)
def test_a_month_by_team_user_or_job(
    serve: Callable[[dict[str, Any]], None], gpu: Run, by: str, rows: dict[str, float]
) -> None:
    serve(recorded())
    answer = json.loads(gpu("cost", "--month", "2026-11", "--by", by, "--json")[1])
    # A day is over at midnight, and so is its month.
    assert {row[by]: round(row["runningUsd"], 4) for row in answer["rows"]} == rows
    assert answer["totalUsd"] == pytest.approx(IN_ALL, abs=1e-6)
    assert answer["idleUsd"] == pytest.approx(IN_ALL - sum(rows.values()), abs=1e-6)
    assert answer["notes"] == []
    table = gpu("cost", "--month", "2026-11", "--by", by)[1]
    assert all(name in line for name, line in zip(rows, table.splitlines()[1:-2], strict=True))
    assert f"${IN_ALL:.2f}" in table.splitlines()[-1]


@pytest.mark.parametrize(("claims", "notes"), [(None, 1), ({}, 0)])
def test_what_machines_cost_before_they_are_nodes_is_named(
    serve: Callable[[dict[str, Any]], None], gpu: Run, claims: dict[str, Any] | None, notes: int
) -> None:
    """Two nodes over midnight are two machines; with Karpenter they count from their launch."""
    start = datetime(2026, 11, 29, 23, 30, tzinfo=timezone.utc).timestamp()
    there = LedgerCluster([pool("l4", 1.2), pool("h100", 80.4, gpus=8)], now=start, claims=claims)
    there.run()
    there.add_node("a", "l4", 120)
    there.add_node("b", "h100", 120)
    for _ in range(12):
        there.now += 300
        there.run()
    head = {f"{CONFIG_MAPS}/{ledger.HEAD}": there.config_maps[ledger.HEAD]}
    serve({**objects(there), **head})
    said = json.loads(gpu("cost", "--month", "2026-11", "--json")[1])["notes"]
    expected = ["not counted: the time from the start of a machine until it is a node, some minutes each: 2 machines, "]
    assert said == [f"{each}$1.36 for each minute that all of them took" for each in expected[:notes]]
    serve({**objects(there), **head})
    assert json.loads(gpu("cost", "--month", "2026-11", "-n", "ml", "--json")[1])["notes"] == []


def test_the_csv_has_columns_of_focus_and_the_same_total(serve: Callable[[dict[str, Any]], None], gpu: Run) -> None:
    serve(recorded())
    rows = [*csv.DictReader(io.StringIO(gpu("cost", "--month", "2026-11", "--by", "job", "--csv")[1]))]
    assert sum(float(row["ListCost"]) for row in rows) == pytest.approx(IN_ALL, abs=1e-4)
    assert {row["ChargePeriodStart"] for row in rows} == {"2026-11-29T00:00:00Z", "2026-11-30T00:00:00Z"}
    assert {(row["BillingPeriodStart"], row["BillingPeriodEnd"]) for row in rows} == {
        ("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")
    }
    assert {row["ConsumedUnit"] for row in rows if row["ChargeDescription"] == "running"} == {"GPU hours"}
    assert sum(float(row["ConsumedQuantity"] or 0) for row in rows) == pytest.approx(2 * 6, abs=1e-3)
    assert {row["x_User"] for row in rows} == {"'=ada", "eve", ""}, "no spreadsheet executes a name"


def test_a_team_alone_has_no_idle_nodes(serve: Callable[[dict[str, Any]], None], gpu: Run) -> None:
    serve(recorded())
    answer = json.loads(gpu("cost", "--month", "2026-11", "-n", "ml", "--json")[1])
    assert (answer["idleUsd"], answer["totalUsd"]) == (0.0, pytest.approx(2.0))


def lost(there: LedgerCluster) -> None:
    there.add_job("gone", there.now - HOUR, "l4")
    there.add_job("nowhere", there.now - HOUR, "", succeeded=3)
    there.add_node("unseen", "l4")
    there.now += HOUR / 2
    there.remove_node("unseen")


def test_what_is_not_exact_is_noted(serve: Callable[[dict[str, Any]], None], gpu: Run) -> None:
    serve(recorded(at_most=True, before=lost))
    notes = json.loads(gpu("cost", "--month", "2026-11", "--json")[1])["notes"]
    assert notes == [
        "node price of l4 not known exactly; its upper limit counts",
        "at most, for pods that ended while nothing was recorded: 1, counted by their own times; the idle time of "
        "nodes that are not known is not included",
        "not counted: nodes that came or went while nothing was recorded, at most 0.5 hours: unseen (perhaps without "
        "GPUs)",
        "not counted: 3 pods of 1 Job",
    ]


LINE = {
    "2026-07": '{"gpu_hours": 2.0, "running": 3.0, "provisioning": 0.5, "idle": 1.5}',
    "until": "2026-11-29T12:00:00Z",
}
HEAD = {CONFIG_MAPS: [], f"{CONFIG_MAPS}/{ledger.HEAD}": {"data": LINE}}


@pytest.mark.parametrize(
    ("there", "arguments", "code", "text"),
    [
        (HEAD, ["--month", "2026-07"], 0, "$5.00"),
        (HEAD, ["--month", "2026-07", "--json"], 0, '"totalUsd": 5.0'),
        (HEAD, ["--month", "2026-07", "--csv"], 2, "--csv: of 2026-07 only its total is kept; leave --csv out"),
        (HEAD, ["--month", "2026-08"], 1, "nothing is recorded; the last record is of 2026-11-29T12:00:00Z"),
        ({CONFIG_MAPS: []}, ["--month", "2026-11"], 1, "this cluster records no costs: its stack is older"),
        # The first run of a new cluster is to come, or the CronJob is suspended.
        (
            {CONFIG_MAPS: [], "/api/v1/namespaces": [{"metadata": {"name": ledger.NAMESPACE}}]},
            ["--month", "2026-11"],
            1,
            "nothing is recorded yet: the CronJob gpucluster-ledger",
        ),
        ({CONFIG_MAPS: 403}, ["--month", "2026-11"], 3, "refused"),
        (HEAD, ["--month", "november"], 2, "write a year and a month: 2026-11"),
        (HEAD, ["--month", "2026-13"], 2, "write a year and a month: 2026-11"),
        (HEAD, ["--by", "user"], 2, "--by needs --month"),
        (HEAD, ["--csv"], 2, "--csv needs --month"),
        (HEAD, ["--month", "2026-07", "--csv", "--json"], 2, "write --csv or --json"),
        (HEAD, ["train", "--month", "2026-07"], 2, "leave out JOB"),
    ],
)
def test_what_is_not_there_is_said(
    serve: Callable[[dict[str, Any]], None], gpu: Run, there: dict[str, Any], arguments: list[str], code: int, text: str
) -> None:
    serve(there)
    got, out, err = gpu("cost", *arguments)
    assert got == code
    assert text in " ".join((out + err).split())
