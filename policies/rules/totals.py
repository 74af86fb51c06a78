"""The number of GPUs that a stack can scale to, and the number that its quotas grant."""

from __future__ import annotations

from dataclasses import replace

from facts.concepts.counts import largest
from facts.concepts.declared import GpuQuota, NodeGroup, Stack, Violation
from facts.concepts.pool import GPU_TAINT, size_taint
from facts.concepts.unknown import UNKNOWN, Maybe
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import GPUS, program


@rule(
    "gpu-stack-ceiling",
    title="The stack's number of GPUs has a limit",
    why="Many small groups can add up to more GPUs than intended.",
    remedy="Lower the maximum of a GPU node group, or raise maxGpus.",
    level="mandatory",
    severity="high",
    limits={
        "maxGpus": {
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "Maximum GPUs with all node groups at their maximum; null for no limit.",
        }
    },
    example=program(GPUS, replace(GPUS, name="l4-4", gpus_per_node=4, taints=(GPU_TAINT, size_taint(4)))),
    example_limits={"maxGpus": 16},
)
def stack_ceiling(stack: Stack, max_gpus: int | None = None) -> list[Violation]:
    """All GPU groups at their maximum, and machines with GPUs, have at most ``max_gpus`` GPUs (None: no limit)."""
    groups = [group for group in stack.groups if has_gpus(group)]
    if max_gpus is None or not groups:
        return []
    counts = [(group.name, _most_gpus(group)) for group in groups]
    known = [(name, gpus) for name, gpus in counts if gpus is not UNKNOWN]
    total = sum(gpus for _, gpus in known)
    if total > max_gpus:
        message = f"At its maximum the stack has {total} GPUs, over the limit of {max_gpus}; highest: "
        return [stack_ceiling.violation(f"{message}{_highest(known)}.")]
    if unknown := [f"'{name}'" for name, gpus in counts if gpus is UNKNOWN]:
        message = f"Unknown at preview, checked at update: how many GPUs {', '.join(unknown)} can scale to; "
        return [stack_ceiling.violation(message + f"the rest is {total}.", not_evaluated=True)]
    return []


@rule(
    "gpu-quotas-kept",
    title="GPU quotas of all namespaces fit the node groups",
    why="If quotas grant more GPUs than the node groups have, a job within its quota may wait forever.",
    remedy="Lower a namespace's quota, raise the maximum of a GPU node group, or raise mostPromised.",
    level="advisory",
    severity="medium",
    limits={
        "mostPromised": {
            "type": ["number", "null"],
            "minimum": 0,
            "description": "GPUs that all quotas together may grant, per GPU of the node groups at their maximum, "
            "for example 1.5; null for no limit.",
        }
    },
    example=program(GPUS, GpuQuota("research", 4), GpuQuota("vision", 2)),
)
def quotas_kept(stack: Stack, most_promised: float | None = 1) -> list[Violation]:
    """The GPU quotas of all namespaces together are at most ``most_promised`` times the GPUs of all groups at their
    maximum, which the ceilings on GPUs and dollars hold.

    Shares of a GPU are GPUs to a quota and not to a group: where a program shares them, nothing is compared.
    """
    groups = [group for group in (*stack.groups, *stack.elsewhere) if has_gpus(group)]
    if most_promised is None or not stack.quotas or not groups or stack.sharing:
        return []
    counts = [_most_gpus(group) for group in groups]
    available = sum(count for count in counts if count is not UNKNOWN)
    granted = [(quota.namespace, quota.gpus) for quota in stack.quotas if quota.gpus is not UNKNOWN]
    total = sum(gpus for _, gpus in granted)
    if UNKNOWN not in counts and total > available * most_promised:
        message = f"The namespaces' quotas grant {total} GPUs, but the stack has at most {available}; highest: "
        return [quotas_kept.violation(f"{message}{_highest(granted)}.")]
    if UNKNOWN in counts or len(granted) < len(stack.quotas):
        message = f"Unknown at preview, checked at update: whether the stack has the {total} GPUs of all quotas."
        return [quotas_kept.violation(message, not_evaluated=True)]
    return []


def _highest(counts: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {gpus}" for name, gpus in largest(counts))


def _most_gpus(group: NodeGroup) -> Maybe[int]:
    """GPUs of the group at its largest."""
    nodes = group.max_nodes if group.autoscaled is True else group.initial_nodes
    if group.gpus_per_node is UNKNOWN or group.autoscaled is UNKNOWN or nodes is UNKNOWN or nodes is None:
        return UNKNOWN
    return nodes * group.gpus_per_node
