"""The gate without the engine: the rules on what a program declares, as if it were one update."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from policies import config
from policies.config import RunConfig
from policies.exemptions import today_utc
from policies.readers.resource import Declared
from policies.rules.table import RULES
from policies.stack_view import ResourceView, StackView


class OfflineGate:
    """The rules with the levels and limits of a configuration, a file's content; exemptions do not count.

    Raises:
        ConfigError: the configuration cannot be used.
    """

    def __init__(self, configuration: Mapping[str, Any]) -> None:
        configured = config.configured(configuration)
        run = RunConfig(today_utc())
        run.configure(configured, ())
        self._elsewhere, self._prices = run.pools, run.prices
        limits = {each.id: config.limits_of(each, configured.get(each.id, ("", {}))[1]) for each in RULES}
        self.rules = [(each, limits[each.id], run.level(each)) for each in RULES if run.level(each) != "disabled"]
        """Each rule that is not disabled, with its limits and its level."""

    @classmethod
    def of_file(cls, file: Path) -> OfflineGate:
        """The gate with a configuration file; raises ``ConfigError`` as the class does."""
        return cls(config.load(file))

    def violations(self, program: Iterable[Declared]) -> set[tuple[str, str, bool]]:
        """Rule, URN and whether it ends a run, of everything that a rule can evaluate and refuses."""
        view = view_of(program)
        return {
            (rule.id, violation.resource, level != "advisory")
            for rule, limits, level in self.rules
            for violation in view.violations(rule, limits, self._elsewhere, self._prices)
            if not violation.not_evaluated
        }


def view_of(program: Iterable[Declared]) -> StackView:
    """What a program declares, to be read by the rules."""
    resources = list(program)
    return StackView([ResourceView(each) for each in resources], [dict(each.dependencies) for each in resources])
