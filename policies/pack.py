"""The rules as policies of the engine: each reads a resource or the stack, runs its rule and reports."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_OBJECT_VALUE, UnknownValueError

from facts.concepts.declared import Violation
from policies import exemptions, levels, pools, prices, sdk_hooks
from policies.config import RunConfig, limits_of
from policies.engine_values import Secrets, unwrapped
from policies.exemptions import today_utc
from policies.judging import DeclaredResources, late_violations, put_off
from policies.readers import waits
from policies.remediation import remediated
from policies.reporting import Reporter
from policies.result import COST, VARIABLE, Result, page_of
from policies.rules.ceilings import cost_note
from policies.rules.rule import Limits, Rule
from policies.rules.table import RULES
from policies.rules.unjudged import unjudged
from policies.stack_view import StackView

EXEMPTED: Final = "exempted"
"""The policy that prints exempted violations and lowered levels. It is not a rule, so it cannot be disabled."""
REMEDIATED: Final = "remediated"
"""The policy that prints what the gate changed; the engine itself prints only how many resources changed."""
_NOTES: Final = 2
"""The policies of notes, which come last."""


class UnknownUntilUpdate(UnknownValueError):
    """Ends a policy with an advisory note: the SDK's way to report a value that is still unknown."""

    def __init__(self, messages: Iterable[str]) -> None:
        super().__init__(UNKNOWN_OBJECT_VALUE, [])
        self.message = " ".join(messages)


