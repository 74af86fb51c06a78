"""One stack in one sandbox for many faults: what exists, how an operation is repeated until it succeeds, results."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from proof.faults.judge import FaultRow, Inventory, differences, leaks, type_of
from rehearsal.cluster.api import Api, ApiError, UnreachableError
from rehearsal.engine import recovery
from rehearsal.engine.engine import CommandResult, Engine, EngineError
from rehearsal.engine.events import name_of
from rehearsal.engine.recovery import own_type
from rehearsal.providers.call_faults import CallFault
from rehearsal.sandbox.client import SandboxHandle

OTHER: Final = "without an injected fault"
_INSIDE_THE_ENGINE: Final = ("gpucluster:", "pulumi:")
_WRITTEN: Final = ("*.log", "*.events.jsonl", "state/**/*.json*", "*.txt")
"""What the engine and this rehearsal write and people read or share."""
_PLAIN: Final = re.compile(r'"plaintext": ("(?:[^"\\]|\\.)*")')
"""A secret in a state that is exported in the clear: JSON in a JSON text."""
_ATTEMPTS: Final = 40

Operation = Callable[[], CommandResult]


class FaultsFailed(EngineError):
    """Faults cannot be injected, because the stack fails without one; the message says where."""


@dataclass
class FaultSession:
    """``admin`` is the cluster's administrator, ``say`` prints a line of progress.

    ``rows`` are the results by title. ``clean``: what exists after each step of a run without faults; ``places``: where
    its resources belong (``recovery.placed``).
    """

    engine: Engine
    sandbox: SandboxHandle
    admin: Api
    say: Callable[[str], None]
    rows: dict[str, FaultRow] = field(default_factory=dict)
    clean: dict[str, Inventory] = field(default_factory=dict)
    places: dict[str, dict[str, str]] = field(default_factory=dict)
    _kinds: set[tuple[str, str, str]] = field(default_factory=set)
    _commands: int = 0

    def up(self, name: str = "up") -> CommandResult:
        """An update without the gate and without its preview."""
        return self.engine.up(None, name=self.log_name(name), skip_preview=True)

    def log_name(self, name: str) -> str:
        """A name of its own for a command's log."""
        self._commands += 1
        return f"{self._commands:03}-{name}"

    def resources(self) -> list[str]:
        """The URNs of the state, without what exists inside the engine only."""
        return [urn for urn in self.engine.resources() if not own_type(urn).startswith(_INSIDE_THE_ENGINE)]

    def disturb(self, step: str, faults: Iterable[CallFault], operate: Operation) -> None:
        """Run an operation until it succeeds, while faults happen; compare with a clean run's ``step``."""
        planned = list(faults)
        self.say(f"{step}: faults planned: {len(planned)}")
        self.sandbox.inject(planned)
        injected, converged = self._until_done(operate)
        for fault in planned:
            self.row(title(fault)).planned += 1
        self.settle(step, [(title(fault), unpatched(own_type(fault.urn))) for fault in injected], converged=converged)

    def row(self, title: str) -> FaultRow:
        """The results of a kind of fault."""
        return self.rows.setdefault(title, FaultRow(title))

    def _until_done(self, operate: Operation) -> tuple[list[CallFault], bool]:
        injected: list[CallFault] = []
        for _ in range(_ATTEMPTS):
            result = operate()
            known, (injected, ids) = len(injected), self.sandbox.calls()
            for fault in injected[known:]:
                self.say(f"{title(fault)}: {own_type(fault.urn).rpartition(':')[2]} {name_of(fault.urn)}")
            if result.ok:
                return injected, True
            try:
                if result.exit_code < 0:
                    recovered = recovery.after_kill(self.engine, ids, self.places)
                else:
                    recovered = recovery.import_existing(self.engine, result, ids, self.places)
            except EngineError as error:
                self.say(f"  {error}")
                return injected, False
            if recovered is result and injected[known:]:
                continue
            self.say(f"  {'killed' if result.exit_code < 0 else result.reason[:120]}; {recovered.command}")
            if not recovered.ok:
                return injected, False
        return injected, False

    def settle(self, step: str, faults: Iterable[tuple[str, str]], *, converged: bool) -> None:
        """Compare with the clean run after ``step``, which ``converged`` or not, and count faults: their row, and the
        type that each was about. A step that fails without a fault counts, too."""
        differing = differences(self.clean[step], self.inventory())
        reached = converged and not differing.missing
        rows = {}
        for title, type in faults:
            row = rows[type] = self.row(title)
            row.injected += 1
            row.converged += reached
        rest = next(iter(rows.values()), self.row(OTHER))
        rest.failed += not rows and not reached
        if not reached:
            self.say(f"  after {step}: not converged")
        for entry in differing.duplicates:
            rows.get(type_of(entry), rest).duplicates.append(entry)
        for entry in differing.orphans:
            rows.get(type_of(entry), rest).orphans.append(entry)
        known = [each for row in self.rows.values() for each in row.leaks]
        rest.leaks += [each for each in self.leaks() if each not in known]
        for entry in (*differing.duplicates, *differing.orphans, *differing.missing, *rest.leaks):
            self.say(f"  after {step}: {entry}")

    def inventory(self) -> Inventory:
        """What exists now, and what the state records."""
        mine = [
            each
            for each in self.engine.deployment().get("resources") or []
            if each.get("id") and not each["type"].startswith(_INSIDE_THE_ENGINE)
        ]
        self._kinds |= {
            (unpatched(each["type"]), each["outputs"]["apiVersion"], unpatched(each["outputs"]["kind"]))
            for each in mine
            if {"apiVersion", "kind"} <= each.get("outputs", {}).keys()
        }
        recorded = tuple(f"{unpatched(each['type'])} {each['id']}" for each in mine)
        return Inventory((*self.sandbox.inventory(), *self._objects()), recorded)

    def _objects(self) -> Iterator[str]:
        """All objects in the cluster of the kinds that the stack declares."""
        with contextlib.suppress(UnreachableError):
            for type, version, kind in sorted(self._kinds):
                with contextlib.suppress(ApiError):  # a kind whose definition is deleted
                    for each in self.admin.list(self.admin.resource(version, kind).path()):
                        place = (each["metadata"].get("namespace"), each["metadata"]["name"])
                        yield f"{type} {'/'.join(part for part in place if part)}"

    def leaks(self) -> list[str]:
        """Files that hold a secret in the clear."""
        rows = (self.engine.run_dir / "control-plane" / "tokens.csv").read_text().splitlines()
        known = [self.engine.passphrase, *self.engine.secrets(), *(row.partition(",")[0] for row in rows)]
        texts = _PLAIN.findall(json.dumps(self.engine.deployment("--show-secrets")))
        known += [text for each in texts if isinstance(text := json.loads(json.loads(each)), str)]
        folder = self.engine.run_dir
        files = {file for pattern in _WRITTEN for file in folder.rglob(pattern) if file.is_file()}
        return leaks(known, {str(file.relative_to(folder)): file.read_text(errors="replace") for file in sorted(files)})


def title(fault: CallFault) -> str:
    """A row's title: ``create: lost answer``."""
    return f"{fault.call.lower()}: {fault.kind}"


def unpatched(type: str) -> str:
    """A patch is a change of an object."""
    return type.removesuffix("Patch")
