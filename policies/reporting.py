"""Reports violations to the engine and to the result file, and keeps the notes that a run prints at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from pulumi_policy import ReportViolation

from facts.concepts.declared import NotEvaluated, UnknownReason, Violation
from policies import exemptions
from policies.config import RunConfig
from policies.engine_values import Secrets
from policies.exemptions import Exemption
from policies.judging import DeclaredResources
from policies.readers.joined import POOLS_ON_OTHERS
from policies.result import Finding, Result, State, page_of
from policies.rules.rule import Rule
from policies.rules.unjudged import unjudged

_ASKS: Final = f"Its tag {exemptions.ASKS} requests an exemption; only the gate's configuration grants one."


_OWNERS: Final = "The cluster is its owner's to change: ask for this, or choose another cluster."
_MAYBE_OWNERS: Final = "Ask the cluster's owner for what the cluster decides."


def addressed(violation: Violation) -> Violation:
    """With a remedy for those who can apply it: the cluster that ``GpuPools`` are on is somebody else's, and so is the
    way in, its provider; of their pools it is in part."""
    _, _, types = violation.resource.partition("::")[2].partition("::")
    kinds = types.partition("::")[0].split("$")
    if POOLS_ON_OTHERS not in kinds or violation.not_evaluated:
        return violation
    owners = kinds[-1] in (POOLS_ON_OTHERS, "pulumi:providers:kubernetes")
    remedy = f"{_OWNERS} {violation.remedy}" if owners else f"{violation.remedy} {_MAYBE_OWNERS}"
    return replace(violation, remedy=remedy)


class Reporter:
    """Reports for one run. ``secrets`` are hidden in every text; every finding is in ``result`` as well."""

    def __init__(self, config: RunConfig, resources: DeclaredResources, secrets: Secrets, result: Result) -> None:
        self.exempted: dict[Violation, str] = {}
        """Violation → its exemption in words."""
        self.remediated: dict[Violation, str] = {}
        """Violation → what the gate changed."""
        self.put_off: set[str] = set()
        """URNs of the resources of which some rule has said that the update, or nobody, judges them."""
        self._config = config
        self._resources = resources
        self._hidden = secrets.hidden
        self._result = result
        self._not_evaluated: dict[tuple[str, UnknownReason], dict[str, None]] = {}

    def report(
        self,
        rule: Rule[...],
        violations: Iterable[Violation],
        properties: Mapping[str, Any],
        report: ReportViolation,
    ) -> list[str]:
        """Reports each violation unless it is exempt; ``properties`` are the rule's configuration.

        Returns the messages of those that are unknown until the update.
        """
        unknown = []
        for violation in map(addressed, violations):
            if violation.not_evaluated or rule is unjudged:
                self.put_off.add(violation.resource)
            if not violation.not_evaluated:
                self._report_violation(rule, violation, properties, report)
            elif reason := self._resources.reason_not_evaluated(rule, violation):
                self._not_evaluated.setdefault((violation.resource, reason), {})[rule.id] = None
            else:
                self._record(rule, violation, "open")
                unknown.append(self._hidden(violation.message))
        return unknown

    def is_exempt(self, rule: Rule[...], violation: Violation, properties: Mapping[str, Any]) -> bool:
        """Whether an exemption that has not expired covers the violation."""
        exemption, _ = self._exemption(rule, violation, properties)
        return exemption is not None and not exemption.expired(self._config.today)

    def record_remediated(self, rule: Rule[...], violations: Iterable[Violation]) -> None:
        """Records violations that the gate has fixed by changing the resource."""
        for violation in violations:
            self.remediated[violation] = f"Done: {violation.remedy}"
            self._record(rule, violation, "changed")

    @property
    def has_not_evaluated(self) -> bool:
        """Whether a rule that could not be evaluated is not reported yet."""
        return bool(self._not_evaluated)

    def take_not_evaluated(self) -> list[NotEvaluated]:
        """The resources that rules could not be evaluated for since the last call, with the reason and the rules."""
        subjects = [
            NotEvaluated(self._resources.title(urn), reason, urn, rules=tuple(rules))
            for (urn, reason), rules in self._not_evaluated.items()
        ]
        self._not_evaluated.clear()
        return subjects

    def report_notes(self, notes: dict[Violation, str], report: ReportViolation) -> None:
        """Reports each note once, with its violation."""
        for violation, note in notes.items():
            report(self._hidden(f"{violation.rule}: {violation.message}\n{note}"), violation.resource or None)
        notes.clear()

    def _report_violation(
        self, rule: Rule[...], violation: Violation, properties: Mapping[str, Any], report: ReportViolation
    ) -> None:
        exemption, requested = self._exemption(rule, violation, properties)
        if exemption is not None and not exemption.expired(self._config.today):
            self.exempted[violation] = f"Exempt until {exemption.expires}, because: {exemption.reason}"
            self._record(rule, violation, "exempted", self.exempted[violation])
            return
        expired = f"\nIts exemption expired on {exemption.expires} ({exemption.reason})." if exemption else ""
        asks = f"\n{_ASKS}" if requested else ""
        text = f"{violation.message}\nFix: {violation.remedy}\nMore: {page_of(rule.id)}{expired}{asks}"
        report(self._hidden(text), violation.resource or None)
        self._record(rule, violation, "found", f"{expired}{asks}".strip())

    def _exemption(
        self, rule: Rule[...], violation: Violation, properties: Mapping[str, Any]
    ) -> tuple[Exemption | None, bool]:
        """The exemption that covers the violation, expired or not, and whether the resource's tags request one."""
        tags = self._resources.tags(violation.resource)
        return self._config.exemption(rule, properties, violation.resource, tags), exemptions.ASKS in tags

    def _record(self, rule: Rule[...], violation: Violation, state: State, note: str = "") -> None:
        message, remedy, note = (self._hidden(text) for text in (violation.message, violation.remedy, note))
        self._result.add(Finding(rule.id, self._config.level(rule), state, violation.resource, message, remedy, note))
