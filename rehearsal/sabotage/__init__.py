"""Sabotage: the real program, broken on purpose from outside, to prove that the gate and the rehearsal notice.

Each module in ``cases`` breaks one thing. It says which rule of the gate must refuse it at preview, if any can, and
which check of a rehearsal without the gate must fail, and why.
"""

from __future__ import annotations

from rehearsal.sabotage.case import Case
from rehearsal.sabotage.cases import (
    asg_tags_missing,
    autoscaler_blind,
    autoscaler_without_rights,
    deployer_without_role,
    discovery_mismatch,
    driver_without_spot,
    gpu_in_system_pool,
    installer_by_name,
    job_without_toleration,
    minimum_one,
    mixed_gpu_counts,
    other_machine,
    pinned_system_pod,
    plugin_without_spot,
    spot_forgotten,
    system_pod_too_large,
    taint_removed,
    twins_reversed,
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
        spot_forgotten.CASE,
        other_machine.CASE,
        twins_reversed.CASE,
        system_pod_too_large.CASE,
        installer_by_name.CASE,
        autoscaler_blind.CASE,
        deployer_without_role.CASE,
        without_rights.CASE,
        subnets_mistyped.CASE,
        image_missing.CASE,
        queue_missing.CASE,
    )
}

__all__ = ["CASES", "Case"]
