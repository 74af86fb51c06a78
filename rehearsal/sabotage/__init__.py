"""Sabotage: the real program, broken on purpose from outside, to prove that the gate and the rehearsal notice.

Each module in ``cases`` breaks one thing. It says which rule of the gate must refuse it at preview, and which check of
a rehearsal without the gate must fail, and why.
"""

from __future__ import annotations

from rehearsal.sabotage.case import Case
from rehearsal.sabotage.cases import (
    driver_without_spot,
    job_without_toleration,
    minimum_one,
    pinned_system_pod,
    taint_removed,
)

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        minimum_one.CASE,
        taint_removed.CASE,
        job_without_toleration.CASE,
        pinned_system_pod.CASE,
        driver_without_spot.CASE,
    )
}

__all__ = ["CASES", "Case"]
