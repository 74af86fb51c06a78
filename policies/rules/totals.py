"""How many GPUs a stack may reach in all."""

from __future__ import annotations

from policies.rules.model import UNKNOWN, Stack, Violation
from policies.rules.node_groups import has_gpus

STACK_CEILING = "gpu-stack-ceiling"


def stack_ceiling(stack: Stack, max_gpus: int | None = None) -> list[Violation]:
    """All GPU groups at their maximum, and machines with GPUs, have at most ``max_gpus`` GPUs (None: no limit)."""
    groups = [group for group in stack.groups if has_gpus(group)]
    if max_gpus is None or not groups:
        return []
    remedy = f"Lower the maximum of a GPU node group, or raise maxGpus above {max_gpus}."
    known: dict[str, int] = {}
    undecided: list[str] = []
    for group in groups:
        nodes = group.max_nodes if group.autoscaled is True else group.initial_nodes
        if group.gpus_per_node is UNKNOWN or group.autoscaled is UNKNOWN or nodes is UNKNOWN or nodes is None:
            undecided.append(f"'{group.name}'")
        else:
            known[group.name] = known.get(group.name, 0) + nodes * group.gpus_per_node
    total = sum(known.values())
    if total > max_gpus:
        most = sorted(known.items(), key=lambda item: -item[1])[:3]
        message = f"At its maximum the stack has {total} GPUs, over the ceiling of {max_gpus}; most: "
        return [Violation(STACK_CEILING, message + ", ".join(f"{name} {count}" for name, count in most) + ".", remedy)]
    if undecided:
        message = f"Unknown at preview, checked at update: how many GPUs {', '.join(undecided)} may reach; "
        return [Violation(STACK_CEILING, message + f"the rest is {total}.", remedy, undecided=True)]
    return []
