"""The line that every preview of a program with GPU groups has: what its nodes cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.declared import NodeGroup, Reservation, Stack, Workload
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import UNKNOWN
from policies.rules.ceilings import cost_note
from tests.policies.test_pack import NODE_POOL, POOL, Session, output


def group(name: str, usd: Any, most: Any, gpus: int = 1, least: int = 0, **more: Any) -> NodeGroup:
    """A node group; ``usd`` is the price of one node."""
    return NodeGroup(
        name,
        "gke",
        gpus=Gpus(per_node=gpus),
        scaling=Scaling(autoscaled=True, min_nodes=least, max_nodes=most),
        nodes=Nodes(machine_types=("t",), zones=(), labels={}, dearest_hourly_usd=usd),
        **more,
    )


L4, ADMIN = group("l4", 0.5, 4), group("admin", 0.1, 1, gpus=0, least=1)
DEAR = replace(L4, nodes=replace(L4.nodes, price_at_most=True))
BLOCK = Reservation("capacity reservation 'h100'", 2, 8, hourly_usd=3.0)
SERVICE = Workload("llm", "default", "Deployment", gpus=1, always=1)


@pytest.mark.parametrize(
    ("stack", "note"),
    [
        (Stack(groups=(L4, ADMIN)), "$0.10 an hour idle, $2.10 with all groups at maxNodes."),
        (Stack(groups=(DEAR, ADMIN)), "$0.10 an hour idle, at most $2.10 with all groups at maxNodes."),
        (Stack(groups=(L4,), reservations=(BLOCK,)), "$6.00 an hour idle, $2.00 with all groups at maxNodes."),
        (Stack(groups=(L4,), workloads=(SERVICE,)), "$0.50 an hour idle, $2.00 with all groups at maxNodes."),
        (
            Stack(groups=(group("l4", None, 4), ADMIN)),
            "$0.10 an hour idle, $0.10 with all groups at maxNodes; no price is known for 'l4'.",
        ),
        (
            Stack(groups=(group("l4", UNKNOWN, 4), ADMIN)),
            "$0.10 an hour idle, $0.10 with all groups at maxNodes; the update shows the price of 'l4'.",
        ),
        (Stack(groups=(group("l4", 0.5, None),)), "$0.00 an hour idle, without limit ('l4')."),
        (Stack(groups=(ADMIN,)), ""),
        (Stack(groups=(replace(L4, kind="owned"), ADMIN)), ""),
        (Stack(), ""),
    ],
)
def test_what_the_nodes_cost_idle_and_at_most(stack: Stack, note: str) -> None:
    assert cost_note(stack) == (note and f"List price of the nodes: {note}")


def test_the_gate_prints_it_for_programs_with_gpu_groups_only() -> None:
    with_gpus, without = Session(), Session()
    with_gpus.stack(output(NODE_POOL, POOL))
    without.stack()
    (note,) = with_gpus.costs
    assert note.startswith("List price of the nodes: $0.00 an hour idle, ")
    assert without.costs == []