class Gate:
    """The policies of one engine run.

    ``today`` decides which exemptions have expired, by default the current date in UTC. ``secrets`` are hidden in all
    texts; ``result`` receives every finding.
    """

    def __init__(self, today: date | None = None, secrets: Secrets | None = None, result: Result | None = None) -> None:
        self._config = RunConfig(today or today_utc())
        self._resources = DeclaredResources()
        self._secrets = secrets or Secrets()
        self._reporter = Reporter(self._config, self._resources, self._secrets, result or Result())
        self._policies: list[Policy] = []
        self._has_late_policies = False
        self._has_final_unjudged = False

    def policies(self) -> list[Policy]:
        """Every rule as one policy, then the policies that print pools, exemptions and changes."""
        rules = [self._rule_policy(rule) if rule.scope == "stack" else self._resource_policy(rule) for rule in RULES]
        self._policies = [
            *rules,
            # No rules: the engine accepts configuration only for policies, so these two keys need a policy each.
            _note(pools.KEY, "Report pools that the configuration adds", self._report_pools),
            _note(prices.KEY, "Report prices that the configuration sets", self._report_prices),
            _note(COST, "Report what the nodes cost", self._report_cost),
            _note(EXEMPTED, "Report exempted violations and lowered levels", self._report_exempted),
            _note(REMEDIATED, "Changed by the gate; change the program as well", self._report_remediated),
        ]
        return self._policies

    def configure(self, configured: levels.Configured) -> None:
        """Takes over the engine's configuration of the run; raises ``ConfigError`` as ``RunConfig.configure`` does."""
        self._config.configure(configured, (COST, EXEMPTED, REMEDIATED))

    def _resource_policy(self, rule: Rule[...]) -> Policy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            limits = limits_of(rule, args.get_config())
            resource = self._resources.declare(args)
            if not self._has_final_unjudged and resource.has_unknowns:
                self._add_final_unjudged()
            if waits(resource.declared):
                self._add_late_policies()
                return
            violations = resource.violations(rule, limits)
            if rule is unjudged:
                violations += self._not_evaluated(limits)
            self._report(rule, violations, args.get_config(), report)

        remedy = {"remediate": self._remediation(rule)} if rule.remediable else {}
        return ResourceValidationPolicy(validate=validate, **remedy, **_described(rule))

    def _remediation(self, rule: Rule[...]) -> Any:
        def remediate(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
            properties = unwrapped(args.props)
            resource = self._resources.declare(args, properties)
            violations = [
                violation
                for violation in resource.violations(rule, limits_of(rule, args.get_config()))
                if not violation.not_evaluated
            ]
            exempt = all(self._reporter.is_exempt(rule, violation, args.get_config()) for violation in violations)
            if exempt or waits(resource.declared):
                return None
            changed = remediated(rule.id, resource.declared, properties)
            if changed is not None:
                self._reporter.record_remediated(rule, violations)
            return changed

        return remediate

    def _rule_policy(self, rule: Rule[...]) -> Policy:
        def judge(stack: StackView, limits: Limits) -> list[Violation]:
            return stack.violations(rule, limits, self._config.pools, self._config.prices)

        return self._stack_policy(rule, judge)

    def _late_policy(self, rule: Rule[...]) -> Policy:
        return self._stack_policy(rule, lambda stack, limits: late_violations(stack, rule, limits))

    def _stack_policy(self, rule: Rule[...], judge: Callable[[StackView, Limits], list[Violation]]) -> Policy:
        """A policy for the whole stack; ``judge`` returns the rule's violations in it."""

        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            violations = judge(self._resources.stack(args), limits_of(rule, args.get_config()))
            self._report(rule, violations, args.get_config(), report)

        return StackValidationPolicy(validate=validate, **_described(rule))

    def _add_late_policies(self) -> None:
        """Adds stack policies, under the rules' names, for resources that can only be read together with others.

        The SDK iterates over its policies at each request, and unpacks the whole stack for each stack policy, so they
        are added only with the first such resource.
        """
        if not self._has_late_policies:
            self._has_late_policies = True
            self._policies[len(RULES) : len(RULES)] = [
                self._late_policy(rule) for rule in RULES if rule.scope == "resource"
            ]

    def _report(
        self, rule: Rule[...], violations: list[Violation], properties: Mapping[str, Any], report: ReportViolation
    ) -> None:
        unknown = self._reporter.report(rule, violations, properties, report)
        if self._reporter.has_not_evaluated:
            self._add_final_unjudged()
        if unknown:
            raise UnknownUntilUpdate(unknown)

    def _add_final_unjudged(self) -> None:
        """As above: a second policy `unjudged`, for what only the whole stack leaves open, only where it is needed."""
        if not self._has_final_unjudged:
            self._has_final_unjudged = True
            self._policies.insert(-_NOTES, self._stack_policy(unjudged, self._left_open))

    def _left_open(self, stack: StackView, limits: Limits) -> list[Violation]:
        """What no rule can evaluate, and what none has said that it leaves to the update."""
        violations = self._not_evaluated(limits)
        said = self._reporter.put_off | {each.resource for each in violations}
        return [*violations, *(each for one in put_off(stack.declared, said) for each in unjudged.check(one, limits))]

    def _not_evaluated(self, limits: Limits) -> list[Violation]:
        subjects = self._reporter.take_not_evaluated()
        return [violation for subject in subjects for violation in unjudged.check(subject, limits)]

    def _report_pools(self, _: StackValidationArgs, report: ReportViolation) -> None:
        if self._config.pools:
            names = ", ".join(f"'{pool.name}'" for pool in self._config.pools)
            report(f"Pods are also checked against the pools in the gate's configuration: {names}.", None)

    def _report_prices(self, _: StackValidationArgs, report: ReportViolation) -> None:
        if self._config.prices.usd:
            report(f"Prices in the gate's configuration count: {self._config.prices}.", None)

    def _report_cost(self, args: StackValidationArgs, report: ReportViolation) -> None:
        if note := cost_note(self._config.prices.applied(self._resources.stack(args).stack)):
            report(self._secrets.hidden(note), None)

    def _report_exempted(self, _: StackValidationArgs, report: ReportViolation) -> None:
        for note in self._config.lowered_notes:
            report(note, None)
        self._reporter.report_notes(self._reporter.exempted, report)

    def _report_remediated(self, _: StackValidationArgs, report: ReportViolation) -> None:
        self._reporter.report_notes(self._reporter.remediated, report)


def _note(name: str, title: str, validate: Any) -> Policy:
    return StackValidationPolicy(
        name=name, description=title, validate=validate, enforcement_level=EnforcementLevel.ADVISORY
    )


def _described(rule: Rule[...]) -> dict[str, Any]:
    options = {**rule.schema, exemptions.KEY: exemptions.SCHEMA, **levels.SCHEMA}
    return {
        "name": rule.id,
        "description": rule.title,
        "enforcement_level": EnforcementLevel(rule.level),
        "severity": Severity(rule.severity),
        "remediation_steps": rule.remedy,
        "url": page_of(rule.id),
        "config_schema": PolicyConfigSchema({name: dict(option) for name, option in options.items()}),
    }


def _version() -> str:
    # In an exported pack the file is at the top, in the repository next to this module.
    here = Path(__file__).resolve().parent
    file = next(path for folder in (here.parent, here) if (path := folder / "PulumiPolicy.yaml").is_file())
    return str(yaml.safe_load(file.read_text(encoding="utf-8"))["version"])


def serve() -> None:
    """Starts the policy pack: serves the engine, and does not return."""
    gate = Gate(secrets=sdk_hooks.unpack_once(), result=Result(os.environ.get(VARIABLE, ""), _version()))
    sdk_hooks.on_configure(gate.configure)
    gc.freeze()  # imported objects are never garbage: do not search them during a preview
    gc.enable()
    PolicyPack("gpucluster", gate.policies())
