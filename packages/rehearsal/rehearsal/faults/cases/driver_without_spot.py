"""A driver installer that does not tolerate its pool's spot taint: nodes come, their GPUs never do."""

from __future__ import annotations

from rehearsal.faults.case import Case
from rehearsal.faults.cases.changed import change, without_toleration

CASE = Case(
    name="driver-without-spot-toleration",
    title="a driver DaemonSet that does not tolerate its pool's spot taint",
    stack="examples/gke-ubuntu-driver-daemonset.yaml",
    rule="gpu-daemonset-tolerates",
    check="reached:",
    reason="driver",
    sabotage=change(
        "kubernetes:apps/v1:DaemonSet", lambda inputs: without_toleration(inputs, "cloud.google.com/gke-spot")
    ),
)
