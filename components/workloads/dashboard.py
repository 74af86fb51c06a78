"""A web page that shows the cluster: Headlamp, the successor of the Kubernetes dashboard.

https://github.com/kubernetes-sigs/headlamp/tree/main/charts/headlamp
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.resources import Chart
from components.settings.tools import Dashboard
from components.users import open_tool
from components.workloads.charts import ON_ADMIN, release, requests

CHART: Final = Chart(
    repository="https://kubernetes-sigs.github.io/headlamp", name="headlamp", version="0.45.0", namespace="dashboard"
)
SERVICE: Final = CHART.name


@dataclass(frozen=True, kw_only=True)
class ClusterDashboardArgs:
    """The dashboard of ``cluster``, after its admin pool (``after``)."""

    cluster: Cluster
    dashboard: Dashboard
    after: tuple[pulumi.Resource, ...] = ()


class ClusterDashboard(pulumi.ComponentResource):
    """Headlamp behind a Service that is reachable only from the cluster; users log in with their own token."""

    def __init__(self, name: str, args: ClusterDashboardArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:ClusterDashboard", name, None, opts)
        space = args.cluster.objects.namespace(CHART.namespace, self)
        open_tool(args.cluster, CHART.namespace, self, space)
        release(args.cluster, CHART, values(args.dashboard), self, space, *args.after)
        self.register_outputs({"service": f"{CHART.namespace}/{SERVICE}"})


def values(dashboard: Dashboard) -> dict[str, Any]:
    """The chart's values. By default it would bind its own account to cluster-admin."""
    return {
        "clusterRoleBinding": {"create": False},
        "config": {"inCluster": True, "unsafeUseServiceAccountToken": False},
        "service": {"type": "ClusterIP"},
        "ingress": {"enabled": False},
        "resources": requests(dashboard.pods["headlamp"]),
        "nodeSelector": ON_ADMIN,
        "securityContext": {
            "runAsNonRoot": True,
            "privileged": False,
            "runAsUser": 100,
            "runAsGroup": 101,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
