"""A cluster-autoscaler that looks for the groups of another cluster."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change

_FLAG: Final = "--node-group-auto-discovery="


def _another_cluster(inputs: dict[str, Any]) -> dict[str, Any] | None:
    template = inputs["spec"]["template"]
    containers = [dict(container) for container in template["spec"]["containers"]]
    for container in containers:
        container["command"] = [_changed(argument) for argument in container["command"]]
    pod = {**template["spec"], "containers": containers}
    return {**inputs, "spec": {**inputs["spec"], "template": {**template, "spec": pod}}}


def _changed(argument: str) -> str:
    if not argument.startswith(_FLAG):
        return argument
    return argument[: argument.rindex("/")] + "/another-cluster"


CASE = Case(
    name="discovery-mismatch",
    title="a cluster-autoscaler that looks for another cluster's groups",
    stack="examples/eks-t4.yaml",
    rule="autoscaler-sees-group",
    check="reached:",
    reason="another-cluster",
    sabotage=change("kubernetes:apps/v1:Deployment", _another_cluster),
)
