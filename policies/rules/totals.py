"""How many GPUs a stack may reach in all, and how many it promises."""

from __future__ import annotations

from dataclasses import replace

from facts.concepts.declared import GpuQuota, NodeGroup, Stack, Violation
from facts.concepts.pool import GPU_TAINT, size_taint
from facts.concepts.unknown import UNKNOWN, Maybe
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import GPUS, program


@rule(
    "gpu-stack-ceiling",
    title="The stack's GPUs have a ceiling",
    why="Many small groups add up to more GPUs than anybody meant to have.",
    remedy="Lower the maximum of a GPU node group, or raise the ceiling on purpose.",
    level="mandatory",
    severity="high",
    limits={
        "maxGpus": {
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "Most GPUs with all node groups at their maximum; null for no limit.",
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
    remedy = f"Lower the maximum of a GPU node group, or raise maxGpus above {max_gpus}."
    known: list[tuple[str, int]] = []
    undecided: list[str] = []
    for group in groups:
        most = _most_gpus(group)
        if most is UNKNOWN:
            undecided.append(f"'{group.name}'")
        else:
            known.append((group.name, most))
    total = sum(gpus for _, gpus in known)
    if total > max_gpus:
        most = sorted(known, key=lambda item: -item[1])[:3]
        message = f"At its maximum the stack has {total} GPUs, over the ceiling of {max_gpus}; most: "
        return [
            Violation(stack_ceiling.id, message + ", ".join(f"{name} {count}" for name, count in most) + ".", remedy)
        ]
    if undecided:
        message = f"Unknown at preview, checked at update: how many GPUs {', '.join(undecided)} may reach; "
        return [Violation(stack_ceiling.id, message + f"the rest is {total}.", remedy, undecided=True)]
    return []


@rule(
    "gpu-quotas-kept",
    title="What namespaces are promised is there",
    why="A job within its team's quota waits for ever if the quotas of all promise more than the node groups have.",
    remedy="Lower a namespace's quota, raise the maximum of a GPU node group, or promise more on purpose.",
    level="advisory",
    severity="medium",
    limits={
        "mostPromised": {
            "type": ["number", "null"],
            "minimum": 0,
            "description": "How often all quotas together may promise each GPU of the node groups at their maximum, "
            "such as 1.5; null for no limit.",
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
    remedy = (
        "Lower a namespace's quota, raise the maximum of a GPU node group, or raise mostPromised above "
        f"{most_promised:g}."
    )
    counts = [_most_gpus(group) for group in groups]
    there = sum(count for count in counts if count is not UNKNOWN)
    promised = [(quota.namespace, quota.gpus) for quota in stack.quotas if quota.gpus is not UNKNOWN]
    total = sum(gpus for _, gpus in promised)
    if UNKNOWN not in counts and total > there * most_promised:
        most = ", ".join(f"{name} {gpus}" for name, gpus in sorted(promised, key=lambda item: -item[1])[:3])
        message = (
            f"The namespaces' quotas promise {total} GPUs, and at its maximum the stack has {there}; most: {most}."
        )
        return [Violation(quotas_kept.id, message, remedy)]
    if UNKNOWN in counts or len(promised) < len(stack.quotas):
        message = (
            f"Unknown at preview, checked at update: whether the {total} GPUs of the namespaces' quotas are there."
        )
        return [Violation(quotas_kept.id, message, remedy, undecided=True)]
    return []


def _most_gpus(group: NodeGroup) -> Maybe[int]:
    """GPUs of the group at its largest."""
    nodes = group.max_nodes if group.autoscaled is True else group.initial_nodes
    if group.gpus_per_node is UNKNOWN or group.autoscaled is UNKNOWN or nodes is UNKNOWN or nodes is None:
        return UNKNOWN
    return nodes * group.gpus_per_node
