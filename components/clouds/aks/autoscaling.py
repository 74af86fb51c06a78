"""AKS's managed cluster autoscaler. It runs outside the cluster, with one profile for all pools.

https://learn.microsoft.com/azure/aks/cluster-autoscaler
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from components.clouds.aks.naming import scale_set_pattern
from components.clouds.base import ClusterSpec, PoolGovernance
from components.clouds.priority_expander import priorities, priority_config_map
from components.pools import CpuPoolSpec, GpuPoolSpec

UNNEEDED_MINUTES: Final = {"optimize-utilization": 5, "balanced": 10}
"""Minutes that a node is idle before it goes; 10 is AKS's own default."""

DEFAULT_EXPANDER: Final = "priority"
"""AKS's own is ``random``: it would not try spot before its on-demand twin."""

_CHOICE: Final = {
    "priority": "the pool of the highest priority whose nodes fit the pending pods: first choices before fallbacks, "
    "spot before on-demand, fewer GPUs before more",
    "least-waste": "the pool whose nodes would have the least idle CPU and memory",
    "most-pods": "the pool whose nodes would take the most pending pods",
    "random": "any pool whose nodes fit the pending pods",
}


def expander(spec: ClusterSpec) -> str:
    """How the autoscaler chooses among pools that fit."""
    return spec.expander or DEFAULT_EXPANDER


def unneeded_minutes(profile: str, written: int | None) -> int:
    """How long a node of any pool is idle before it goes."""
    return UNNEEDED_MINUTES[profile] if written is None else written


def profile(spec: ClusterSpec) -> dict[str, str]:
    """The cluster's ``autoScalerProfile``; all values are strings there."""
    idle = f"{unneeded_minutes(spec.autoscaling_profile, spec.unneeded_minutes)}m"
    return {
        "expander": expander(spec),
        "scaleDownUnneededTime": idle,
        # A new node anywhere holds up the removal of all others: no longer than an idle node is kept anyway.
        "scaleDownDelayAfterAdd": idle,
        # Either of these would keep an idle GPU node for the sake of a pod that can run elsewhere.
        "skipNodesWithSystemPods": "false",
        "skipNodesWithLocalStorage": "false",
        # Zones differ in what they have: a node where there is one, rather than as many in each.
        "balanceSimilarNodeGroups": "false",
    }


def order(pools: Sequence[GpuPoolSpec | CpuPoolSpec]) -> dict[str, Any]:
    """The ConfigMap that tells the ``priority`` expander the order of ``pools``."""
    return priority_config_map(priorities(pools, lambda pool: scale_set_pattern(pool.name)))


def governance(pool: GpuPoolSpec | CpuPoolSpec, spec: ClusterSpec) -> PoolGovernance:
    """The limits and habits that apply to ``pool``."""
    minutes = unneeded_minutes(spec.autoscaling_profile, spec.unneeded_minutes)
    return PoolGovernance(
        governed_by=f"AKS managed cluster autoscaler, expander {expander(spec)}",
        min_nodes=pool.min_nodes,
        max_nodes=pool.max_nodes,
        location_policy="one scale set over the pool's zones; Azure chooses the zone of a node",
        choice=_CHOICE[expander(spec)],
        scale_up=_scale_up(pool),
        scale_down=f"{minutes} minutes after the last pod of the node ended; one time for all pools of the cluster",
        reaches_zero=_reaches_zero(pool),
    )


def _scale_up(pool: GpuPoolSpec | CpuPoolSpec) -> str:
    reason = "a pending pod that fits this pool's labels, taints and free capacity"
    if isinstance(pool, GpuPoolSpec) and pool.mig is not None:
        # https://github.com/Azure/AKS/issues/3427
        return f"{reason}; the autoscaler counts a new node's whole GPUs, so a burst may start more nodes than it fills"
    return reason


def _reaches_zero(pool: GpuPoolSpec | CpuPoolSpec) -> str:
    if pool.min_nodes > 0:
        return f"no: the stack file asks for at least {pool.min_nodes} nodes"
    repelling = ", ".join(str(taint) for taint in pool.taints if taint.effect != "PreferNoSchedule")
    if repelling:
        return f"yes: the minimum is 0 and the taints {repelling} keep system pods away"
    return "yes when only DaemonSets are left; system pods without a disruption budget are moved away"
