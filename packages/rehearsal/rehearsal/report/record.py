"""The record of one rehearsal, filled in as it proceeds, so that an interrupted run also has a report.

With it: what a verdict covers and what it does not, printed with the verdict, so that nobody expects more of a pass;
and versions of what was real and of what was simulated.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from facts import catalog
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.credentials import hidden
from rehearsal.providers.resource import recorded_types
from rehearsal.scenario.check import NOT_REACHED, Check
from rehearsal.scenario.timeline import Timeline
from rehearsal.tools.modules import KARPENTER, KARPENTER_AWS
from rehearsal.tools.own_autoscaler import NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from components.settings import Settings
    from rehearsal.day_two.edits import DayTwoSet
    from rehearsal.engine.engine import Engine
    from rehearsal.engine.program import ForeignProgram
    from rehearsal.engine.stack import Stack
    from rehearsal.tools.own_autoscaler import AutoscalerProgram

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True)
class StageTime:
    """One part of the run and how long it took."""

    name: str
    seconds: float
    passed: bool


@dataclass
class RehearsalRecord:
    """What every rehearsal records. Moments are seconds of ``timeline``; ``ended`` is None while it runs."""

    stack: str
    stack_file: str
    timeline: Timeline
    scope: Scope = field(default_factory=lambda: Scope({}, {}))
    started_at: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    stages: list[StageTime] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    complete: bool = False
    events: list[tuple[float, str]] = field(default_factory=list)
    real: dict[str, str] = field(default_factory=dict)
    simulated: dict[str, str] = field(default_factory=dict)
    ended: float | None = None
    evidence: tuple[Path, ...] = ()

    @property
    def reasons(self) -> list[str]:
        """Why the verdict is not a pass; empty when it is."""
        failed = [check for check in self.checks if not check.passed]
        # A check that another failure prevented is not a reason.
        tried = [check for check in failed if check.detail != NOT_REACHED] or failed
        reasons = [*self.failures, *(f"{check.id}: {check.detail}" for check in tried)]
        return reasons or ([] if self.complete else ["the run did not complete"])

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail``."""
        return "fail" if self.reasons else "pass"

    @property
    def end(self) -> float:
        """The second at which the run ended, or the current one."""
        return self.timeline.now() if self.ended is None else self.ended

    def to_json(self, logs: Path | None) -> dict[str, Any]:
        """What ``report.json`` has of every rehearsal (see ``report.py``), without what looks like a credential."""
        content: dict[str, Any] = hidden(self._content(logs))
        return content

    def _content(self, logs: Path | None) -> dict[str, Any]:
        return {
            "schemaVersion": SCHEMA_VERSION,
            "stack": self.stack,
            "stackFile": self.stack_file,
            "startedAt": self.started_at.isoformat(timespec="seconds"),
            "seconds": round(self.end, 1),
            "verdict": self.verdict,
            "reasons": self.reasons,
            "scope": {"notRehearsed": dict(self.scope.not_rehearsed), "estimates": dict(self.scope.estimates)},
            "stages": [{**asdict(stage), "seconds": round(stage.seconds, 2)} for stage in self.stages],
            "checks": [asdict(check) for check in self.checks],
            "events": [{"at": round(at, 1), "text": text} for at, text in self.events],
            "real": self.real,
            "simulated": self.simulated,
            "evidence": [str(path) for path in self.evidence],
            "logs": str(logs) if logs is not None else None,
        }


