"""Judges that need no engine: the provider's check, the gate, the cloud's rules, and the first check after an update.

They get each mutant alone, in milliseconds. The program's resources are created again in a new simulated cloud without
machines, in their order; what depends on the mutated one gets its new outputs. An object in the cluster is created in a
dry run of a real API server instead. A rehearsal asks the engine about every mutant that they pass.
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
from proof.mutants.mutation import DEPENDS_ON, Mutant, Registered
from proof.mutants.policies import KINDS, Policies
from proof.mutants.replay import Made, Replay, Variant, call
from rehearsal.cluster.api import Api
from rehearsal.engine.stack import Stack
from rehearsal.providers import cloud_provider
from rehearsal.providers.base import Properties, Provider
from rehearsal.providers.marshal import unmarshal
from rehearsal.scenario.check import groups_of, offer_of, pools_of
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
    """All judges of one stack. ``folder`` is for the provider's records; ``cloud`` are the resources of the cloud.

    ``cluster`` is an empty one and its provider; with it the objects in the cluster are ``mutable``, too.
    """

    def __init__(
        self,
        stack: Stack,
        program: Sequence[Registered],
        gate: OfflineGate,
        folder: Path,
        cluster: tuple[Api, Provider] | None = None,
    ) -> None:
        (plugin,) = stack.plugins
        self._kubernetes = kubernetes = cluster[1] if cluster else None
        self._provider: Any = cloud_provider(plugin, folder, None)
        account = catalog.of(stack.settings.cloud).account.key.partition(":")[2]
        config = {account: stack.settings.project}
        self._provider.configure(config)
        self._schema, self._gate = schema(stack.settings.cloud), gate
        self.cloud = {(each.type, each.name): each for each in program if each.type.startswith(f"{plugin}:")}
        self._listed = {(each.type, each.name): each for each in program if _listed(each)}
        self.mutable = {**self.cloud, **(self._listed if kubernetes else {})}
        self._checked = {each.urn: self._check(each, each.inputs)[0] for each in self.mutable.values()}
        self._declared = {each.urn: _declared(each, self._checked.get(each.urn)) for each in program}
        self._before = gate.violations(self._declared.values())
        window = stack.settings.maintenance.window
        planned = stack.settings.autoscaler == "cluster-autoscaler"
        pools = groups_of(stack.settings) if planned else pools_of(stack.settings)
        objects = [_plain(each.inputs) for each in self._listed.values()]
        for each in self._listed.values():
            if kubernetes and each.inputs["kind"] == "Namespace":
                kubernetes.create(call(each), self._checked[each.urn], 0)
        self.replay = Replay(plugin, config, pools, window, objects, planned, offer_of(stack.settings))
        self.refusal = next(filter(None, self.replay.refusal(self.in_order())), "")
        """Why the program cannot be created without an engine; then no mutant is."""
        self._policies = None
        if cluster:
            policies = [(each, self._checked[each.urn]) for each in program if each.inputs.get("kind") in KINDS]
            self._policies = Policies(*cluster, policies, pools)
            self.refusal = self.refusal or self._policies.refusal

    def enum(self, token: str, path: str) -> tuple[str, ...]:
        """The values that the schema lists for an input; none of an object in the cluster."""
        known = self._schema.find(token, path) if token in self._schema.resources else None
        while known is not None and known.type == "list":
            known = known.items
        return known.enum if known is not None else ()

    def verdicts(self, mutants: Sequence[Mutant]) -> dict[Mutant, Verdict]:
        """Who notices each of the ``mutants``."""
        verdicts = {mutant: self._declared_verdict(mutant) for mutant in mutants}
        left = [mutant for mutant in mutants if verdicts[mutant].judge in ("advisory", "nobody")]
        for mutant, (refused, wrong) in zip(left, self._replayed(left), strict=True):
            if refused or wrong:
                verdicts[mutant] = Verdict("up", refused) if refused else Verdict("scenario", wrong)
        return verdicts

    def _replayed(self, mutants: Sequence[Mutant]) -> list[tuple[str, str]]:
        if self.refusal:
            return [("", "")] * len(mutants)
        in_cloud = [one for one in mutants if (one.type, one.name) in self.cloud]
        mutated = [(self.cloud[one.type, one.name], one) for one in in_cloud]
        variants = [
            Variant(each.urn, self._check(each, one.applied(each.inputs))[0], one.path == DEPENDS_ON, one.text)
            for each, one in mutated
        ]
        answers = dict(zip(in_cloud, self.replay.refusals(self.in_order(), variants), strict=True))
        if self._policies is not None:
            for one in mutants:
                each = self.mutable[one.type, one.name]
                if each.inputs.get("kind") in KINDS:
                    answers[one] = self._policies.refused(each, self._check(each, one.applied(each.inputs))[0])
        others = [one for one in mutants if one not in answers]
        places = {key: place for place, key in enumerate(self._listed)}
        changed = [
            (places[one.type, one.name], self._check(each, one.applied(each.inputs))[0])
            for one in others
            for each in [self.mutable[one.type, one.name]]
        ]
        wrong = self.replay.beside(self.in_order(), changed) if changed else []
        answers |= {one: ("", problem) for one, problem in zip(others, wrong, strict=True)}
        return [answers[one] for one in mutants]

    def _declared_verdict(self, mutant: Mutant) -> Verdict:
        """Who notices it in what is declared, before anything is created."""
        each = self.mutable[mutant.type, mutant.name]
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
            self._of(each).create(call(each, preview=True), checked, 0)
        except Exception as error:  # a defect of the simulated provider ends a preview, too
            return Verdict("up", str(error))
        return Verdict("advisory", new[False]) if False in new else NOBODY

    def _of(self, each: Registered) -> Any:
        return self._kubernetes if _listed(each) else self._provider

    def in_order(self) -> list[Made]:
        """The resources of the cloud with their checked inputs, each after all that it refers to."""
        return [(each, self._checked[each.urn]) for each in self.cloud.values()]

    def _check(self, each: Registered, wire: Mapping[str, object]) -> tuple[Properties, str]:
        """The inputs after the provider's check, and its first refusal."""
        try:
            checked, failures = self._of(each).check(call(each), {}, _plain(wire))
        except Exception as error:  # as below
            return {}, str(error)
        return checked, next((f"{one.property}: {one.reason}" for one in failures), "")


def _listed(each: Registered) -> bool:
    """Whether it is an object in the cluster."""
    return each.type.startswith("kubernetes:") and "kind" in each.inputs


def _plain(wire: Mapping[str, object]) -> Properties:
    return unmarshal(json_format.ParseDict(dict(wire), Struct()))


def _declared(each: Registered, checked: Properties | None) -> Declared:
    properties = _plain(each.inputs) if checked is None else checked
    return Declared(each.type, each.name, each.urn, properties, dependencies=each.dependencies)
