"""Judges that need no engine: the provider's check, the gate, the cloud's rules, and the first check after an update.

They get each mutant alone, in milliseconds. The program's resources are created again in a new simulated cloud without
machines, in their order; what depends on the mutated one gets its new outputs. A rehearsal asks the engine about every
mutant that they pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from facts import catalog
from policies.offline import OfflineGate
from policies.readers.resource import Declared
from rehearsal.engine.stack import Stack
from rehearsal.mutants.mutation import DEPENDS_ON, Mutant, Registered
from rehearsal.mutants.replay import Replay, call
from rehearsal.providers import cloud_provider
from rehearsal.providers.base import Properties
from rehearsal.providers.marshal import unmarshal
from rehearsal.scenario.check import pools_of
from schemas import schema

Judge = Literal["types", "gate", "advisory", "up", "scenario", "same", "nobody"]
"""``types``: the provider's check. ``advisory``: the gate reports it and goes on. ``up``: the cloud or the cluster
refuses. ``scenario``: a check after the update. ``same``: the provider fills in the same value again."""


@dataclass(frozen=True)
class Verdict:
    """Who notices a mutant, and the rule, the check or the message."""

    judge: Judge
    detail: str = ""


NOBODY = Verdict("nobody")
Made = tuple[Registered, Properties]
"""A resource with its inputs after the provider's check."""


class QuickJudges:
    """All judges of one stack. ``folder`` is for the provider's records; ``cloud`` are the resources of the cloud."""

    def __init__(self, stack: Stack, program: Sequence[Registered], gate: OfflineGate, folder: Path) -> None:
        (plugin,) = stack.plugins
        self._provider: Any = cloud_provider(plugin, folder, None)
        account = catalog.of(stack.settings.cloud).account_key.partition(":")[2]
        config = {account: stack.settings.project}
        self._provider.configure(config)
        self._schema, self._gate = schema(stack.settings.cloud), gate
        self.cloud = {(each.type, each.name): each for each in program if each.type.startswith(f"{plugin}:")}
        self._checked = {each.urn: self._check(each, each.inputs)[0] for each in self.cloud.values()}
        self._declared = {each.urn: _declared(each, self._checked.get(each.urn)) for each in program}
        self._before = gate.violations(self._declared.values())
        window = stack.settings.maintenance.window
        self._replay = Replay(plugin, config, pools_of(stack.settings), window)
        self.refusal = "an autoscaler in the cluster makes it too slow"
        """Why the program cannot be created without an engine; then no mutant is."""
        if self._replay.pools.in_groups:
            self.refusal = next(filter(None, self._replay.refusal(self._in_order())), "")

    def enum(self, token: str, path: str) -> tuple[str, ...]:
        """The values that the schema lists for an input."""
        known = self._schema.find(token, path)
        while known is not None and known.type == "list":
            known = known.items
        return known.enum if known is not None else ()

    def verdict(self, mutant: Mutant) -> Verdict:
        """Who notices ``mutant``."""
        each = self.cloud[mutant.type, mutant.name]
        checked, refusal = self._check(each, mutant.applied(each.inputs))
        if refusal:
            return Verdict("types", refusal)
        if checked == self._checked[each.urn] and mutant.path != DEPENDS_ON:
            return Verdict("same")
        program = {**self._declared, each.urn: _declared(each, checked)}
        added = sorted(self._gate.violations(program.values()) - self._before, reverse=True)
        new = {mandatory: rule for rule, _, mandatory in added}
        if True in new:
            return Verdict("gate", new[True])
        try:
            self._provider.create(call(each, preview=True), checked, 0)
        except Exception as error:  # a defect of the simulated provider ends a preview, too
            return Verdict("up", str(error))
        refused, wrong = self._replay.refusal(self._in_order(mutant, checked)) if not self.refusal else ("", "")
        if refused:
            return Verdict("up", refused)
        if wrong:
            return Verdict("scenario", wrong)
        return Verdict("advisory", new[False]) if False in new else NOBODY

    def _in_order(self, mutant: Mutant | None = None, checked: Properties | None = None) -> Sequence[Made]:
        """The program with the ``checked`` inputs of a mutant; one that does not wait comes as early as it can."""
        made = [(each, self._checked[each.urn]) for each in self.cloud.values()]
        if mutant is None or checked is None:
            return made
        place = list(self.cloud).index((mutant.type, mutant.name))
        mutated, _ = made.pop(place)
        if mutant.path == DEPENDS_ON:
            referred = {urn for urns in mutated.dependencies.values() for urn in urns}
            place = max((number for number, (each, _) in enumerate(made, 1) if each.urn in referred), default=0)
        return [*made[:place], (mutated, checked), *made[place:]]

    def _check(self, each: Registered, wire: Mapping[str, object]) -> tuple[Properties, str]:
        """The inputs after the provider's check, and its first refusal."""
        try:
            checked, failures = self._provider.check(call(each), {}, _plain(wire))
        except Exception as error:  # as below
            return {}, str(error)
        return checked, next((f"{one.property}: {one.reason}" for one in failures), "")


def _plain(wire: Mapping[str, object]) -> Properties:
    return unmarshal(json_format.ParseDict(dict(wire), Struct()))


def _declared(each: Registered, checked: Properties | None) -> Declared:
    properties = _plain(each.inputs) if checked is None else checked
    return Declared(each.type, each.name, each.urn, properties, dependencies=each.dependencies)
