"""When Google may upgrade by itself: in a weekly window, and never on excluded days.

Pools with GPUs are no part of it: they keep their version (``pools.py`` says how long).
https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from components.settings.sections.maintenance import Maintenance

if TYPE_CHECKING:
    from schemas import gke

# The first window, from which Google counts the others, lies in the past; this is a Monday.
_FIRST_WEEK: Final = datetime(2024, 1, 1)


def policy(maintenance: Maintenance) -> gke.MaintenancePolicy:
    """The cluster's ``maintenancePolicy``; the days of a recurrence are those of UTC."""
    opens = _FIRST_WEEK + timedelta(days=maintenance.weekday, hours=maintenance.opens)
    policy: gke.MaintenancePolicy = {
        "recurringWindow": {
            "startTime": _text(opens),
            "endTime": _text(opens + timedelta(hours=maintenance.hours)),
            "recurrence": f"FREQ=WEEKLY;BYDAY={maintenance.day[:2].upper()}",
        }
    }
    if maintenance.exclusions:
        policy["maintenanceExclusions"] = [
            {
                "exclusionName": each.name,
                "startTime": f"{each.first}T00:00:00Z",
                "endTime": f"{each.end}T00:00:00Z",
                "exclusionOptions": {"scope": "NO_UPGRADES"},
            }
            for each in maintenance.exclusions
        ]
    return policy


def _text(moment: datetime) -> str:
    return f"{moment.isoformat()}Z"
