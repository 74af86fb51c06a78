"""The most a stack may cost per hour."""

from __future__ import annotations

from policies.rules.model import UNKNOWN, NodeGroup, Stack, Violation

COST = "hourly-cost-ceiling"


def hourly_cost(stack: Stack, max_hourly_usd: float | None = None) -> list[Violation]:
    """All node groups at their maximum cost at most ``max_hourly_usd`` an hour, by list prices (None: no limit)."""
    if max_hourly_usd is None or not stack.groups:
        return []
    remedy = (
        f"Lower the maximum of a node group, choose a cheaper machine, or raise maxHourlyUsd above {max_hourly_usd:g}."
    )
    priced = {g.name: g.max_hourly_usd for g in stack.groups if isinstance(g.max_hourly_usd, (int, float))}
    total = sum(priced.values())
    if total > max_hourly_usd:
        most = sorted(priced.items(), key=lambda item: -item[1])[:3]
        message = (
            f"At its maximum the stack costs ${total:.2f} an hour, over the ceiling of ${max_hourly_usd:.2f}; most: "
        )
        return [Violation(COST, message + ", ".join(f"{name} ${usd:.2f}" for name, usd in most) + ".", remedy)]
    unpriced = [group for group in stack.groups if group.name not in priced and not _never_runs(group)]
    if unpriced:
        names = ", ".join(f"'{group.name}'" for group in unpriced)
        message = f"Cannot tell the stack's hourly cost: no price known for {names}; the rest is ${total:.2f} an hour."
        return [Violation(COST, message, "Check the price of these by hand.", undecided=True)]
    return []


def _never_runs(group: NodeGroup) -> bool:
    return group.max_nodes is not UNKNOWN and group.max_nodes == 0
