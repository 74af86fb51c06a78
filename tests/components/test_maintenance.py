"""A stack's window is the same hours of the week in every cloud's form, and GPU jobs are out of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest

from components.clouds.aks.maintenance import maintenance_inputs
from components.clouds.eks.karpenter_objects import node_pool
from components.clouds.gke.maintenance import policy
from components.settings.sections.maintenance import DAYS, Maintenance
from tests.components import eks_specs
from tests.components.settings.test_clouds import load_stack

WEEK = 7 * 24
SHORT = {day[:2].upper(): index for index, day in enumerate(DAYS)}
WINDOWS = [
    Maintenance(day=day, start=f"{start:02}:00", hours=hours)
    for day, start, hours in product(DAYS, (0, 13, 23), (4, 12, 24))
]
NEW_YEAR = {"name": "new-year", "first": "2026-12-24", "last": "2027-01-03"}


def hours(start: int, length: int) -> set[int]:
    """Hours of the week, from Monday's first."""
    return {hour % WEEK for hour in range(start, start + length)}


def meant(window: Maintenance) -> set[int]:
    return hours(window.weekday * 24 + window.opens, window.hours)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix("Z"))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_google_opens_it_in_these_hours(window: Maintenance) -> None:
    written: Any = policy(window)
    recurring = written["recurringWindow"]
    start, end = moment(recurring["startTime"]), moment(recurring["endTime"])
    frequency, day = recurring["recurrence"].split(";BYDAY=")
    assert (frequency, SHORT[day]) == ("FREQ=WEEKLY", start.weekday())
    assert hours(start.weekday() * 24 + start.hour, (end - start) // timedelta(hours=1)) == meant(window)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_azure_opens_its_three_in_these_hours(window: Maintenance) -> None:
    expected = {"default", "aksManagedAutoUpgradeSchedule", "aksManagedNodeOSUpgradeSchedule"}
    assert set(maintenance_inputs(window)) == expected
    for inputs in maintenance_inputs(window).values():
        sent: dict[str, Any] = dict(inputs)
        if "timeInWeek" in sent:
            opened = {
                DAYS.index(each["day"].lower()) * 24 + hour for each in sent["timeInWeek"] for hour in each["hourSlots"]
            }
        else:
            one = sent["maintenanceWindow"]
            day = DAYS.index(one["schedule"]["weekly"]["dayOfWeek"].lower())
            opened = hours(day * 24 + int(one["startTime"][:2]), one["durationHours"])
        assert opened == meant(window)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_karpenter_renews_no_cpu_node_outside_of_these_hours(window: Maintenance) -> None:
    spec = node_pool(eks_specs.cpu_pool(), weight=1, unneeded_minutes=5, maintenance=window)["spec"]
    budgets = spec["disruption"]["budgets"]
    [shut] = [one for one in budgets if "schedule" in one]
    assert (shut["nodes"], shut["reasons"]) == ("0", ["Drifted"])
    minute, hour, month_day, month, day = shut["schedule"].split()
    assert (minute, month_day, month) == ("0", "*", "*")
    closed = hours((int(day) - 1) % 7 * 24 + int(hour), int(shut["duration"].removesuffix("h")))
    assert closed == set(range(WEEK)) - meant(window)


def test_an_exclusion_is_all_of_its_days() -> None:
    maintenance = load_stack("gke", maintenance={"exclusions": [NEW_YEAR]}).maintenance
    given_to_google: Any = policy(maintenance)
    [google] = given_to_google["maintenanceExclusions"]
    assert (google["startTime"], google["endTime"]) == ("2026-12-24T00:00:00Z", "2027-01-04T00:00:00Z")
    for inputs in maintenance_inputs(load_stack("aks", maintenance={"exclusions": [NEW_YEAR]}).maintenance).values():
        sent: dict[str, Any] = dict(inputs)
        [span] = sent.get("notAllowedTime") or sent["maintenanceWindow"]["notAllowedDates"]
        assert (span["start"][:10], span["end"][:10]) == ("2026-12-24", "2027-01-04")
