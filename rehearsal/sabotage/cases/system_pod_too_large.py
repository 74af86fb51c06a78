"""A pod of the cluster's own that fits no node: everything else works, and what it was for does not."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.sabotage.case import Case, Program
from rehearsal.sabotage.cases.added import add

_LABELS: Final = {"app": "metrics"}
_DEPLOYMENT: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    # Else the update would wait for it, and say so itself.
    "metadata": {"name": "metrics", "namespace": "kube-system", "annotations": {"pulumi.com/skipAwait": "true"}},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": _LABELS},
        "template": {
            "metadata": {"labels": _LABELS},
            "spec": {
                "containers": [
                    {
                        "name": "metrics",
                        "image": "registry.k8s.io/pause:3.10",
                        "resources": {"requests": {"cpu": "64", "memory": "64Mi"}},
                    }
                ]
            },
        },
    },
}


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
