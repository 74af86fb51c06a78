"""What GKE's managed cluster autoscaler does with a pool. It runs outside the cluster; profile and limits are ours.

https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler
"""

from __future__ import annotations

from typing import Final

from components.clouds.base import PoolGovernance, reaches_zero
from components.clouds.gke.pools import location_policy
from facts.concepts.pool import Pool

# Google publishes no figure per profile; the open source autoscaler waits 10 minutes (--scale-down-unneeded-time):
# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
_SCALE_DOWN: Final = {
    "balanced": "about 10 minutes after the last pod of the node ended",
    "optimize-utilization": "sooner than the about 10 minutes of the balanced profile; Google publishes no figure",
}
_UNTAINTED: Final = "yes when no pod is left; it has no taint, so a system pod may hold its last node"
_CHOICE: Final = (
    "of the pools whose nodes fit the pending pods one with an unused reservation of this project, else the least "
    "expensive, so usually spot before its on-demand twin; among several spot pools Google does not promise the "
    "cheapest"
)
_MINIMUM_NOTE: Final = (
    "; its minimum of {} nodes is kept, not made: it starts with them, and after raising minNodes somebody resizes it "
    "once (gcloud container clusters resize)"
)


def governance(pool: Pool, profile: str) -> PoolGovernance:
    """The limits and habits that apply to ``pool``."""
    return PoolGovernance(
        governed_by=f"GKE managed cluster autoscaler, profile {profile}",
        min_nodes=pool.min_nodes,
        max_nodes=pool.max_nodes,
        location_policy=location_policy(pool),
        choice=_CHOICE,
        scale_up="a pending pod that fits this pool's labels, taints and free capacity"
        + (_MINIMUM_NOTE.format(pool.min_nodes) if pool.min_nodes else ""),
        scale_down=_SCALE_DOWN[profile],
        reaches_zero=reaches_zero(pool, untainted=_UNTAINTED),
    )
