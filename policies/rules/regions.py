"""The regions that a stack may use, and how clean their energy is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from facts.concepts.carbon import Carbon
from facts.concepts.declared import Cluster, NodeGroup, Violation
from facts.concepts.unknown import UNKNOWN
from policies.rules.rule import rule
from policies.rules.samples import CLUSTER


@rule(
    "allowed-regions",
    title="Only allowed regions",
    why="Data residency, quota and reservations are per region.",
    remedy="Use an allowed region, or add the region to regions.",
    level="mandatory",
    severity="medium",
    limits={
        "regions": {
            "wider": "more, or none",
            "type": "array",
            "items": {"type": "string"},
            "description": "Regions that may be used; empty for all.",
        }
    },
    example=CLUSTER,
    example_limits={"regions": ["europe-west4"]},
)
def allowed(subject: Cluster | NodeGroup, regions: Sequence[str] = ()) -> list[Violation]:
    """The cluster or group is in one of ``regions``; an empty list allows all."""
    if not regions or subject.region is None:
        return []
    if subject.region is UNKNOWN:
        return [allowed.unknown(subject.title, "its region", subject.resource)]
    if subject.region in regions:
        return []
    message = f"{subject.title} is in region '{subject.region}', which is not allowed."
    return [allowed.violation(message, subject.resource, remedy=f"Use one of: {', '.join(regions)}.")]


@rule(
    "low-carbon-region",
    title="The region has clean energy",
    why="GPUs draw hundreds of watts; the same job emits ten times more CO2 in one region than in another.",
    remedy="Choose a region with more carbon-free energy where latency and quota allow it.",
    level="advisory",
    severity="low",
    limits={
        "minCarbonFreePercent": {
            "wider": "lower",
            "type": "integer",
            "minimum": 0,
            "maximum": 100,
            "description": "Share of carbon-free energy from which a region counts as clean.",
        },
        "maxGramsPerKwh": {
            "wider": "higher",
            "type": "number",
            "minimum": 0,
            "description": "Grid emissions (gCO2eq/kWh) up to which a region counts as clean.",
        },
    },
    example=replace(CLUSTER, carbon=Carbon(42, 590, 2025, "the cloud's table")),
)
def low_carbon(cluster: Cluster, min_carbon_free_percent: int = 75, max_grams_per_kwh: float = 200) -> list[Violation]:
    """The region's energy is carbon-free most of the time, or its grid emits little.

    The defaults are the thresholds of Google's low-carbon label: https://cloud.google.com/sustainability/region-carbon
    """
    carbon = cluster.carbon
    if carbon is None or carbon.free_percent >= min_carbon_free_percent:
        return []
    if carbon.grid_grams_per_kwh <= max_grams_per_kwh:
        return []
    message = (
        f"Region '{cluster.region}' has carbon-free energy {carbon.free_percent} % of the time, and its grid emits "
        f"{carbon.grid_grams_per_kwh:.0f} gCO2eq/kWh ({carbon.year})."
    )
    remedy = f"Choose a cleaner region (source: {carbon.source})."
    return [low_carbon.violation(message, cluster.resource, remedy=remedy)]
