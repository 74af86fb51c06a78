"""The regions that a stack may use, and how clean their energy is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from facts.concepts.declared import Carbon, Cluster, NodeGroup, Violation
from facts.concepts.unknown import UNKNOWN
from policies.rules.rule import gate_rule
from policies.rules.samples import CLUSTER


@gate_rule("allowed-regions", example=CLUSTER, example_limits={"regions": ["europe-west4"]})
def allowed(subject: Cluster | NodeGroup, regions: Sequence[str] = ()) -> list[Violation]:
    """The cluster or group is in one of ``regions``; an empty list allows all."""
    kind = "Cluster" if isinstance(subject, Cluster) else "Node group"
    if not regions or subject.region is None:
        return []
    if subject.region is UNKNOWN:
        return [allowed.unknown(f"{kind} '{subject.name}'", "its region", subject.resource)]
    if subject.region in regions:
        return []
    message = f"{kind} '{subject.name}' is in region '{subject.region}', which is not allowed."
    return [allowed.violation(message, subject.resource, remedy=f"Use one of: {', '.join(regions)}.")]


@gate_rule("low-carbon-region", example=replace(CLUSTER, carbon=Carbon(42, 590, 2025, "the cloud's table")))
def low_carbon(cluster: Cluster, min_carbon_free_percent: int = 75, max_grams_per_kwh: float = 200) -> list[Violation]:
    """The region's energy is carbon-free most of the time, or its grid emits little.

    The defaults are the thresholds of Google's low-carbon label: https://cloud.google.com/sustainability/region-carbon
    """
    carbon = cluster.carbon
    if (
        carbon is None
        or carbon.free_percent >= min_carbon_free_percent
        or carbon.grid_grams_per_kwh <= max_grams_per_kwh
    ):
        return []
    message = (
        f"Region '{cluster.region}' has carbon-free energy {carbon.free_percent} % of the time, and its grid emits "
        f"{carbon.grid_grams_per_kwh:.0f} gCO2eq/kWh ({carbon.year})."
    )
    return [
        low_carbon.violation(message, cluster.resource, remedy=f"Choose a cleaner region (source: {carbon.source}).")
    ]
