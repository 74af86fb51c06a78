"""What a verdict is about, and what it is not: printed with it, so that a pass is not read for more than it is."""

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
    """What a pass says nothing about, and the facts that are not known exactly: subject → sentence, both."""

    not_rehearsed: Mapping[str, str]
    estimates: Mapping[str, str]


def scope_of(settings: Settings, day_two: DayTwoSet = "none", *, limited: bool = False) -> Scope:
    """The scope of a rehearsal of these settings, of which ``day_two`` changes some.

    ``limited``: by an account's file.
    """
    if settings.autoscaler == "karpenter":
        own = {"idle times": "Karpenter really runs, but a node counts as idle after a second"}
    else:
        own = {
            "the cloud's autoscaler": "Karpenter simulates it, with what the cloud's autoscaler would know of a pool"
        }
    if settings.workloads.checkpoints is not None:
        own["upgrades and failures"] = "the cloud upgrades nothing by itself, and reclaims one node of one job only"
        own["checkpoints"] = "no program writes checkpoints, so lost work after a reclaimed node is not measured"
    if settings.workloads.services:
        own["KEDA"] = "the rehearsal sets the replicas of a service instead"
    prices = "list prices from the catalog"
    if settings.unpriced:
        prices += f", unknown for {', '.join(settings.unpriced)}"
    sizes = "node reservations and requests of system pods: formulas and samples"
    limits = _SENTENCES["limited"] if limited else {}
    not_rehearsed = {**_SENTENCES["always"], **limits, **_SENTENCES["day-two"][day_two], **own, **_charts(settings)}
    return Scope(not_rehearsed, {"sizes": sizes, "prices": prices})


def _charts(settings: Settings) -> Mapping[str, str]:
    """Charts that are not on this machine: empty ones stand for them."""
    if not settings.workloads.tools:
        return {}
    from components.workloads.declare import charts_of  # 0.3 s that few stacks need to spend
    from rehearsal.providers.kubernetes.helm.charts import locate

    charts = [(chart, locate(chart.where, None)) for chart in charts_of(settings.workloads)]
    empty = [f"{chart.name} {chart.version}" for chart, here in charts if here is not None and here.empty]
    words = "only value names were checked, no pod ran; CHARTS=DIR with the chart archives installs them"
    return {"charts": f"of {', '.join(empty)} {words}"} if empty else {}
