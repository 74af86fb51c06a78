"""What a verdict covers and what it does not; printed with the verdict, so that nobody expects more of a pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.settings import Settings
    from rehearsal.day_two.edits import DayTwoSet

_SENTENCES: Final[Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


@dataclass(frozen=True)
class Scope:
    """Subjects that a pass does not cover, and facts that are estimates: subject → sentence."""

    not_rehearsed: Mapping[str, str]
    estimates: Mapping[str, str]


def scope_of(settings: Settings, day_two: DayTwoSet = "none", *, limited: bool = False) -> Scope:
    """The scope of a rehearsal of these settings; ``day_two`` says which of them change on the running cluster.

    ``limited``: an account file sets limits.
    """
    if settings.autoscaler == "karpenter":
        own = {"idle times": "Karpenter really runs, but a node counts as idle after a second"}
    else:
        own = {"the cloud's autoscaler": "Karpenter simulates it, knowing only what the cloud's autoscaler would know"}
    if settings.workloads.checkpoints is not None:
        own["upgrades and failures"] = "the simulated cloud upgrades GPU nodes once, and reclaims one node of one job"
        own["checkpoints"] = "no program writes checkpoints, so lost work after a reclaimed node is not measured"
    if settings.workloads.services:
        own["KEDA"] = "the rehearsal sets the replicas of a service instead"
    prices = "list prices from the catalogue"
    if settings.unpriced:
        prices += f", unknown for {', '.join(settings.unpriced)}"
    sizes = "resources that nodes reserve and system pods request, from formulas and samples"
    limits = _SENTENCES["limited"] if limited else {}
    not_rehearsed = {**_SENTENCES["always"], **limits, **_SENTENCES["day-two"][day_two], **own, **_charts(settings)}
    return Scope(not_rehearsed, {"sizes": sizes, "prices": prices})


def _charts(settings: Settings) -> Mapping[str, str]:
    """Charts that are not on this machine and were replaced by placeholders."""
    if not settings.workloads.tools:
        return {}
    from components.workloads.declare import charts_of  # takes 0.3 s, and few stacks need it
    from rehearsal.providers.kubernetes.helm.charts import locate

    charts = [(chart, locate(chart.where, None)) for chart in charts_of(settings.workloads)]
    empty = [f"{chart.name} {chart.version}" for chart, here in charts if here is not None and here.empty]
    words = "only the names of values were checked, and no pod ran; CHARTS=DIR with the chart archives installs them"
    return {"charts": f"{', '.join(empty)}: {words}"} if empty else {}
