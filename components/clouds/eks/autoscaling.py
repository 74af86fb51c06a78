"""How the autoscaler inside the cluster treats a pool. Limits come from the stack, behaviour from upstream.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md and
https://karpenter.sh/v1.14/concepts/disruption/
"""

from __future__ import annotations

from typing import Final

from components.clouds.base import PoolGovernance, reaches_zero
from components.settings import Settings
from facts.concepts.pool import Pool

_UNTAINTED: Final = "yes, without pods; the pool has no taint, so another pod may keep its last node"
_CHOICE: Final = "the first pool that fits: reserved, then spot, then on-demand; fewer GPUs before more, cheaper first"


def governance(pool: Pool, settings: Settings) -> PoolGovernance:
    """Limits and behaviour of the autoscaler for ``pool``."""
    minutes = settings.idle_minutes_of(pool)
    when = f"{minutes} minutes" if minutes else "as long as its own flags say (10 minutes by default)"
    return PoolGovernance(
        governed_by=_autoscaler(settings),
        location_policy=_location(pool, settings),
        choice=_CHOICE,
        scale_up="a pending pod that fits this pool's labels, taints and free capacity",
        scale_down=f"{when} after the last pod of the node ended{_earlier(pool, settings)}",
        reaches_zero=reaches_zero(pool, untainted=_UNTAINTED),
    )


def _earlier(pool: Pool, settings: Settings) -> str:
    """What else removes a node with its pods (docs/operations.md)."""
    if settings.autoscaler == "karpenter":
        return "; as soon as AWS announces maintenance, unless a pod has the annotation karpenter.sh/do-not-disrupt"
    return (
        "; when AWS recommends rebalancing the spot instance, after a replacement has started"
        if pool.scaling.spot
        else ""
    )


def _autoscaler(settings: Settings) -> str:
    if settings.existing_cluster is not None and settings.autoscaler == "cluster-autoscaler":
        return "cluster-autoscaler of the cluster, by its flags and the tags of the groups"
    if settings.existing_cluster is not None:
        return "Karpenter of the cluster, by the weights of its NodePools"
    if settings.autoscaler == "karpenter":
        return "Karpenter on the admin pool"
    return f"cluster-autoscaler on the admin pool, profile {settings.autoscaling_profile}"


def _location(pool: Pool, settings: Settings) -> str:
    if len(pool.nodes.zones) == 1:
        return f"{pool.nodes.zones[0]} only"
    if settings.autoscaler == "karpenter":
        return "the zone with the cheapest machine, or the one that the pod requires"
    return "where its Auto Scaling group finds capacity, evenly while all zones have some"
