"""How many GPUs a stack may reach in all."""

from __future__ import annotations

from dataclasses import replace

from concepts.declared import Stack, Violation
from concepts.pool import GPU_TAINT, size_taint
from concepts.unknown import UNKNOWN
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
        nodes = group.max_nodes if group.autoscaled is True else group.initial_nodes
        if group.gpus_per_node is UNKNOWN or group.autoscaled is UNKNOWN or nodes is UNKNOWN or nodes is None:
            undecided.append(f"'{group.name}'")
        else:
            known.append((group.name, nodes * group.gpus_per_node))
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
