"""AKS's managed cluster autoscaler. It runs outside the cluster, with one profile for all pools.

https://learn.microsoft.com/azure/aks/cluster-autoscaler
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from components.clouds.aks import auto_provisioning
from components.clouds.base import PoolGovernance, reaches_zero
from components.clouds.priority_expander import priorities, priority_config_map
from components.settings import Settings
from facts.catalog.aks.naming import scale_set_pattern
from facts.concepts.kubernetes import SAFE_TO_EVICT
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import aks

_CHOICE: Final = (
    "the pool of the highest priority whose nodes fit the pending pods: first choices before fallbacks, "
    "reserved first, spot before on-demand, fewer GPUs before more"
)

_PROVISION_MINUTES: Final = 10
"""How long a scale-up may take before another pool is tried. A pool without capacity delays its fallback by this time;
Azure's default is 15 minutes: https://github.com/kubernetes/autoscaler/issues/8323. Nodes register much earlier."""

_LARGE_PROVISION_MINUTES: Final = 20
"""The same on a cluster with machines of 8 GPUs, which start slowest. A machine that comes later runs on unused:
https://github.com/kubernetes/autoscaler/issues/6810."""

_MANY_GPUS: Final = 8
_PACKED_BELOW: Final = 0.5
"""The share of its GPUs in use below which a node is emptied if its pods fit elsewhere. The profile has no value for
it, so it is the autoscaler's own ``--scale-down-gpu-utilization-threshold``; CPU nodes have the same by the profile's
``scaleDownUtilizationThreshold``: https://learn.microsoft.com/azure/aks/cluster-autoscaler"""

_PACKS: Final = (
    f"A node with less than {_PACKED_BELOW:.0%} in use is drained, too, if its pods fit elsewhere and none has the "
    f'annotation {SAFE_TO_EVICT}: "false"'
)
_LOCATION: Final = "one scale set over the pool's zones; Azure chooses the zone of a node"
_UNTAINTED: Final = "yes, with DaemonSet pods only; system pods without a disruption budget are moved"


def profile(settings: Settings) -> aks.ManagedClusterPropertiesAutoScalerProfile:
    """The cluster's ``autoScalerProfile``; all values are strings there."""
    idle = f"{settings.idle_minutes}m"
    return {
        # AKS's default, ``random``, does not prefer spot to its on-demand fallback.
        "expander": "priority",
        "scaleDownUnneededTime": idle,
        # A new node delays scale-down of every pool: Azure has no such delay per pool. It costs nothing while it is
        # shorter than the idle time, which runs at the same time.
        "scaleDownDelayAfterAdd": "1m",
        "maxNodeProvisionTime": f"{provision_minutes(settings)}m",
        # Either of these would keep an idle GPU node for a pod that can run elsewhere.
        "skipNodesWithSystemPods": "false",
        "skipNodesWithLocalStorage": "false",
        # Capacity differs between zones: take a node where one is available instead of balancing.
        "balanceSimilarNodeGroups": "false",
    }


def provision_minutes(settings: Settings) -> int:
    """Minutes that a node of the slowest pool may take to start."""
    large = any(pool.gpus.per_node >= _MANY_GPUS for pool in settings.gpu_pools)
    return _LARGE_PROVISION_MINUTES if large else _PROVISION_MINUTES


def order(pools: Sequence[Pool]) -> dict[str, Any]:
    """The ConfigMap that tells the ``priority`` expander the order of ``pools``."""
    return priority_config_map(priorities(pools, lambda pool: scale_set_pattern(pool.name)))


def governance(pool: Pool, settings: Settings) -> PoolGovernance:
    """Limits and behaviour of the autoscaler for ``pool``."""
    if settings.existing_cluster is not None and settings.autoscaler != auto_provisioning.NAME:
        return PoolGovernance(
            governed_by="AKS managed cluster autoscaler, by the profile that the cluster's owner sets",
            location_policy=_LOCATION,
            choice="among the pools whose nodes fit the pending pods: as the expander of the cluster's profile says",
            scale_up=_reason(pool),
            scale_down=f"as the cluster's profile says, by default 10 minutes after the node's last pod. {_PACKS}",
            reaches_zero=reaches_zero(pool, untainted=_UNTAINTED),
        )
    minutes = settings.idle_minutes
    if settings.autoscaler == auto_provisioning.NAME:
        return PoolGovernance(
            governed_by="AKS node auto-provisioning (Karpenter)",
            location_policy="the zone with the cheapest machine, or the one that the pod requires",
            choice=_CHOICE,
            scale_up="a pending pod that fits this pool's labels, taints and limits",
            scale_down=f"{pool.scaling.unneeded_minutes or minutes} minutes after the last pod of the node ended",
            reaches_zero=reaches_zero(pool, untainted="yes, with DaemonSet pods only"),
        )
    return PoolGovernance(
        governed_by="AKS managed cluster autoscaler, expander priority",
        location_policy=_LOCATION,
        choice=_CHOICE,
        scale_up=f"{_reason(pool)}; a pool without capacity is skipped after {provision_minutes(settings)} minutes",
        scale_down=f"{minutes} minutes after the last pod of the node ended, the same for all pools of the cluster. "
        f"{_PACKS}",
        reaches_zero=reaches_zero(pool, untainted=_UNTAINTED),
    )


def _reason(pool: Pool) -> str:
    reason = "a pending pod that fits this pool's labels, taints and free capacity"
    if pool.gpus.mig is not None:
        # https://github.com/Azure/AKS/issues/3427
        reason += "; the autoscaler counts whole GPUs of a new node, so a burst may start more nodes than needed"
    return reason
