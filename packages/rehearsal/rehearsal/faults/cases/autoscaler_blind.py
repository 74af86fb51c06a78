"""A cluster-autoscaler whose service account may not look at volume attachments: Ready, and silently without effect.

https://github.com/kubernetes/autoscaler/issues/8678
"""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change


def _without(inputs: dict[str, Any]) -> dict[str, Any]:
    return {**inputs, "rules": [rule for rule in inputs["rules"] if "volumeattachments" not in rule["resources"]]}


CASE = Case(
    name="autoscaler-blind",
    title="a cluster-autoscaler that may not look at volume attachments",
    stack="examples/eks-t4.yaml",
    rule=None,
    check="autoscaler-rights",
    reason="volumeattachments",
    sabotage=change("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", _without),
)
