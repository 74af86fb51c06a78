"""The project's program on each cloud leaves nothing unjudged: a stack of ours may make that rule mandatory."""

from __future__ import annotations

from typing import Any

import pytest

from policies.offline import view_of
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
    view = view_of(declared.declarations(run_with(one_stack.config(cloud, **changes), "one")))
    violations = [violation for rule in RULES for violation in view.violations(rule, {}, ())]
    assert [one.message for one in violations if one.unknown_reason is not None or one.rule == unjudged.id] == []
    assert view.stack.groups
