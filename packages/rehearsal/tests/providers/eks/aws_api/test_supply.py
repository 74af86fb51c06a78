"""What EC2 has left to give."""

from __future__ import annotations

from rehearsal.providers.eks.base.supply import CapacityReservation, Supply

MINE = CapacityReservation("cr-0123456789abcdef0", "g4dn.xlarge", "us-west-2a", 2)
OTHER = CapacityReservation("cr-0123456789abcdef1", "g4dn.xlarge", "us-west-2b", 3)


def test_a_reservation_that_is_used_up_holds_nothing_until_it_is_refilled() -> None:
    supply = Supply()
    supply.reserve(MINE)
    supply.reserve(OTHER)
    supply.use_up(MINE.id)
    used = supply.reservation(MINE.id)
    assert used is not None
    assert used.count == 0
    assert supply.reservation(OTHER.id) == OTHER
    supply.refill()
    assert supply.reservation(MINE.id) == MINE


def test_a_reservation_that_nobody_made_is_not_there() -> None:
    assert Supply().reservation(MINE.id) is None


def test_one_market_runs_dry_and_the_other_does_not() -> None:
    supply = Supply()
    supply.exhaust("us-west-2a", "g4dn.xlarge", "spot")
    assert supply.is_dry("us-west-2a", "g4dn.xlarge", "spot")
    assert not supply.is_dry("us-west-2a", "g4dn.xlarge", "on-demand")
    assert not supply.is_dry("us-west-2b", "g4dn.xlarge", "spot")
