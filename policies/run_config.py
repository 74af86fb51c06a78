"""The gate's configuration during one run: levels, pools of other programs, and which exemption covers a violation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from facts.concepts.declared import NodeGroup
from policies import levels, pools
from policies.config import ConfigError, exemptions_of
from policies.exemptions import Exemption
from policies.rules.rule import Rule
from policies.rules.table import RULES


class RunConfig:
    """The configuration that the engine sends at the start of a run; empty until then. ``today``: for expiry."""

    def __init__(self, today: date) -> None:
        self.today = today
        self.pools: tuple[NodeGroup, ...] = ()
        """Pools of the cluster that another program declares."""
        self.lowered_notes: tuple[str, ...] = ()
        """One line for each rule whose level is lowered."""
        self._levels: dict[str, str] = {}

    def configure(self, configured: levels.Configured, other_names: tuple[str, ...]) -> None:
        """Stores a run's configuration. ``other_names`` are policies that are not rules.

        Raises:
            ConfigError: a level is lowered without a reason, without an end, or past it, a rule is unknown, or a pool
                is not described as :mod:`policies.pools` requires.
        """
        names = {*(rule.id for rule in RULES), *other_names, levels.ALL, pools.KEY}
        problems = [f"{name}: no such rule" for name in configured if name not in names]
        problems += levels.problems(configured, self.today)
        _, configured_pools = configured.get(pools.KEY, ("", {}))
        if configured_pools:
            problems += pools.problems(configured_pools)
        if problems:
            raise ConfigError(problems)
        self.pools = pools.parse(configured_pools)
        self.lowered_notes = tuple(lowered.note for lowered in levels.lowered_levels(configured))
        self._levels = {name: level for name, (level, _) in configured.items() if level}

    def level(self, rule: Rule[...]) -> str:
        """The rule's level in this run."""
        return self._levels.get(rule.id, rule.level)

    def exemption(
        self, rule: Rule[...], properties: Mapping[str, Any], urn: str, tags: Mapping[str, str]
    ) -> Exemption | None:
        """The rule's exemption that covers the resource, the latest if there are several. It may have expired.

        ``properties`` are the rule's own configuration, ``urn`` is ``""`` for the stack as a whole.
        """
        covering = [
            exemption for exemption in exemptions_of(rule, properties, self.today) if exemption.covers(urn, tags)
        ]
        return max(covering, key=lambda exemption: exemption.expires, default=None)
