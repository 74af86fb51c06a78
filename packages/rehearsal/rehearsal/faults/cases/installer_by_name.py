"""A DaemonSet that is called as Google's driver installer and installs nothing."""

from __future__ import annotations

from typing import Any

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change, with_spec


def _busybox(inputs: dict[str, Any]) -> dict[str, Any]:
    template = inputs["spec"]["template"]
    installers = [{**each, "image": "busybox:1.37"} for each in template["spec"]["initContainers"]]
    pod = {**template["spec"], "initContainers": installers}
    return with_spec(inputs, template={**template, "spec": pod})


CASE = Case(
    name="installer-by-name",
    title="a DaemonSet that is only called a driver installer",
    stack="examples/gke-ubuntu-driver-daemonset.yaml",
    rule=None,
    check="reached:",
    reason="has no image that installs a driver (busybox:1.37",
    sabotage=change("kubernetes:apps/v1:DaemonSet", _busybox),
)
