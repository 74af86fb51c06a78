"""The rules as policies of the engine: reads its resources, asks the rules, reports what they find."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    PolicyPack,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_OBJECT_VALUE, UnknownValueError

from facts.concepts.declared import Doubt, NodeGroup, Unjudged, Violation
from policies import exemptions, lowered, pools
from policies.config import ConfigError, exemptions_of, limits_of
from policies.engine_values import plain, target, unwrapped
from policies.exemptions import Exemption, today_utc
from policies.readers import waits
from policies.readers.resource import Declared
from policies.readers.tags import tags_of
from policies.remediation import remediated
from policies.result import VARIABLE, Finding, Result, State, page_of
from policies.rules.rule import Limits, Rule
from policies.rules.table import RULES
from policies.rules.unjudged import unjudged
from policies.secrets import Secrets
from policies.unpacking import unpack_once
from policies.whole import JudgedResource, Whole

EXEMPTED: Final = "exempted"
"""The policy that prints what passed by an exemption. It is no rule: no configuration may silence it."""
REMEDIATED: Final = "remediated"
"""The policy that prints what the gate changed, of which the engine prints the number only."""
_NAMES: Final = (*(rule.id for rule in RULES), EXEMPTED, REMEDIATED, lowered.ALL, pools.KEY)
_ASKS: Final = f"Its tag {exemptions.ASKS} asks for an exemption; only the gate's configuration gives one."
_UNREADABLE: Final = Doubt("it cannot be read from the program", "Check these rules by hand, and exempt it by name.")


class Undecided(UnknownValueError):
    """Ends a policy with an advisory note: the SDK's way to say that a value it needs is not known yet."""

    def __init__(self, messages: Iterable[str]) -> None:
        super().__init__(UNKNOWN_OBJECT_VALUE, [])
        self.message = " ".join(messages)


