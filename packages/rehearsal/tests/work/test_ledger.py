"""What must be so of a ledger after a rehearsal: what is not fails its check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.ledger import Day, NodeEntry, PodEntry
from rehearsal.scenario.timeline import NodeRecord
from rehearsal.work.ledger import compared

BEGAN = 1_795_953_600
STAMP = "2026-11-29T12:00:00Z"
NODE = NodeEntry("n", "t4-1", False, 36.0, False, BEGAN, BEGAN + 100, True)
POD = PodEntry("default", "j", "", "", "u", 1, 36.0, BEGAN, BEGAN + 10, BEGAN + 60, True, False)
LIFE = NodeRecord("n", "t4-1", "gpu", 1, True, "machine", 5.2, deleted=100.9, uid="u", stamped=STAMP)


def problems(node: Any = None, life: Any = None, noted: int | None = 100, days: Any = None) -> list[str]:
    """``noted``: seconds after the start; the ledger's last run was after 150."""
    node, life = NODE._replace(**(node or {})), replace(LIFE, **(life or {}))
    known = {} if noted is None else {"u": BEGAN + noted}
    day = days or {"2026-11-29": Day({"u": node}, {"p": POD}, {})}
    return compared(day, [life], known, BEGAN + 150, {"t4-1": 36.0}, 155.0)[0]


@pytest.mark.parametrize(
    ("node", "life", "noted"),
    [
        ({}, {}, 100),
        ({"end": BEGAN + 150, "final": False}, {"deleted": None}, None),
        # Its end was noted after the last run, which had seen it before.
        ({"end": BEGAN + 95, "final": False}, {}, 100),
        ({"end": BEGAN + 150}, {"deleted": 154.9}, 151),
    ],
    ids=["gone", "there", "noted later", "noted during the last run"],
)
def test_nothing_differs_from_the_api_servers_clock(node: Any, life: Any, noted: int | None) -> None:
    assert problems(node, life, noted) == []


@pytest.mark.parametrize(
    ("node", "life", "noted", "expected"),
    [
        ({"end": BEGAN + 101}, {}, 100, "there for 100 s by the API server's clock, recorded are 101 s"),
        ({"start": BEGAN - 1}, {}, 100, "recorded are 101 s"),
        ({"end": BEGAN + 149, "final": False}, {"deleted": None}, None, "there for 150 s by the API"),
        ({"end": BEGAN + 110}, {}, 110, "was there for 96 s, recorded are 110 s"),
        ({"end": BEGAN + 90}, {}, 90, "was there for 96 s, recorded are 90 s"),
        ({}, {"uid": "another"}, 100, "n was no node"),
    ],
)
def test_each_second_that_differs_is_reported(node: Any, life: Any, noted: int | None, expected: str) -> None:
    assert expected in problems(node, life, noted)[0]


@pytest.mark.parametrize(
    ("start", "launched", "wrong"),
    [
        (-40, {"n": BEGAN - 40}, False),
        (0, {"n": BEGAN - 40}, True),
        (-41, {"n": BEGAN - 40}, True),
        (-40, {}, False),
        (-901, {}, True),
        (1, {}, True),
        (-40, None, True),
    ],
)
def test_a_node_counts_from_the_launch_of_its_machine(start: int, launched: Any, wrong: bool) -> None:
    """With Karpenter; that of a machine which is gone is known within limits."""
    day = {"2026-11-29": Day({"u": NODE._replace(start=BEGAN + start)}, {}, {})}
    found = compared(day, [LIFE], {"u": BEGAN + 100}, BEGAN + 150, {"t4-1": 36.0}, 155.0, launched)[0]
    assert bool(found) is wrong, found


def test_pods_that_cost_more_than_their_node_are_reported() -> None:
    twice = {"2026-11-29": Day({"u": NODE}, {"p": POD, "q": POD}, {})}
    assert "its parts is $1.2000, its nodes $1.0000" in problems(days=twice)
    assert problems(days={"2026-11-29": Day({}, {}, {})}) == ["no node is recorded"]
