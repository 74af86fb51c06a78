"""What a verdict is about, and what it is not: printed with it, so that a pass is not read for more than it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.settings import Settings
    from rehearsal.day_two.edits import DayTwoSet

_NEVER: Final[Mapping[str, str]] = {
    "quota and capacity": "the simulated cloud has capacity, except once for the first capacity type of one pool",
    "network": "routes, DNS and firewalls are not simulated; private endpoints answer only inside the network",
    "images": "no image is pulled; no container runs its program, except the autoscaler's",
    "drivers": "whether a driver would be installed is read from pods, not tried on a GPU",
    "time": "compressed: node starts, idle times, time-outs and expiry of certificates take much longer in a cloud",
    "upgrades and failures": "the cloud renews GPU nodes once, and no others; no node fails or is reclaimed",
    "the deployer's permissions": "the deployer has every permission in the cloud account",
}


@dataclass(frozen=True)
class Scope:
    """What a pass says nothing about, and the facts that are not known exactly: subject → sentence, both."""

    not_rehearsed: Mapping[str, str]
    estimates: Mapping[str, str]


_SETTINGS: Final[Mapping[DayTwoSet, Mapping[str, str]]] = {
    "none": {"changed settings": "no setting changes on the running cluster, except deletion protection"},
    "brief": {"further settings": "only a few settings change on the running cluster; DAYTWO=all changes more"},
    "all": {},
}


_LIMITED: Final[Mapping[str, str]] = {
    "quota and capacity": "unlimited, except for what the account file limits",
    "the deployer's permissions": "every permission that the account file does not remove",
}


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
        own["upgrades and failures"] = "the cloud renews GPU nodes once, and reclaims one node of one job only"
        own["checkpoints"] = "no program writes checkpoints, so lost work after a reclaimed node is not measured"
    if settings.workloads.services:
        own["KEDA"] = "the rehearsal sets the replicas of a service instead"
    prices = "list prices from the catalog"
    if settings.unpriced:
        prices += f", unknown for {', '.join(settings.unpriced)}"
    sizes = "node reservations and requests of system pods: formulas and samples"
    return Scope(
        {**_NEVER, **(_LIMITED if limited else {}), **_SETTINGS[day_two], **own, **_charts(settings)},
        {"sizes": sizes, "prices": prices},
    )


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
