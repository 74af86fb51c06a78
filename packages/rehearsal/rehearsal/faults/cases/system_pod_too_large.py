"""A pod of the cluster's own that fits no node: everything else works, and what it was for does not."""

from __future__ import annotations

from typing import Final

from rehearsal.faults.case import Case, Program
from rehearsal.faults.cases.added import add, system_deployment

# Else the update would wait for it, and say so itself.
_UNAWAITED: Final = {"pulumi.com/skipAwait": "true"}
_DEPLOYMENT: Final = system_deployment("metrics", {"cpu": "64", "memory": "64Mi"}, _UNAWAITED)


def _sabotage(program: Program) -> None:
    add(program, "metrics", _DEPLOYMENT)


CASE = Case(
    name="system-pod-too-large",
    title="a pod in kube-system that fits no node",
    stack="dev",
    rule=None,
    check="system-pods-run",
    reason="kube-system/metrics",
    sabotage=_sabotage,
)
