"""Ceilings for money and GPUs, and regions."""

from __future__ import annotations

from typing import Final

from policies.rules import money, regions, totals
from policies.rules.model import Cluster, NodeGroup, Stack
from policies.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id=money.COST,
        title="The stack's hourly cost has a ceiling",
        why="The maximum of all node groups together is what a bad night costs.",
        remedy="Lower a node group's maximum, or raise the ceiling on purpose.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, limits: money.hourly_cost(stack, limits["maxHourlyUsd"]),
        schema={
            "maxHourlyUsd": {
                "type": ["number", "null"],
                "minimum": 0,
                "default": None,
                "description": "Most US dollars an hour with all node groups at their maximum; null for no limit.",
            }
        },
    ),
    Rule(
        id=money.IDLE_COST,
        title="The stack's idle cost has a ceiling",
        why="What is up while nobody works is paid for 168 hours a week.",
        remedy="Lower a node group's minimum or choose a smaller machine for it.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, limits: money.idle_cost(stack, limits["maxIdleUsd"]),
        schema={
            "maxIdleUsd": {
                "type": ["number", "null"],
                "minimum": 0,
                "default": None,
                "description": "Most US dollars an hour for the nodes that are always up; null for no limit.",
            }
        },
    ),
    Rule(
        id=totals.STACK_CEILING,
        title="The stack's GPUs have a ceiling",
        why="Many small groups add up to more GPUs than anybody meant to have.",
        remedy="Lower the maximum of a GPU node group, or raise the ceiling on purpose.",
        level="mandatory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, limits: totals.stack_ceiling(stack, limits["maxGpus"]),
        schema={
            "maxGpus": {
                "type": ["integer", "null"],
                "minimum": 0,
                "default": None,
                "description": "Most GPUs with all node groups at their maximum; null for no limit.",
            }
        },
    ),
    Rule(
        id=regions.ALLOWED,
        title="Only allowed regions",
        why="Data residency, quota and reservations are per region.",
        remedy="Use an allowed region, or add the region to the list.",
        level="mandatory",
        severity="medium",
        subjects=(Cluster, NodeGroup),
        check=lambda subject, limits: regions.allowed(subject, limits["regions"]),
        schema={
            "regions": {
                "type": "array",
                "items": {"type": "string"},
                "default": [],
                "description": "Regions that may be used; empty for all.",
            }
        },
    ),
    Rule(
        id=regions.LOW_CARBON,
        title="A region with clean energy",
        why="GPUs draw hundreds of watts; the same job emits ten times more CO2 in one region than in another.",
        remedy="Choose a region with a high share of carbon-free energy where latency and quota allow.",
        level="advisory",
        severity="low",
        subjects=(Cluster,),
        check=lambda cluster, limits: regions.low_carbon(
            cluster, limits["minCarbonFreePercent"], limits["maxGramsPerKwh"]
        ),
        schema={
            "minCarbonFreePercent": {
                "type": "integer",
                "minimum": 0,
                "maximum": 100,
                "default": 75,
                "description": "Share of carbon-free energy from which a region counts as clean.",
            },
            "maxGramsPerKwh": {
                "type": "number",
                "minimum": 0,
                "default": 200,
                "description": "Grid emissions (gCO2eq/kWh) up to which a region counts as clean.",
            },
        },
    ),
)
