"""Whether anything adds and removes the nodes of a cluster."""

from __future__ import annotations

from policies.rules.clusters import clusters_with_gpus
from policies.rules.model import UNKNOWN, Stack, Violation

PRESENT = "autoscaler-present"
SEES = "autoscaler-sees-group"


def present(stack: Stack) -> list[Violation]:
    """A cluster whose cloud runs no autoscaler has one among the stack's workloads.

    A stack without any workload is not judged: what runs in its cluster is declared elsewhere.
    """
    remedy = "Deploy cluster-autoscaler or Karpenter, on the always-on CPU nodes."
    found = []
    for cluster, _ in clusters_with_gpus(stack):
        if cluster.managed_autoscaler is True or not stack.workloads:
            continue
        scales = {workload.scales_nodes for workload in stack.workloads}
        if True in scales:
            continue
        undecided = UNKNOWN in scales or cluster.managed_autoscaler is UNKNOWN
        message = (
            f"Cluster '{cluster.name}' has GPU node groups and no autoscaler: its GPU nodes never come, or never go."
        )
        if undecided:
            message = f"Cluster '{cluster.name}': unknown at preview, checked at update: whether it has an autoscaler."
        found.append(Violation(PRESENT, message, remedy, undecided=undecided, resource=cluster.resource))
    return found


def sees_each_group(stack: Stack) -> list[Violation]:
    """The autoscaler of the cluster can find each GPU group."""
    remedy = "Tag the group k8s.io/cluster-autoscaler/enabled=true and k8s.io/cluster-autoscaler/<cluster>=owned, "
    remedy += "or name it in the autoscaler's --nodes."
    found = []
    for group in stack.groups:
        if group.gpus_per_node == 0 or group.discoverable is True or group.kind == "machine":
            continue
        undecided = group.discoverable is UNKNOWN or group.gpus_per_node is UNKNOWN
        message = f"GPU node group '{group.name}' lacks the tags by which an autoscaler finds it: it keeps its size."
        if undecided:
            message = (
                f"GPU node group '{group.name}': unknown at preview, checked at update: whether an autoscaler finds it."
            )
        found.append(Violation(SEES, message, remedy, undecided=undecided, resource=group.resource))
    return found
