"""All rules of the gate, in the order in which they are documented: pure functions, one file per subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policies.rules import (
    autoscaler,
    clusters,
    idle,
    kept_warm,
    money,
    node_groups,
    readable,
    regions,
    scale_down,
    security,
    sharing,
    totals,
    unjudged,
    workloads,
)
from policies.rules.rule import Rule

_SUBJECTS: Final = (
    node_groups,
    clusters,
    workloads,
    autoscaler,
    scale_down,
    idle,
    kept_warm,
    sharing,
    security,
    money,
    totals,
    regions,
    readable,
    unjudged,  # last: it tells what the others leave open
)

RULES: Final[tuple[Rule[...], ...]] = tuple(
    found for subject in _SUBJECTS for found in vars(subject).values() if isinstance(found, Rule)
)

BY_ID: Final[Mapping[str, Rule[...]]] = {rule.id: rule for rule in RULES}
