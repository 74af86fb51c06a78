"""What the engine reports while it works: its event log (one JSON object per line), read into typed facts.

The log is what ``--event-log`` writes (the Automation API reads the same file); its shapes are those of
``apitype.EngineEvent``: https://github.com/pulumi/pulumi/blob/v3.200.0/sdk/go/common/apitype/events.go
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from policies.result import COST

_COLOUR_TAGS: Final = re.compile(r"<\{%.*?%\}>")
_SIZE: Final = re.compile(r"(^|\.)(count|desiredSize)$")
_FOLLOW_SECONDS: Final = 0.1
UNCHANGED: Final = frozenset({"same", "read", "refresh"})


@dataclass(frozen=True)
class PolicyViolation:
    """One broken policy: ``rule`` is its name in the pack, ``level`` ``mandatory`` or ``advisory``."""

    rule: str
    level: str
    resource: str
    message: str

    @property
    def mandatory(self) -> bool:
        """Whether the engine stops at this violation."""
        return self.level == "mandatory"


@dataclass(frozen=True)
class Step:
    """One resource operation as it begins: ``op`` is the engine's word (create, update, replace, delete, same …).

    ``planned`` tells a preview's steps from an update's; ``changes`` are the paths of the inputs that differ.
    """

    op: str
    type: str
    name: str
    planned: bool = False
    changes: tuple[str, ...] = ()

    @property
    def sizes_only(self) -> bool:
        """Whether an update differs in nothing but how many nodes a pool has, which an autoscaler changed meanwhile."""
        return self.op == "update" and bool(self.changes) and all(map(_SIZE.search, self.changes))

    @property
    def alters(self) -> bool:
        """Whether the operation alters something outside the engine: components and providers exist only inside."""
        return self.op not in UNCHANGED and not self.type.startswith(("gpucluster:", "pulumi:"))


@dataclass(frozen=True)
class Outcome:
    """What one engine command did. ``changes`` counts resources per operation, unchanged ones included.

    ``steps`` are as they begin, ``done`` as they end: of a refresh, with what it found.
    """

    changes: Mapping[str, int] = field(default_factory=dict)
    violations: tuple[PolicyViolation, ...] = ()
    cost_note: str = ""
    """What the gate says of the cost of the program's nodes; empty without the gate or without GPU pools."""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    done: tuple[Step, ...] = ()

    @property
    def changed(self) -> dict[str, int]:
        """Operations that alter something, with their counts."""
        return {op: count for op, count in self.changes.items() if op not in UNCHANGED and count}

    @property
    def summary(self) -> str:
        """The changes, for a person. Pool sizes that an autoscaler set are named and do not count as changes."""
        sized = tuple(dict.fromkeys(step.name for step in (*self.steps, *self.done) if step.sizes_only))
        if sized and sum(self.changed.values()) <= len(sized):
            return f"no changes, except sizes that the autoscaler set: {', '.join(sized)}"
        past = {op: f"{op}d" if op.endswith("e") else op for op in self.changed}
        return ", ".join(f"{count} {past[op]}" for op, count in sorted(self.changed.items())) or "no changes"

    @property
    def mandatory(self) -> tuple[PolicyViolation, ...]:
        """The violations that stop a preview or an update."""
        return tuple(violation for violation in self.violations if violation.mandatory)


def plain(text: str) -> str:
    """``text`` without the engine's colour markup."""
    return _COLOUR_TAGS.sub("", text)


def name_of(urn: str) -> str:
    """A resource's name: the last part of its URN."""
    return urn.rsplit("::", 1)[-1]


def parse_line(line: str) -> dict[str, Any] | None:
    """One event, or ``None`` for a line that the engine has not finished writing."""
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events in a file that ``--event-log`` wrote."""
    lines = path.read_text(errors="replace").splitlines()
    return [event for line in lines if (event := parse_line(line)) is not None]


def lines_while_written(path: Path, ended: threading.Event) -> Iterator[str]:
    """The lines of a file that another process is still writing, until ``ended`` is set.

    The engine begins its log anew when the update follows the preview.
    """
    partial = b""
    with path.open("rb") as stream:
        while True:
            last_round = ended.is_set()
            if path.stat().st_size < stream.tell():
                stream.seek(0)
                partial = b""
            while line := stream.readline():
                partial += line
                if partial.endswith(b"\n"):
                    yield partial.decode(errors="replace")
                    partial = b""
            if last_round:
                return
            ended.wait(_FOLLOW_SECONDS)


def step_of(event: Mapping[str, Any], *, ended: bool = False) -> Step | None:
    """The resource operation that an event announces, or says to have ``ended``; ``None`` when it does neither."""
    operation = event.get("resOutputsEvent" if ended else "resourcePreEvent")
    if operation is None:
        return None
    metadata = operation["metadata"]
    changes = tuple(metadata.get("detailedDiff") or ())
    return Step(metadata["op"], metadata["type"], name_of(metadata["urn"]), bool(operation.get("planning")), changes)


def outcome(events: Iterable[Mapping[str, Any]]) -> Outcome:
    """Fold a command's events. The last summary counts, so that an update's replaces its preview's."""
    changes: dict[str, int] = {}
    # The engine reports a violation once in the preview and once in the update.
    violations: dict[PolicyViolation, None] = {}
    errors: dict[str, None] = {}
    warnings: dict[str, None] = {}
    steps: list[Step] = []
    done: list[Step] = []
    cost_note = ""
    for event in events:
        if (step := step_of(event)) is not None:
            steps.append(step)
        if (step := step_of(event, ended=True)) is not None:
            done.append(step)
        if (policy := event.get("policyEvent")) is not None:
            violation = PolicyViolation(
                rule=policy["policyName"],
                level=policy["enforcementLevel"],
                resource=name_of(policy.get("resourceUrn", "")),
                # The SDK reports an unknown value as a policy that it could not run.
                message=plain(policy["message"]).strip().rpartition(" during preview: ")[2],
            )
            if violation.rule == COST:
                cost_note = violation.message.splitlines()[-1]  # behind the policy's title
            else:
                violations[violation] = None
        if (diagnostic := event.get("diagnosticEvent")) is not None and not diagnostic.get("ephemeral"):
            text = plain(diagnostic["message"]).strip().removeprefix("error: ")
            if diagnostic["severity"] == "error":
                errors[text] = None
            elif diagnostic["severity"] == "warning":
                warnings[text] = None
        if (failure := event.get("errorEvent")) is not None:
            errors[plain(failure["error"]).strip()] = None
        if (summary := event.get("summaryEvent")) is not None:
            changes = dict(summary.get("resourceChanges") or {})
    return Outcome(changes, tuple(violations), cost_note, tuple(errors), tuple(warnings), tuple(steps), tuple(done))
