"""The project's program on each cloud leaves nothing unjudged: a stack of ours may make that rule mandatory."""

from __future__ import annotations

from typing import Any

import pytest

from policies.readers import linked, read, read_stack
from policies.rules.table import RULES
from policies.rules.unjudged import unjudged
from tests import declared, one_stack
from tests.stacks import run_with


@pytest.mark.parametrize(
    ("cloud", "changes"),
    [("gke", {}), ("aks", {}), ("eks", {}), ("eks", {"autoscaling": {"autoscaler": "cluster-autoscaler"}})],
    ids=["gke", "aks", "eks", "eks-node-groups"],
)
def test_every_rule_is_evaluated(cloud: str, changes: dict[str, Any]) -> None:
    together = linked(declared.declarations(run_with(one_stack.config(cloud, **changes), "one")))
    items = [item for resource in together for item in read(resource)]
    stack = read_stack(together)
    violations = []
    for rule in RULES:
        subjects = [stack] if rule.scope == "stack" else [item for item in items if isinstance(item, rule.subjects)]
        violations += [violation for subject in subjects for violation in rule.check(subject)]
    assert [one.message for one in violations if one.unknown_reason is not None or one.rule == unjudged.id] == []
    assert stack.groups
