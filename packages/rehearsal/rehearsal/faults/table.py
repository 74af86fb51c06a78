"""All cases of sabotage, in the order in which they are listed."""

from __future__ import annotations

from typing import Final

from rehearsal.faults.case import Case
from rehearsal.faults.cases import (
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
from rehearsal.faults.cases.karpenter import image_missing, queue_missing, subnets_mistyped, without_rights

_MODULES: Final = (
    minimum_one,
    taint_removed,
    job_without_toleration,
    pinned_system_pod,
    driver_without_spot,
    asg_tags_missing,
    autoscaler_without_rights,
    discovery_mismatch,
    mixed_gpu_counts,
    plugin_without_spot,
    gpu_in_system_pool,
    spot_forgotten,
    other_machine,
    twins_reversed,
    system_pod_too_large,
    installer_by_name,
    autoscaler_blind,
    deployer_without_role,
    without_rights,
    subnets_mistyped,
    image_missing,
    queue_missing,
)

CASES: Final[dict[str, Case]] = {module.CASE.name: module.CASE for module in _MODULES}


def module_of(case: Case) -> str:
    """The module that holds the case, and little else."""
    return next(module.__name__ for module in _MODULES if module.CASE is case)