class Gate:
    """The policies of one engine run, and what the program has declared in it so far.

    ``today`` is the day by which exemptions expire, by default the current one in UTC. ``secrets`` are covered in all
    that it reports, and all of that is in ``result``, too.
    """

    def __init__(self, today: date | None = None, secrets: Secrets | None = None, result: Result | None = None) -> None:
        self._hidden = (secrets or Secrets()).hidden
        self._result = result or Result()
        self._levels: dict[str, str] = {}
        self._today = today or today_utc()
        self._declared: dict[str, JudgedResource] = {}
        self._handed: dict[str, tuple[object, JudgedResource]] = {}
        self._last: Whole | None = None
        self._exempted: dict[Violation, str] = {}
        self._remediated: dict[Violation, str] = {}
        self._lowered: list[str] = []
        self._pools: list[NodeGroup] = []
        self._open: dict[tuple[str, Doubt], dict[str, None]] = {}
        self._policies: list[Policy] = []
        self._waiting = False
        self._told_at_the_end = False

    def policies(self) -> list[Policy]:
        """Every rule as one policy, and those that tell what the rules let pass or changed; they have to come last."""
        rules = [self._stack_policy(rule) if rule.scope == "stack" else self._resource_policy(rule) for rule in RULES]
        exempted = self._notes(EXEMPTED, "Passes by an exemption", self._exempted, self._lowered)
        remediated = self._notes(REMEDIATED, "Changed by the gate; change the program, too", self._remediated)
        self._policies = [*rules, self._pools_policy(), exempted, remediated]
        return self._policies

    def configured(self, configured: lowered.Configured) -> None:
        """Takes note of levels below the rules' own, which ``exempted`` prints.

        Raises:
            ConfigError: a level is lowered without a reason, without an end, or past it, a rule is unknown, or a pool
                is not described as :mod:`policies.pools` has it.
        """
        unknown = [f"{name}: no such rule" for name in configured if name not in _NAMES]
        found = unknown + lowered.problems(configured, self._today)
        _, elsewhere = configured.get(pools.KEY, ("", {}))
        if elsewhere:
            found += pools.problems(elsewhere)
        if found:
            raise ConfigError(found)
        self._pools[:] = pools.parse(elsewhere)
        self._levels = {name: level for name, (level, _) in configured.items() if level}
        self._lowered[:] = [one.note for one in lowered.lowered(configured)]

    def _resource_policy(self, rule: Rule[...]) -> Policy:
        def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
            limits = limits_of(rule, args.get_config())
            resource = self._declared[args.urn] = self._read_once(args)
            if waits(resource.declared):
                self._judge_again_with_the_stack()
                return
            found = resource.violations(rule, limits)
            if rule is unjudged:
                found += self._left_open(limits)
            self._report(rule, found, args.get_config(), report)

        def remediate(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
            properties = unwrapped(args.props)
            declared = Declared(args.resource_type, args.name, args.urn, plain(properties), provider=_provider_of(args))
            resource = self._declared[args.urn] = JudgedResource(declared)
            found = resource.violations(rule, limits_of(rule, args.get_config()))
            certain = [violation for violation in found if not violation.undecided]
            if waits(declared) or not certain or all(self._passes(rule, one, args.get_config()) for one in certain):
                return None
            changed = remediated(rule.id, declared, properties)
            if changed is not None:
                self._remediated.update((violation, f"Done: {violation.remedy}") for violation in certain)
                for violation in certain:
                    self._note(rule, violation, "changed")
            return changed

        remedy = {"remediate": remediate} if rule.remediable else {}
        return ResourceValidationPolicy(validate=validate, **remedy, **_described(rule))

    def _judge_again_with_the_stack(self) -> None:
        """Adds, under the same names, stack policies for resources that only tell together with others what they are.

        The SDK goes through its list of policies at each request, and unpacks the whole stack for each stack policy:
        so only programs that declare such resources get these, when the first comes.
        """
        if not self._waiting:
            self._waiting = True
            self._policies[len(RULES) : len(RULES)] = [
                self._late_policy(rule) for rule in RULES if rule.scope == "resource"
            ]

    def _tell_at_the_end(self) -> None:
        """Adds, under the same name, a second ``unjudged``, for what only the whole stack leaves open.

        As above: only where there is something to tell.
        """
        if not self._told_at_the_end:
            self._told_at_the_end = True
            self._policies.insert(-2, self._unjudged_policy())

    def _late_policy(self, rule: Rule[...]) -> Policy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            limits = limits_of(rule, args.get_config())
            whole = self._whole(args)
            late = {declared.urn for declared in whole.declared if waits(declared)}
            waiting = [resource for resource in whole.linked if resource.declared.urn in late]
            found = [violation for resource in waiting for violation in resource.violations(rule, limits)]
            self._report(rule, found, args.get_config(), report)

        return StackValidationPolicy(validate=validate, **_described(rule))

    def _unjudged_policy(self) -> Policy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            found = self._left_open(limits_of(unjudged, args.get_config()))
            self._report(unjudged, found, args.get_config(), report)

        return StackValidationPolicy(validate=validate, **_described(unjudged))

    def _left_open(self, limits: Limits) -> list[Violation]:
        """What the rules could not decide since this was last asked, and never will, as violations."""
        subjects = [
            Unjudged(self._called(urn), doubt, urn, open_rules=tuple(rules))
            for (urn, doubt), rules in self._open.items()
        ]
        self._open.clear()
        return [violation for subject in subjects for violation in unjudged.check(subject, limits)]

    def _called(self, urn: str) -> str:
        resource = self._declared.get(urn)
        return f"{resource.declared.type} '{resource.declared.name}'" if resource else "The stack as a whole"

    def _stack_policy(self, rule: Rule[...]) -> Policy:
        def validate(args: StackValidationArgs, report: ReportViolation) -> None:
            limits = limits_of(rule, args.get_config())
            stack = replace(self._whole(args).stack, elsewhere=tuple(self._pools))
            self._report(rule, rule.check(stack, limits), args.get_config(), report)

        return StackValidationPolicy(validate=validate, **_described(rule))

    def _pools_policy(self) -> Policy:
        """No rule, but the engine takes configuration for policies only; it says by what else pods are judged."""

        def validate(_: StackValidationArgs, report: ReportViolation) -> None:
            if self._pools:
                names = ", ".join(f"'{pool.name}'" for pool in self._pools)
                report(f"The gate's configuration names pools that this program need not declare: {names}.", None)

        title = "Pods are judged by the configuration's pools, too"
        return StackValidationPolicy(
            name=pools.KEY, description=title, validate=validate, enforcement_level=EnforcementLevel.ADVISORY
        )

    def _read_once(self, resource: ResourceValidationArgs | PolicyResource) -> JudgedResource:
        """The resource in plain Python; every policy is handed the same one again."""
        handed = target(resource.props)
        last = self._handed.get(resource.urn)
        if last is None or last[0] is not handed:
            provider = _provider_of(resource)
            declared = Declared(resource.resource_type, resource.name, resource.urn, plain(handed), provider=provider)
            last = self._handed[resource.urn] = (handed, JudgedResource(declared))
        return last[1]

    def _whole(self, args: StackValidationArgs) -> Whole:
        """What the stack declares, read once for all rules."""
        # Rules judge what the program declares. The engine's own list holds outputs: what is there now, and at
        # preview nothing at all for a provider whose configuration (a kubeconfig to be) is not known yet.
        resources = [self._declared.get(resource.urn) or self._read_once(resource) for resource in args.resources]
        dependencies = [
            {name: tuple(source.urn for source in sources) for name, sources in found.property_dependencies.items()}
            for found in args.resources
        ]
        if self._last is None or not self._last.is_of(resources, dependencies):
            self._last = Whole(resources, dependencies)
        return self._last

    def _report(
        self, rule: Rule[...], found: list[Violation], config: Mapping[str, Any], report: ReportViolation
    ) -> None:
        for violation in found:
            if violation.undecided:
                continue
            exemption = self._exemption(rule, violation, config)
            if exemption is not None and not exemption.expired(self._today):
                note = f"Exempt until {exemption.expires}, because: {exemption.reason}"
                self._exempted[violation] = note
                self._note(rule, violation, "exempted", note)
                continue
            lapsed = f"\nIts exemption expired on {exemption.expires} ({exemption.reason})." if exemption else ""
            asks = f"\n{_ASKS}" if self._asks(violation) else ""
            text = f"{violation.message}\nFix: {violation.remedy}\nMore: {page_of(rule.id)}{lapsed}{asks}"
            report(self._hidden(text), violation.resource or None)
            self._note(rule, violation, "found", f"{lapsed}{asks}".strip())
        undecided = [violation for violation in found if violation.undecided]
        later = []
        for violation in undecided:
            if (doubt := self._doubt(rule, violation)) is None:
                later.append(violation)
            else:
                self._open.setdefault((violation.resource, doubt), {})[rule.id] = None
                self._tell_at_the_end()
        for violation in later:
            self._note(rule, violation, "open")
        if later:
            raise Undecided(self._hidden(violation.message) for violation in later)

    def _note(self, rule: Rule[...], violation: Violation, state: State, note: str = "") -> None:
        message, remedy, note = (self._hidden(text) for text in (violation.message, violation.remedy, note))
        level = self._levels.get(rule.id, rule.level)
        self._result.add(Finding(rule.id, level, state, violation.resource, message, remedy, note))

    def _doubt(self, rule: Rule[...], violation: Violation) -> Doubt | None:
        """Why the violation stays undecided for good; ``None`` where the update may tell."""
        if violation.doubt is not None:
            return violation.doubt
        judged = self._declared.get(violation.resource)
        alone = judged is not None and rule.scope == "resource" and not waits(judged.declared)
        # What is judged together with others may wait for a value of any of them.
        if any(one.waits_for_the_update for one in ([judged] if judged and alone else self._declared.values())):
            return None
        return _UNREADABLE

    def _passes(self, rule: Rule[...], violation: Violation, config: Mapping[str, Any]) -> bool:
        exemption = self._exemption(rule, violation, config)
        return exemption is not None and not exemption.expired(self._today)

    def _asks(self, violation: Violation) -> bool:
        resource = self._declared.get(violation.resource)
        return resource is not None and exemptions.ASKS in tags_of(resource.declared.properties)

    def _exemption(self, rule: Rule[...], violation: Violation, config: Mapping[str, Any]) -> Exemption | None:
        """The exemption that covers the violation; of several, the one that ends last. It may have expired."""
        resource = self._declared.get(violation.resource)
        tags = tags_of(resource.declared.properties) if resource else {}
        listed = exemptions_of(rule, config, self._today)
        covering = [exemption for exemption in listed if exemption.covers(violation.resource, tags)]
        return max(covering, key=lambda exemption: exemption.expires, default=None)

    def _notes(self, name: str, title: str, notes: dict[Violation, str], more: Iterable[str] = ()) -> Policy:
        """A policy that reports each note once, as advice, and ``more`` about the run as a whole."""

        def validate(_: StackValidationArgs, report: ReportViolation) -> None:
            for note in more:
                report(note, None)
            for violation, note in notes.items():
                report(self._hidden(f"{violation.rule}: {violation.message}\n{note}"), violation.resource or None)
            notes.clear()

        return StackValidationPolicy(
            name=name, description=title, validate=validate, enforcement_level=EnforcementLevel.ADVISORY
        )


def _provider_of(resource: ResourceValidationArgs | PolicyResource) -> Mapping[str, Any]:
    found = plain(target(resource.provider.props)) if resource.provider is not None else {}
    return found if isinstance(found, dict) else {}


def _described(rule: Rule[...]) -> dict[str, Any]:
    schema = {name: dict(option) for name, option in rule.schema.items()}
    others = {name: dict(option) for name, option in {exemptions.KEY: exemptions.SCHEMA, **lowered.SCHEMA}.items()}
    return {
        "name": rule.id,
        "description": rule.title,
        "enforcement_level": EnforcementLevel(rule.level),
        "severity": Severity(rule.severity),
        "remediation_steps": rule.remedy,
        "url": page_of(rule.id),
        "config_schema": PolicyConfigSchema({**schema, **others}),
    }


def _version() -> str:
    # In the pack's own folder the file is at the top, in the project it is beside this one.
    here = Path(__file__).resolve().parent
    file = next(found for folder in (here.parent, here) if (found := folder / "PulumiPolicy.yaml").is_file())
    return str(yaml.safe_load(file.read_text(encoding="utf-8"))["version"])


def serve() -> None:
    """Starts the policy pack: serves the engine, and does not return."""
    gate = Gate(secrets=unpack_once(), result=Result(os.environ.get(VARIABLE, ""), _version()))
    lowered.tell(gate.configured)
    gc.freeze()  # what is imported stays: no search of it for garbage in the middle of a preview
    gc.enable()
    PolicyPack("gpucluster", gate.policies())
