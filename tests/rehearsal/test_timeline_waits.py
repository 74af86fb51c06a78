"""A rehearsal waits as long as something happens in the cluster, however slow the machine is."""

from __future__ import annotations

from tests.rehearsal.objects import Cluster

QUIET = 30.0


def test_what_goes_on_is_waited_for_longer_than_one_quiet_period() -> None:
    cluster = Cluster.empty()
    seen: list[str] = []

    def slowly() -> None:
        seen.append(f"node-{len(seen)}")
        cluster.after(QUIET - 1).node(seen[-1], "t4-1")

    assert cluster.timeline.wait_until(lambda: len(seen) == 4, QUIET, slowly)


def test_what_does_not_come_is_given_up_when_nothing_happens() -> None:
    cluster = Cluster.empty()
    began = cluster.clock.moment
    assert not cluster.timeline.wait_until(lambda: False, QUIET, lambda: cluster.after(1) and None)
    assert cluster.clock.moment - began == QUIET


def test_an_observation_that_changes_nothing_is_no_progress() -> None:
    cluster = Cluster.empty()
    cluster.node("node", "t4-1")
    began = cluster.clock.moment
    assert not cluster.timeline.wait_until(
        lambda: False, QUIET, lambda: cluster.after(1).node("node", "t4-1", change="MODIFIED")
    )
    assert cluster.clock.moment - began == QUIET


def test_what_changes_for_ever_is_given_up_at_last() -> None:
    cluster = Cluster.empty()
    seen: list[str] = []

    def endlessly() -> None:
        seen.append(f"node-{len(seen)}")
        cluster.after(QUIET / 2).node(seen[-1], "t4-1")

    assert not cluster.timeline.wait_until(lambda: False, QUIET, endlessly)
    assert len(seen) > 4