_SENTENCES: Final[Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


@dataclass(frozen=True)
class Scope:
    """Subjects that a pass does not cover, and facts that are estimates: subject → sentence."""

    not_rehearsed: Mapping[str, str]
    estimates: Mapping[str, str]


def scope_of(
    settings: Settings,
    day_two: DayTwoSet = "none",
    *,
    limited: bool = False,
    autoscaler: AutoscalerProgram | None = None,
) -> Scope:
    """The scope of a rehearsal of these settings; ``day_two`` says which of them change on the running cluster.

    ``limited``: an account file sets limits. ``autoscaler``: the real cluster-autoscaler that was named.
    """
    if settings.autoscaler in KARPENTERS:
        own = {"idle times": "Karpenter really runs, but a node counts as idle after a second"}
        if settings.autoscaler != "karpenter":
            own["the cloud's Karpenter provider"] = "Karpenter's own kwok provider makes nodes in place of machines"
    else:
        karpenter = f"{_KARPENTER} {KARPENTER.versions[_KARPENTER]}"
        own = {
            "the cloud's autoscaler": _SENTENCES["autoscaler"].format(karpenter)
            if autoscaler is None
            else f"{NAME} {autoscaler.version} runs in its place"
        }
    if settings.workloads.checkpoints is not None:
        own["upgrades and failures"] = "the simulated cloud upgrades GPU nodes once, and reclaims one node of one job"
        own["checkpoints"] = "no program writes checkpoints, so lost work after a reclaimed node is not measured"
    if settings.workloads.services:
        own["KEDA"] = "the rehearsal sets the replicas of a service instead"
    prices = "list prices from the catalogue"
    if settings.unpriced:
        prices += f", unknown for {', '.join(pool.name for pool in settings.unpriced)}"
    sizes = "resources that nodes reserve and system pods request, from formulas and samples"
    if without := _without_recording(settings):
        sizes += f"; no real node of these machines was compared: {', '.join(without)}"
    limits = _SENTENCES["limited"] if limited else {}
    not_rehearsed = {**_SENTENCES["always"], **limits, **_SENTENCES["day-two"][day_two], **own, **_charts(settings)}
    return Scope(not_rehearsed, {"sizes": sizes, "prices": prices, **_answers(settings.cloud)})


def _without_recording(settings: Settings) -> list[str]:
    """The machine types of rented GPU pools that nobody recorded a node of, each once."""
    if settings.cloud not in catalog.clouds():
        return []
    recorded = catalog.of(settings.cloud).nodes.recorded
    types = (machine for pool in settings.gpu_pools for machine in pool.nodes.machine_types)
    return [machine for machine in dict.fromkeys(types) if machine not in recorded]


def _answers(cloud: str) -> Mapping[str, str]:
    """The resource types whose answers nobody recorded, counted beside the others; nothing on own machines."""
    if cloud not in catalog.clouds():
        return {}
    types = recorded_types(cloud)
    without = [token.rpartition(":")[2] for token, recorded in types.items() if not recorded]
    sentence = f"read in documentation, not compared with a recording: {', '.join(without)}"
    return {f"answers of {len(without)} of {len(types)} resource types": sentence}


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


_KARPENTER: Final = "karpenter"
_MACHINES: Final = "kwok"
"""The program that plays kubelets."""


def real_programs(
    stack: Stack | ForeignProgram, engine: Engine, autoscaler: AutoscalerProgram | None = None
) -> dict[str, str]:
    """Program → version. Pulumi may be the user's own. ``autoscaler`` runs in Karpenter's place."""
    pinned = {name: version for module in stack.tools for name, version in module.versions.items()}
    replaced = _MACHINES if autoscaler is None else _KARPENTER
    own = {} if autoscaler is None else {NAME: autoscaler.version}
    programs = {**pinned, **own, "pulumi": engine.version()}
    return {name: version for name, version in programs.items() if name not in (_MACHINES, replaced)}


def scaled_by(real: Mapping[str, str]) -> str:
    """Which of the real programs started the nodes, with its version; empty on own machines."""
    names = (NAME, *(name for module in (KARPENTER_AWS, KARPENTER) for name in module.versions))
    return next((f"{name} {real[name]}" for name in names if name in real), "")


def simulated_interfaces(stack: Stack | ForeignProgram) -> dict[str, str]:
    """Provider plugin whose API is simulated, or program that plays machines → version."""
    plugins = [f"pulumi-{plugin}" for plugin in (*stack.plugins, "kubernetes")]
    machines = {name: version for module in stack.tools for name, version in module.versions.items()}
    return {plugin: metadata.version(plugin) for plugin in plugins} | {_MACHINES: machines[_MACHINES]}
