"""No node-template tags on the Auto Scaling groups: they scale once, and no more after they have been at zero.

Tags of a managed node group do not reach its Auto Scaling group, and the autoscaler asks EKS about a group only until
it has had a node: https://github.com/aws/containers-roadmap/issues/608
"""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change


def _elsewhere(inputs: dict[str, Any]) -> dict[str, Any]:
    tag = inputs["tag"]
    return {**inputs, "tag": {**tag, "key": tag["key"].replace("k8s.io/cluster-autoscaler/", "example.com/")}}


CASE = Case(
    name="asg-tags-missing",
    title="Auto Scaling groups without the tags that tell the autoscaler what their nodes are",
    stack="examples/eks-t4.yaml",
    rule="autoscaler-knows-template",
    check="burst-fills",
    reason="never ran",
    sabotage=change("aws:autoscaling/tag:Tag", _elsewhere),
)
