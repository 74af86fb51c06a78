"""Sabotage: the real program, broken on purpose from outside, to prove that the gate and the rehearsal notice.

Each module in ``cases`` breaks one thing. It says which rule of the gate must refuse it at preview, if any can, and
which check of a rehearsal without the gate must fail, and why.
"""

from __future__ import annotations

from rehearsal.sabotage.case import Case
from rehearsal.sabotage.cases import (
    asg_tags_missing,
    autoscaler_without_rights,
    discovery_mismatch,
    driver_without_spot,
    gpu_in_system_pool,
    job_without_toleration,
    minimum_one,
    mixed_gpu_counts,
    pinned_system_pod,
    plugin_without_spot,
    taint_removed,
)
from rehearsal.sabotage.cases.karpenter import image_missing, queue_missing, subnets_mistyped, without_rights

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        minimum_one.CASE,
        taint_removed.CASE,
        job_without_toleration.CASE,
        pinned_system_pod.CASE,
        driver_without_spot.CASE,
        asg_tags_missing.CASE,
        autoscaler_without_rights.CASE,
        discovery_mismatch.CASE,
        mixed_gpu_counts.CASE,
        plugin_without_spot.CASE,
        gpu_in_system_pool.CASE,
        without_rights.CASE,
        subnets_mistyped.CASE,
        image_missing.CASE,
        queue_missing.CASE,
    )
}

__all__ = ["CASES", "Case"]
