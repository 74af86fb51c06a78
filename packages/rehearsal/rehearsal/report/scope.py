"""What a verdict is about, and what it is not: printed with it, so that a pass is not read for more than it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.settings import Settings
    from rehearsal.day_two.edits import DayTwoSet

_NEVER: Final[Mapping[str, str]] = {
    "quota and stock": "the simulated cloud has every machine, at once, but for a while those of one first rung",
    "network": "routes, name resolution and firewalls let everything through; private endpoints answer inside only",
    "images": "none is pulled, and in no container runs a program, unless it is the autoscaler's",
    "drivers": "whether one would be installed is read from its pod, not tried on a GPU",
    "time": "starting nodes, idle times, time-outs and certificates that run out take minutes to months in a cloud",
    "upgrades and failures": "nothing is upgraded by the cloud itself, and no node breaks or is taken back",
    "the deployer's rights": "whoever runs the program may do everything in the cloud account",
}


@dataclass(frozen=True)
class Scope:
    """What a pass says nothing about, and the facts that are not known exactly: subject → sentence, both."""

    not_rehearsed: Mapping[str, str]
    estimates: Mapping[str, str]


_SETTINGS: Final[Mapping[DayTwoSet, Mapping[str, str]]] = {
    "none": {"changed settings": "none changes on the running cluster, but for the protection of a protected stack"},
    "brief": {"changed settings": "only a few change on the running cluster; with DAYTWO=all more"},
    "all": {},
}


_LIMITED: Final[Mapping[str, str]] = {
    "quota and stock": "there is enough of what the account's file does not name, and every machine comes at once",
    "the deployer's rights": "whoever runs the program may do all that the account's file does not take away",
}


def scope_of(settings: Settings, day_two: DayTwoSet = "none", *, limited: bool = False) -> Scope:
    """The scope of a rehearsal of these settings, of which ``day_two`` changes some.

    ``limited``: by an account's file.
    """
    if settings.autoscaler == "karpenter":
        own = {"idle times": "Karpenter really runs, but a node that was idle for a second counts as idle for long"}
    else:
        own = {"the cloud's autoscaler": "Karpenter decides in its place, told what that one would see of a pool"}
    if settings.workloads.checkpoints is not None:
        own["upgrades and failures"] = "nothing is upgraded by the cloud itself, and it takes back one node of one job"
        own["checkpoints"] = "no program writes any: that a job whose node is taken loses little is not seen"
    if settings.workloads.services:
        own["KEDA"] = "the rehearsal sets the number of a service's replicas in its place"
    prices = "list prices of the catalogue"
    if settings.unpriced:
        prices += f", and none is known for {', '.join(settings.unpriced)}"
    sizes = "what a node keeps for its system, and what the cluster's own pods ask for: formulas and samples"
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

    found = [(chart, locate(chart.where, None)) for chart in charts_of(settings.workloads)]
    empty = [f"{chart.name} {chart.version}" for chart, here in found if here is not None and here.empty]
    words = "the keys of their values were checked, none of their pods ran; CHARTS=DIR with the archives installs them"
    return {"charts": f"of {', '.join(empty)} {words}"} if empty else {}
