"""Judges that need no engine: the provider's check, the gate, and the cloud's rules on a request.

They get each mutant alone, in milliseconds. They see one resource changed and all others as declared, with the values
of an update, so a rehearsal must still ask the engine about every mutant that they pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
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
from rehearsal.providers import cloud_provider
from rehearsal.providers.base import CallContext, Properties
from rehearsal.providers.marshal import unmarshal
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


class QuickJudges:
    """All judges of one stack. ``folder`` is for the provider's records; ``cloud`` are the resources of the cloud."""

    def __init__(self, stack: Stack, program: Sequence[Registered], gate: OfflineGate, folder: Path) -> None:
        (plugin,) = stack.plugins
        self._provider: Any = cloud_provider(plugin, folder, None)
        account = catalog.of(stack.settings.cloud).account_key.partition(":")[2]
        self._provider.configure({account: stack.settings.project})
        self._schema, self._gate = schema(stack.settings.cloud), gate
        self.cloud = {(each.type, each.name): each for each in program if each.type.startswith(f"{plugin}:")}
        self._checked = {each.urn: self._check(each, each.inputs)[0] for each in self.cloud.values()}
        self._declared = {each.urn: _declared(each, self._checked.get(each.urn)) for each in program}
        self._before = gate.violations(self._declared.values())
        self._complete = self._created()

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
        if checked == self._checked[each.urn]:
            return NOBODY if mutant.path == DEPENDS_ON else Verdict("same")
        program = {**self._declared, each.urn: _declared(each, checked)}
        added = sorted(self._gate.violations(program.values()) - self._before, reverse=True)
        new = {mandatory: rule for rule, _, mandatory in added}
        if True in new:
            return Verdict("gate", new[True])
        try:
            self._provider.create(_call(each, preview=True), checked, 0)
            if each.type in self._complete:
                self._require(each, checked)
        except Exception as error:  # a defect of the simulated provider ends an update, too
            return Verdict("up", str(error))
        return Verdict("advisory", new[False]) if False in new else NOBODY

    def _check(self, each: Registered, wire: Mapping[str, object]) -> tuple[Properties, str]:
        """The inputs after the provider's check, and its first refusal."""
        try:
            checked, failures = self._provider.check(_call(each), {}, _plain(wire))
        except Exception as error:  # as below
            return {}, str(error)
        return checked, next((f"{one.property}: {one.reason}" for one in failures), "")

    def _require(self, each: Registered, checked: Properties) -> None:
        """Raise the cloud's error about other resources."""
        row = self._provider.row(each.type)
        self._provider.require(row, self._provider.new_resource(row, checked))

    def _created(self) -> set[str]:
        """Create what needs no machines; the types whose references to other resources can be looked up then."""
        types = {each.type for each in self.cloud.values()}
        for each in self.cloud.values():
            with suppress(Exception):
                if self._provider.row(each.type).lifecycle is None:
                    self._provider.create(_call(each), self._checked[each.urn], 0)
        for each in self.cloud.values():
            try:
                self._require(each, self._checked[each.urn])
            except Exception:  # something that only machines or an update bring is missing
                types.discard(each.type)
        return types


def _call(each: Registered, *, preview: bool = False) -> CallContext:
    return CallContext(each.urn, each.type, each.name, preview=preview, random_seed=b"mutants")


def _plain(wire: Mapping[str, object]) -> Properties:
    return unmarshal(json_format.ParseDict(dict(wire), Struct()))


def _declared(each: Registered, checked: Properties | None) -> Declared:
    properties = _plain(each.inputs) if checked is None else checked
    return Declared(each.type, each.name, each.urn, properties, dependencies=each.dependencies)
