"""AKS's managed cluster autoscaler. It runs outside the cluster, with one profile for all pools.

https://learn.microsoft.com/azure/aks/cluster-autoscaler
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from components.clouds.base import PoolGovernance, reaches_zero
from components.clouds.priority_expander import priorities, priority_config_map
from components.settings import Settings
from facts.catalog.aks.naming import scale_set_pattern
from facts.concepts.kubernetes import SAFE_TO_EVICT
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import aks

DEFAULT_EXPANDER: Final = "priority"
"""AKS's own is ``random``: it would not try spot before its on-demand twin."""

_CHOICE: Final = {
    "priority": "the pool of the highest priority whose nodes fit the pending pods: first choices before fallbacks, "
    "reserved first, spot before on-demand, fewer GPUs before more",
    "least-waste": "the pool whose nodes would have the least idle CPU and memory",
    "most-pods": "the pool whose nodes would take the most pending pods",
    "random": "any pool whose nodes fit the pending pods",
}

_PROVISION_MINUTES: Final = 10
"""How long a pool may owe a node before another pool is tried. Azure's own 15 minutes are the time for which a pool out
of stock holds up its fallback: https://github.com/kubernetes/autoscaler/issues/8323. A node has registered long before:
its driver is part of how it starts."""

_PACKED_BELOW: Final = 0.5
"""The share of its GPUs in use below which a node is emptied if its pods fit elsewhere. The profile has no value for
it, so it is the autoscaler's own ``--scale-down-gpu-utilization-threshold``; CPU nodes have the same by the profile's
``scaleDownUtilizationThreshold``: https://learn.microsoft.com/azure/aks/cluster-autoscaler"""

_UNTAINTED: Final = "yes when only DaemonSets are left; system pods without a disruption budget are moved away"


def expander(settings: Settings) -> str:
    """How the autoscaler chooses among pools that fit."""
    return settings.expander or DEFAULT_EXPANDER


def profile(settings: Settings) -> aks.ManagedClusterPropertiesAutoScalerProfile:
    """The cluster's ``autoScalerProfile``; all values are strings there."""
    idle = f"{settings.idle_minutes}m"
    return {
        "expander": expander(settings),
        "scaleDownUnneededTime": idle,
        # A new node anywhere holds up the removal of all others, in every pool: Azure has no such time by pool.
        # Shorter than the idle time it costs nothing, as that runs on meanwhile.
        "scaleDownDelayAfterAdd": "1m",
        "maxNodeProvisionTime": f"{_PROVISION_MINUTES}m",
        # Either of these would keep an idle GPU node for the sake of a pod that can run elsewhere.
        "skipNodesWithSystemPods": "false",
        "skipNodesWithLocalStorage": "false",
        # Zones differ in what they have: a node where there is one, rather than as many in each.
        "balanceSimilarNodeGroups": "false",
    }


def order(pools: Sequence[Pool]) -> dict[str, Any]:
    """The ConfigMap that tells the ``priority`` expander the order of ``pools``."""
    return priority_config_map(priorities(pools, lambda pool: scale_set_pattern(pool.name)))


def governance(pool: Pool, settings: Settings) -> PoolGovernance:
    """The limits and habits that apply to ``pool``."""
    minutes = settings.idle_minutes
    return PoolGovernance(
        governed_by=f"AKS managed cluster autoscaler, expander {expander(settings)}",
        min_nodes=pool.min_nodes,
        max_nodes=pool.max_nodes,
        location_policy="one scale set over the pool's zones; Azure chooses the zone of a node",
        choice=_CHOICE[expander(settings)],
        scale_up=_scale_up(pool),
        scale_down=f"{minutes} minutes after the last pod of the node ended; one time for all pools of the cluster. A "
        f"node with less than {_PACKED_BELOW:.0%} in use is emptied, too, if its pods fit elsewhere and none has "
        f'the annotation {SAFE_TO_EVICT}: "false"',
        reaches_zero=reaches_zero(pool, untainted=_UNTAINTED),
    )


def _scale_up(pool: Pool) -> str:
    reason = "a pending pod that fits this pool's labels, taints and free capacity"
    if pool.gpu_part is not None and pool.gpu_part.mig is not None:
        # https://github.com/Azure/AKS/issues/3427
        reason += "; the autoscaler counts a new node's whole GPUs, so a burst may start more nodes than it fills"
    return f"{reason}; a pool that has no node to give is passed over after {_PROVISION_MINUTES} minutes"
