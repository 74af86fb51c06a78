"""All rules of the gate, in the order in which they are documented; one table per subject."""

from __future__ import annotations

from typing import Final

from policies.rules.registry import limits, nodes, pods, scaling, security
from policies.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (*nodes.RULES, *pods.RULES, *scaling.RULES, *security.RULES, *limits.RULES)

BY_ID: Final = {rule.id: rule for rule in RULES}
