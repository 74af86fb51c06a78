"""Where a stack may run, and how clean the energy is there."""

from __future__ import annotations

from collections.abc import Sequence

from policies.rules.model import UNKNOWN, Cluster, NodeGroup, Violation

ALLOWED = "allowed-regions"
LOW_CARBON = "low-carbon-region"


def allowed(subject: Cluster | NodeGroup, regions: Sequence[str] = ()) -> list[Violation]:
    """The cluster or group is in one of ``regions``; an empty list allows all."""
    kind = "Cluster" if isinstance(subject, Cluster) else "Node group"
    remedy = f"Use one of: {', '.join(regions)}."
    if not regions or subject.region is None:
        return []
    if subject.region is UNKNOWN:
        message = f"{kind} '{subject.name}': unknown at preview, checked at update: its region."
        return [Violation(ALLOWED, message, remedy, undecided=True, resource=subject.resource)]
    if subject.region in regions:
        return []
    message = f"{kind} '{subject.name}' is in region '{subject.region}', which is not allowed."
    return [Violation(ALLOWED, message, remedy, resource=subject.resource)]


def low_carbon(cluster: Cluster, min_free_percent: int = 75, max_grams_per_kwh: float = 200) -> list[Violation]:
    """The region's energy is carbon-free most of the time, or its grid emits little.

    The defaults are the thresholds of Google's low-carbon label: https://cloud.google.com/sustainability/region-carbon
    """
    carbon = cluster.carbon
    if carbon is None or carbon.free_percent >= min_free_percent or carbon.grid_grams_per_kwh <= max_grams_per_kwh:
        return []
    message = (
        f"Region '{cluster.region}' runs on carbon-free energy {carbon.free_percent} % of the time, and its grid emits "
        f"{carbon.grid_grams_per_kwh:.0f} gCO2eq/kWh ({carbon.year})."
    )
    return [Violation(LOW_CARBON, message, f"Prefer a cleaner region: {carbon.source}.", resource=cluster.resource)]
