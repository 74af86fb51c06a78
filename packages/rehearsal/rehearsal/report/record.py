"""The record of one rehearsal, filled in as it proceeds, so that an interrupted run also has a report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from rehearsal.report.scope import Scope
from rehearsal.scenario.check import NOT_REACHED, Check
from rehearsal.scenario.timeline import Timeline

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
        """What ``report.json`` has of every rehearsal (see ``report.py``)."""
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
