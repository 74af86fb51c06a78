"""Which parts of ``maintenance`` a cloud supports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from components.settings.maintenance import Maintenance
from components.settings.problems import Problem
from components.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Windows:
    """A cloud's limits; ``None``: no limit. ``autoscaler``: the only one that respects a window, if not all do."""

    least_hours: int = 4
    longest_exclusion_days: int | None = None
    most_exclusions: int | None = None
    autoscaler: str | None = None


def problems(settings: Settings, windows: Windows) -> Iterator[Problem]:
    """Windows and exclusions of the stack file that the cloud would not respect."""
    maintenance, cloud = settings.maintenance, settings.cloud.upper()
    if maintenance.hours < windows.least_hours:
        yield Problem(
            "maintenance.hours",
            f"{cloud} needs a weekly window of {windows.least_hours} hours or more; this one has {maintenance.hours}",
            f"Write {windows.least_hours} or more",
        )
    for index, exclusion in enumerate(maintenance.exclusions):
        if windows.longest_exclusion_days is not None and exclusion.days > windows.longest_exclusion_days:
            yield Problem(
                f"maintenance.exclusions[{index}].last",
                f"{exclusion.days} days without upgrades, but {cloud} allows at most {windows.longest_exclusion_days}",
                "Write an earlier day",
            )
    if windows.most_exclusions is not None and len(maintenance.exclusions) > windows.most_exclusions:
        yield Problem(
            "maintenance.exclusions",
            f"{cloud} supports {windows.most_exclusions or 'no'} exclusions; there are {len(maintenance.exclusions)}",
            "Remove past exclusions"
            if windows.most_exclusions
            else "Leave it out, and run no `pulumi up` with another version on those days",
        )
    elif windows.autoscaler not in (None, settings.autoscaler) and maintenance != Maintenance():
        yield Problem(
            "maintenance",
            f"{cloud} has no maintenance windows: only `pulumi up` upgrades {settings.autoscaler}'s node groups, and "
            "the cloud patches the control plane at any time",
            f"Leave it out, or write autoscaling.autoscaler: {windows.autoscaler}, which respects the window",
        )
