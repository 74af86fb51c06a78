"""Idle time is compressed, and nothing else: what never goes, and what has not begun, stays as it is."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from rehearsal.fleet.idle_time import put_back

NOW = datetime.datetime(2026, 11, 22, 12, 0, 0, tzinfo=datetime.timezone.utc)


def ago(idle: float) -> str:
    return (NOW - datetime.timedelta(seconds=idle)).strftime("%Y-%m-%dT%H:%M:%SZ")


def claim(
    idle: float, group: str = "karpenter.k8s.aws", initialized: str = "True", event: bool = True
) -> dict[str, Any]:
    conditions = [{"type": "Initialized", "status": initialized, "lastTransitionTime": ago(idle)}]
    status = {"conditions": conditions, **({"lastPodEventTime": ago(idle)} if event else {})}
    return {"metadata": {"name": "c"}, "spec": {"nodeClassRef": {"group": group}}, "status": status}


def pool(after: str | None = "10m") -> dict[str, Any]:
    return {"spec": {"disruption": {} if after is None else {"consolidateAfter": after}}}


@pytest.mark.parametrize("event", [True, False])
def test_a_second_of_idleness_is_all_that_the_pool_asks_for(event: bool) -> None:
    assert put_back(claim(1, event=event), pool(), NOW) == NOW - datetime.timedelta(minutes=10)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (claim(0), pool()),  # a pod has just come or gone
        (claim(5), pool("Never")),
        (claim(600), pool()),  # far enough back already
        (claim(5), pool("0s")),
        (claim(5), pool(None)),
        (claim(5, initialized="False"), pool()),
        (claim(5, initialized="Unknown"), pool()),
        (claim(5, group="karpenter.kwok.sh"), pool()),  # the fleet's own, which is fast enough
        ({**claim(5), "metadata": {"name": "c", "deletionTimestamp": ago(1)}}, pool()),
    ],
)
def test_what_stays(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert put_back(one, other, NOW) is None
