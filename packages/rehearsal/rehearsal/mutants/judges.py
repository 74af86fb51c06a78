"""Judges that need no engine: the provider's check, the gate, and the cloud's rules on a request.

They get each mutant alone, in milliseconds. They see one resource changed and all others as declared, with the values
of an update, so a rehearsal must still ask the engine about every mutant that they pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct

from facts import catalog
from policies import config
from policies.exemptions import today_utc
from policies.readers.resource import Declared
from policies.rules.table import RULES
from policies.run_config import RunConfig
from policies.stack_view import ResourceView, StackView
from rehearsal.engine.stack import Stack
from rehearsal.mutants.mutation import DEPENDS_ON, Mutant, Registered
from rehearsal.providers import cloud_provider
from rehearsal.providers.base import CallContext, Properties, ProviderError
from rehearsal.providers.fixtures import create_fixtures
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
    """All judges of one stack. ``folder`` is for the provider's records."""

    def __init__(self, stack: Stack, program: Sequence[Registered], gate_config: Path, folder: Path) -> None:
        (self._plugin,) = stack.plugins
        provider: Any = cloud_provider(self._plugin, folder, None)
        if stack.with_existing is not None:
            create_fixtures(stack.with_existing, provider)
        self._provider = provider.instance()
        account = catalog.of(stack.settings.cloud).account_key.partition(":")[2]
        self._provider.configure({account: stack.settings.project})
        self._schema = schema(stack.settings.cloud)
        self._program = {(each.type, each.name): each for each in program}
        self._gate = _Gate(gate_config)
        self._checked = {each.urn: self._check(each, each.inputs)[0] for each in program}
        self._views = {each.urn: _view(each, self._checked[each.urn]) for each in program}
        self._before = self._violations({})
        self._answering = self._created(program)

    def enum(self, token: str, path: str) -> tuple[str, ...]:
        """The values that the schema lists for an input."""
        known = self._schema.find(token, path) if token in self._schema.resources else None
        while known is not None and known.type == "list":
            known = known.items
        return known.enum if known is not None else ()

    def verdict(self, mutant: Mutant) -> Verdict:
        """Who notices ``mutant``."""
        each = self._program[mutant.type, mutant.name]
        checked, refusal = self._check(each, mutant.applied(each.inputs))
        if refusal:
            return Verdict("types", refusal)
        if checked == self._checked[each.urn]:
            return NOBODY if mutant.path == DEPENDS_ON else Verdict("same")
        new = self._violations({each.urn: _view(each, checked)}) - self._before
        found = {level: rule for rule, _, level in sorted(new, reverse=True)}
        if "mandatory" in found:
            return Verdict("gate", found["mandatory"])
        if refusal := self._refusal(each, checked):
            return Verdict("up", refusal)
        return Verdict("advisory", found["advisory"]) if "advisory" in found else NOBODY

    def _check(self, each: Registered, wire: Mapping[str, object]) -> tuple[Properties, str]:
        """The inputs after the provider's check, and its first refusal."""
        inputs = unmarshal(json_format.ParseDict(dict(wire), Struct()))
        if not each.type.startswith(f"{self._plugin}:"):
            return inputs, ""
        try:
            checked, failures = self._provider.check(_call(each), {}, inputs)
        except ProviderError as error:
            return inputs, str(error)
        return checked, next((f"{one.property}: {one.reason}" for one in failures), "")

    def _refusal(self, each: Registered, checked: Properties) -> str:
        """What the cloud says to the request, as far as it needs no machines."""
        if not each.type.startswith(f"{self._plugin}:"):
            return ""
        try:
            self._provider.create(_call(each, preview=True), checked, 0)
            if each.type in self._answering:
                row = self._provider.row(each.type)
                self._provider.require(row, self._provider.new_resource(row, checked))
        except ProviderError as error:
            return str(error)
        return ""

    def _created(self, program: Sequence[Registered]) -> set[str]:
        """Create what needs no machines; the types whose references to other resources can be looked up then."""
        for each in program:
            with suppress(Exception):
                if self._provider.row(each.type).lifecycle is None:
                    self._provider.create(_call(each), self._checked[each.urn], 0)
        types = set()
        for each in program:
            with suppress(Exception):
                row = self._provider.row(each.type)
                self._provider.require(row, self._provider.new_resource(row, self._checked[each.urn]))
                types.add(each.type)
        return types

    def _violations(self, changed: Mapping[str, ResourceView]) -> set[tuple[str, str, str]]:
        views = list({**self._views, **changed}.values())
        return self._gate.violations(StackView(views, [dict(each.dependencies) for each in self._program.values()]))


class _Gate:
    """The gate's rules with the levels and limits of a configuration file."""

    def __init__(self, file: Path) -> None:
        configured = config.configured(config.load(file))
        run = RunConfig(today_utc())
        run.configure(configured, ())
        self._elsewhere = run.pools
        limits = {each.id: config.limits_of(each, configured.get(each.id, ("", {}))[1]) for each in RULES}
        self._rules = [(each, limits[each.id], run.level(each)) for each in RULES if run.level(each) != "disabled"]

    def violations(self, view: StackView) -> set[tuple[str, str, str]]:
        """Rule, resource and level of all violations; the level ``remediate`` is mandatory here."""
        stack, found = replace(view.stack, elsewhere=self._elsewhere), set[tuple[str, str, str]]()
        for rule, limits, level in self._rules:
            violations = rule.check(stack, limits) if rule.scope == "stack" else []
            if rule.scope == "resource":
                violations = [one for each in view.linked for one in each.violations(rule, limits)]
            strict = "advisory" if level == "advisory" else "mandatory"
            found |= {(rule.id, one.resource, strict) for one in violations if not one.not_evaluated}
        return found


def _call(each: Registered, *, preview: bool = False) -> CallContext:
    return CallContext(each.urn, each.type, each.name, preview=preview, random_seed=b"mutants")


def _view(each: Registered, checked: Properties) -> ResourceView:
    return ResourceView(Declared(each.type, each.name, each.urn, checked))
