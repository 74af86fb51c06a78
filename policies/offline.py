"""The gate without the engine: the rules on what a program declares, as if it were one update."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from policies import config
from policies.exemptions import today_utc
from policies.readers.resource import Declared
from policies.rules.table import RULES
from policies.run_config import RunConfig
from policies.stack_view import ResourceView, StackView


class OfflineGate:
    """The rules with the levels and limits of a configuration file; exemptions do not count.

    Raises:
        ConfigError: the file cannot be used.
    """

    def __init__(self, file: Path) -> None:
        configured = config.configured(config.load(file))
        run = RunConfig(today_utc())
        run.configure(configured, ())
        self._elsewhere = run.pools
        limits = {each.id: config.limits_of(each, configured.get(each.id, ("", {}))[1]) for each in RULES}
        self.rules = [(each, limits[each.id], run.level(each)) for each in RULES if run.level(each) != "disabled"]
        """Each rule that is not disabled, with its limits and its level."""

    def violations(self, program: Iterable[Declared]) -> set[tuple[str, str, bool]]:
        """Rule, URN and whether it ends a run, of everything that a rule can evaluate and refuses."""
        view = view_of(program)
        stack = replace(view.stack, elsewhere=self._elsewhere)
        refused: set[tuple[str, str, bool]] = set()
        for rule, limits, level in self.rules:
            on_stack = rule.check(stack, limits) if rule.scope == "stack" else []
            alone = view.linked if rule.scope == "resource" else []
            violations = [*on_stack, *(one for each in alone for one in each.violations(rule, limits))]
            refused |= {(rule.id, one.resource, level != "advisory") for one in violations if not one.not_evaluated}
        return refused


def view_of(program: Iterable[Declared]) -> StackView:
    """What a program declares, to be read by the rules."""
    resources = list(program)
    return StackView([ResourceView(each) for each in resources], [dict(each.dependencies) for each in resources])
