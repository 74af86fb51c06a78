"""The rules as policies of the engine: reads its resources, asks the rules, reports what they find."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_OBJECT_VALUE, UnknownValueError

from policies.config import limits_of
from policies.engine_values import plain
from policies.extract import Declared, read, read_stack
from policies.rules.model import Violation
from policies.rules.registry import RULES
from policies.rules.rule import Rule


class Undecided(UnknownValueError):
    """Ends a policy with an advisory note: the SDK's way to say that a value it needs is not known yet."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        super().__init__(UNKNOWN_OBJECT_VALUE, [])
        self.message = " ".join(violation.message for violation in violations)


class Gate:
    """The policies of one engine run, and what the program has declared in it so far."""

    def __init__(self) -> None:
        self._declared: dict[str, Declared] = {}

    def policies(self) -> list[Policy]:
        """Every rule as one policy."""
        return [self._stack_policy(rule) if rule.scope == "stack" else self._resource_policy(rule) for rule in RULES]

    def _resource_policy(self, rule: Rule) -> Policy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            limits = limits_of(rule, args.get_config())
            declared = self._declared[args.urn] = _declared(args)
            found: list[Violation] = []
            for item in read(declared):
                if isinstance(item, rule.subjects):
                    found += rule.check(item, limits)
            _report(found, report)

        return ResourceValidationPolicy(validate=validate, **_described(rule))

    def _stack_policy(self, rule: Rule) -> Policy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            limits = limits_of(rule, args.get_config())
            # Rules judge what the program declares. The engine's own list holds outputs: what is there now, and at
            # preview nothing at all for a provider whose configuration (a kubeconfig to be) is not known yet.
            stack = read_stack(self._declared.get(resource.urn) or _declared(resource) for resource in args.resources)
            _report(rule.check(stack, limits), report)

        return StackValidationPolicy(validate=validate, **_described(rule))


def _declared(resource: ResourceValidationArgs | PolicyResource) -> Declared:
    return Declared(resource.resource_type, resource.name, resource.urn, plain(resource.props))


def _described(rule: Rule) -> dict[str, Any]:
    schema = {name: dict(option) for name, option in rule.schema.items()}
    return {
        "name": rule.id,
        "description": rule.title,
        "enforcement_level": EnforcementLevel(rule.level),
        "severity": Severity(rule.severity),
        "remediation_steps": rule.remedy,
        "config_schema": PolicyConfigSchema(schema) if schema else None,
    }


def _report(found: list[Violation], report: ReportViolation) -> None:
    for violation in found:
        if not violation.undecided:
            report(f"{violation.message}\nFix: {violation.remedy}", violation.resource or None)
    undecided = [violation for violation in found if violation.undecided]
    if undecided:
        raise Undecided(undecided)
