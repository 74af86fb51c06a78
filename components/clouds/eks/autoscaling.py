"""What an autoscaler inside the cluster does with a pool, in words. Profile and limits are ours, the habits upstream's.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md and
https://karpenter.sh/docs/concepts/disruption/
"""

from __future__ import annotations

from components.clouds.base import ClusterSpec, PoolGovernance
from components.clouds.eks import cluster_autoscaler
from components.clouds.eks.versions import CLUSTER_AUTOSCALERS, KARPENTERS, kubernetes_minor
from components.pools import CpuPoolSpec, GpuPoolSpec


def governance(pool: GpuPoolSpec | CpuPoolSpec, spec: ClusterSpec) -> PoolGovernance:
    """The limits and habits that apply to ``pool``."""
    minutes = pool.unneeded_minutes or cluster_autoscaler.unneeded_minutes(spec)
    return PoolGovernance(
        governed_by=_governor(spec),
        min_nodes=pool.min_nodes,
        max_nodes=pool.max_nodes,
        location_policy=_location(pool, spec),
        choice=_choice(spec),
        scale_up="a pending pod that fits this pool's labels, taints and free capacity",
        scale_down=f"{minutes} minutes after the last pod of the node ended",
        reaches_zero=_reaches_zero(pool),
    )


def _governor(spec: ClusterSpec) -> str:
    minor = kubernetes_minor(spec.version, spec.channel)
    if spec.autoscaler == "karpenter":
        return f"Karpenter {KARPENTERS[minor]} on the admin pool"
    return f"cluster-autoscaler {CLUSTER_AUTOSCALERS[minor]} on the admin pool, profile {spec.autoscaling_profile}"


def _choice(spec: ClusterSpec) -> str:
    if spec.autoscaler == "karpenter" or cluster_autoscaler.uses_priorities(spec):
        return "the first pool that fits: spot before on-demand, fewer GPUs before more, cheaper before dearer"
    return f"whatever the expander '{spec.expander}' picks among the pools that fit"


def _location(pool: GpuPoolSpec | CpuPoolSpec, spec: ClusterSpec) -> str:
    if len(pool.zones) == 1:
        return f"{pool.zones[0]} only"
    if spec.autoscaler == "karpenter":
        return "the zone with the cheapest machine, or the one the pod asks for"
    return "wherever its Auto Scaling group finds machines, evenly while all zones have some"


def _reaches_zero(pool: GpuPoolSpec | CpuPoolSpec) -> str:
    if pool.min_nodes > 0:
        return f"no: the stack file asks for at least {pool.min_nodes} nodes"
    repelling = ", ".join(str(taint) for taint in pool.taints if taint.effect != "PreferNoSchedule")
    if repelling:
        return f"yes: the minimum is 0 and the taints {repelling} keep system pods away"
    return "yes when no pod is left; it has no taint, so another pod may hold its last node"
