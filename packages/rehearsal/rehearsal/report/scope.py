"""What a verdict covers and what it does not; printed with the verdict, so that nobody expects more of a pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.settings import Settings
    from rehearsal.day_two.edits import DayTwoSet

_NEVER: Final[Mapping[str, str]] = {
    "quota and capacity": "unlimited, except once for the first capacity type of one pool",
    "network": "routes, DNS and firewalls are not simulated; private endpoints answer only inside the network",
    "images": "no image is pulled; no container runs its program, except the autoscaler's",
    "drivers": "pods are checked for a driver installer; no driver is installed and no GPU is used",
    "time": "compressed: node starts, idle times, timeouts and expiry of certificates take much longer in a cloud",
    "upgrades and failures": "the simulated cloud renews GPU nodes once, and no others; no node fails or is reclaimed",
    "the deployer's permissions": "the deployer has every permission in the cloud account",
}


@dataclass(frozen=True)
class Scope:
    """Subjects that a pass does not cover, and facts that are estimates: subject → sentence."""

    not_rehearsed: Mapping[str, str]
    estimates: Mapping[str, str]


_SETTINGS: Final[Mapping[DayTwoSet, Mapping[str, str]]] = {
    "none": {"changed settings": "no setting changes on the running cluster, except deletion protection"},
    "brief": {"further settings": "only a few settings change on the running cluster; DAYTWO=all changes more"},
    "all": {},
}


_LIMITED: Final[Mapping[str, str]] = {
    "quota and capacity": "unlimited, except for the limits in the account file",
    "the deployer's permissions": "every permission that the account file does not remove",
}


def scope_of(settings: Settings, day_two: DayTwoSet = "none", *, limited: bool = False) -> Scope:
    """The scope of a rehearsal of these settings; ``day_two`` says which of them change on the running cluster.

    ``limited``: an account file sets limits.
    """
    if settings.autoscaler == "karpenter":
        own = {"idle times": "Karpenter really runs, but a node counts as idle after a second"}
    else:
        own = {"the cloud's autoscaler": "Karpenter simulates it, knowing only what the cloud's autoscaler would know"}
    if settings.workloads.checkpoints is not None:
        own["upgrades and failures"] = "the simulated cloud renews GPU nodes once, and it reclaims one node of one job"
        own["checkpoints"] = "no program writes checkpoints, so lost work after a reclaimed node is not measured"
    if settings.workloads.services:
        own["KEDA"] = "the rehearsal sets the replicas of a service instead"
    prices = "list prices from the catalogue"
    if settings.unpriced:
        prices += f", unknown for {', '.join(settings.unpriced)}"
    sizes = "resources that nodes reserve and system pods request, from formulas and samples"
    return Scope(
        {**_NEVER, **(_LIMITED if limited else {}), **_SETTINGS[day_two], **own, **_charts(settings)},
        {"sizes": sizes, "prices": prices},
    )


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
